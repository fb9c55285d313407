"""The published table of faults: docs/faults.md, read and written row by row."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.faults.rows import Row

PAGE: Final = Path(__file__).parents[2] / "docs" / "faults.md"
_HEAD: Final = (
    "| row | promise | runs | failures | bound at 95 % | seed | commit | machine | date |",
    "|---|---|---|---|---|---|---|---|---|",
)
_NOT_YET: Final = " | not yet | | | | | | |"
_LINE: Final = re.compile(r"^\| `([a-z0-9-]+)` \|.*$", re.MULTILINE)
_TABLE: Final = re.compile(rf"^{re.escape(_HEAD[0])}\n(?:\|.*\n)*", re.MULTILINE)
_NOTHING_SEEN: Final = 3
"""No failure in n independent runs bounds its chance to 3/n at 95 %."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the runs of one row, and where and when they ran."""

    runs: int
    failures: int
    seed: int
    commit: str
    machine: str
    date: str


def write_page(rows: Sequence[Row], tallies: Mapping[str, Tally], page: Path = PAGE) -> None:
    """Write the table anew: what `tallies` tell, and of other rows what was played already."""
    text = page.read_text(encoding="utf-8")
    before = {match[1]: match[0] for match in _LINE.finditer(text) if _NOT_YET not in match[0]}
    lines = [
        _line(row, tallies[row.name]) if row.name in tallies else before.get(row.name, _empty(row))
        for row in rows
    ]
    table = "".join(f"{line}\n" for line in (*_HEAD, *lines))
    page.write_text(_TABLE.sub(lambda _: table, text, count=1), encoding="utf-8")


def this_machine() -> str:
    """Say on what the runs run: processor, number of cores, system."""
    return f"{os.cpu_count()} × {_processor()}, {platform.system()} {platform.release()}"


def bound(runs: int, failures: int) -> str:
    """Say how likely the fault is at most to break its promise, given what was seen."""
    if failures:
        return f"broken in {failures} of {runs}"
    return f"≤ {min(1.0, _NOTHING_SEEN / runs):.2%}".replace("%", " %")


def _line(row: Row, tally: Tally) -> str:
    cells = (
        f"`{row.name}`",
        row.promise,
        f"{tally.runs:,}",
        str(tally.failures),
        bound(tally.runs, tally.failures),
        str(tally.seed),
        tally.commit,
        tally.machine,
        tally.date,
    )
    return f"| {' | '.join(cells)} |"


def _empty(row: Row) -> str:
    return f"| `{row.name}` | {row.promise}{_NOT_YET}"


def _processor() -> str:
    found = re.search(r"^model name\s*: (.+)$", _text_of("/proc/cpuinfo"), re.MULTILINE)
    return found[1] if found else platform.machine()


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
