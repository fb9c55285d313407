"""Plays the full runs of the fault rows and publishes them: `make faults`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Final

from tests.faults.registry import ROWS
from tests.faults.rows import Failure, Row
from tests.faults.side_by_side import play_beside
from tests.faults.table import PAGE, Tally, write_changes, write_page
from tests.git_history import commit_of, is_in_history

_ROOT: Final = Path(__file__).parents[2]
_KEPT: Final = _ROOT / ".faults"
"""Where interrupted rows go on from; git ignores it."""
_SAVE_EVERY: Final = 5.0


@dataclass
class Progress:
    """How far a row has come; another seed or another commit begins it anew."""

    seed: int
    commit: str
    played: set[int] = field(default_factory=set)
    failures: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def left(self, plays: int) -> list[int]:
        """Return the numbers of those runs that are still to be played."""
        return [number for number in range(plays) if number not in self.played]

    def cases(self, row: Row) -> int:
        """Count what was played: of a play that a failure ended, only the cases that it came to."""
        ended = {each["number"]: each.get("cases") for each in self.failures}
        return sum(ended.get(number) or row.cases_per_play for number in self.played)


def main(arguments: Sequence[str], commit: str | None = None) -> int:
    """Play the named rows, or all of them, and write each finished one into the table.

    `commit` names what is played, where that is not what is checked out.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if unknown := set(options.rows) - {row.name for row in ROWS}:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    if options.table:
        write_changes(ROWS)
        return 0
    chosen = [row for row in ROWS if not options.rows or row.name in options.rows]
    if options.again is not None:
        return sum(_play_again(row, options) for row in chosen)
    commit = commit or commit_of(PAGE)
    if not (options.unpublished or is_in_history(commit)):
        parser.error(
            f"{commit} is not in the history of main, so nobody could look at what was played: "
            "play what is committed there, or say --unpublished to write no table"
        )
    failures = sum(_play(row, options, commit) for row in chosen)
    print(f"{len(chosen)} rows played; {failures} failures")
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    names = [row.name for row in ROWS]
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=main.__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(names))
    parser.add_argument("--runs", type=int, help="instead of the row's own number")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other moments")
    parser.add_argument("--again", type=int, metavar="NUMBER", help="only this run; no table")
    parser.add_argument(
        "--side-by-side",
        type=int,
        metavar="N",
        help=(
            "play so many runs of a row at once; as many as there are processors, but one of a row "
            "that promises seconds, since runs would slow each other down"
        ),
    )
    parser.add_argument("--unpublished", action="store_true", help="play, but write no table")
    parser.add_argument(
        "--table", action="store_true", help="only list new rows, and count changes since"
    )
    return parser


def _play(row: Row, options: argparse.Namespace, commit: str) -> int:
    """Play a row to its end, going on where it was interrupted; return its failures."""
    progress = _read(row, options.seed, commit)
    plays = -(-(options.runs or row.full) // row.cases_per_play)
    began = saved = monotonic() - progress.seconds
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        numbers = progress.left(plays)
        sides = options.side_by_side or (1 if row.short_stage else os.cpu_count() or 1)
        for number, failure in play_beside(row, Path(folder), options.seed, numbers, sides):
            progress.played.add(number)
            progress.seconds = monotonic() - began
            _note(row, progress, failure)
            if monotonic() - saved > _SAVE_EVERY:
                _keep(row, progress)
                print(f"{row.name}: {len(progress.played)} of {plays} played", flush=True)
                saved = monotonic()
    _keep(row, progress)
    if not options.unpublished:
        _publish(row, progress)
    count, failures = progress.cases(row), len(progress.failures)
    print(f"{row.name}: {count} runs, {failures} failures, {progress.seconds:.0f} s", flush=True)
    return failures


def _play_again(row: Row, options: argparse.Namespace) -> int:
    """Play one run, such as one that failed; return how often it did."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        outcomes = list(play_beside(row, Path(folder), options.seed, [options.again], 1))
    failures = [failure for _, failure in outcomes if failure is not None]
    for failure in failures:
        print(failure.what)
    print(f"{row.name}: run {options.again}, {len(failures)} failures")
    return len(failures)


def _publish(row: Row, progress: Progress) -> None:
    """Write a row into the table."""
    now = f"{datetime.now(UTC):%Y-%m-%d}"
    count, failures = progress.cases(row), len(progress.failures)
    seed, commit = progress.seed, progress.commit
    tally = Tally(row.promise, count, failures, seed, commit, now)
    write_page(ROWS, {row.name: tally})
    write_changes(ROWS)


def _note(row: Row, progress: Progress, failure: Failure | None) -> None:
    if failure is not None:
        progress.failures.append(asdict(failure))
        print(f"{row.name}: run {failure.number} failed: {failure.what}", flush=True)


def _read(row: Row, seed: int, commit: str) -> Progress:
    try:
        kept = json.loads((_KEPT / f"{row.name}.json").read_text(encoding="utf-8"))
        progress = Progress(**kept | {"played": set(kept["played"])})
    except (OSError, ValueError, TypeError, KeyError):
        return Progress(seed, commit)
    is_same = (progress.seed, progress.commit) == (seed, commit)
    return progress if is_same else Progress(seed, commit)


def _keep(row: Row, progress: Progress) -> None:
    _KEPT.mkdir(exist_ok=True)
    kept = asdict(progress) | {"played": sorted(progress.played)}
    (_KEPT / f"{row.name}.json").write_text(json.dumps(kept), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
