"""The published table of faults: docs/faults.md, read and written row by row."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from tests.faults.rows import Row
from tests.git_history import changes_since

PAGE: Final = Path(__file__).parents[2] / "docs" / "faults.md"
_COLUMNS: Final = (
    *("row", "promise", "runs", "failures", "bound at 95 %"),
    *("seed", "commit", "changes since", "date"),
)
_HEAD: Final = (f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}")
_NOT_YET: Final = " | not yet | | | | | | |"
_NOTHING_SEEN: Final = 3
"""No failure in n independent runs bounds its chance to 3/n at 95 %."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The result of one row's runs, and when they ran.

    `since`: how many later commits changed the code when the page was written.
    """

    promise: str
    runs: int
    failures: int
    seed: int
    commit: str
    date: str
    since: str = "0"


def write_page(rows: Sequence[Row], tallies: Mapping[str, Tally], page: Path = PAGE) -> None:
    """Write the table: rows with `tallies` as these say, other rows as they are on the page."""
    text = page.read_text(encoding="utf-8")
    known = {**played(text), **tallies}
    lines = [_line(row.name, known[row.name]) if row.name in known else _empty(row) for row in rows]
    table = "".join(f"{line}\n" for line in (*_HEAD, *lines))
    found = re.compile(rf"^{re.escape(_HEAD[0])}\n(?:\|.*\n)*", re.MULTILINE)
    page.write_text(found.sub(lambda _: table, text, count=1), encoding="utf-8")


def write_changes(rows: Sequence[Row], page: Path = PAGE) -> None:
    """Count anew, for each row that was played, how often the code was changed since."""
    tallies = played(page.read_text(encoding="utf-8"))
    told = {name: replace(each, since=changes_since(each.commit)) for name, each in tallies.items()}
    write_page(rows, told, page)


def played(text: str) -> dict[str, Tally]:
    """Read what the page tells of rows that were played."""
    lines = [line for line in text.splitlines() if line.startswith("| `") and _NOT_YET not in line]
    return dict(map(_read, lines))


def bound(runs: int, failures: int) -> str:
    """Say how likely the fault is at most to break its promise, given what was seen.

    Two digits that count, rounded up: a bound that is rounded down would be false.
    """
    if failures:
        return f"broken in {failures} of {runs}"
    percent = min(Fraction(100), Fraction(100 * _NOTHING_SEEN, runs))
    digits = 2
    while percent * 10**digits < 10:
        digits += 1
    return f"≤ {math.ceil(percent * 10**digits) / 10**digits:.{digits}f} %"


def _line(name: str, tally: Tally) -> str:
    cells = (
        f"`{name}`",
        tally.promise,
        f"{tally.runs:,}",
        str(tally.failures),
        bound(tally.runs, tally.failures),
        str(tally.seed),
        tally.commit,
        tally.since,
        tally.date,
    )
    return f"| {' | '.join(cells)} |"


def _read(line: str) -> tuple[str, Tally]:
    name, promise, runs, failures, _, seed, commit, since, date = line[2:-2].split(" | ")
    count = int(runs.replace(",", ""))
    tally = Tally(promise, count, int(failures), int(seed), commit, date, since)
    return name.strip("`"), tally


def _empty(row: Row) -> str:
    return f"| `{row.name}` | {row.promise}{_NOT_YET}"
