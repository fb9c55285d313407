"""`make bench`: measures what we promise, peers in the same run."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Final

import click

from tests.bench.expected_replies import midnight
from tests.bench.page import PUBLISHED, written_page
from tests.bench.processes import PROJECT, cores, pin_to
from tests.bench.setup import Scene
from tests.bench.table import Result, markdown, promise_table
from tests.git_history import commit_of, is_in_history

CASES: Final = {
    "S1": "questions",
    "S2": "checks",
    "S3": "checks",
    "S4": "cadences",
    "S6": "singles",
    "S7": "batches",
    "S8": "pipelined",
    "S9": "reports",
    "S10": "gas",
    "S11": "years",
    "S12": "windows",
    "S13": "payloads",
    "S14": "page_sessions first_charts",
    "S15": "bulk_lookups",
    "S16": "report_mails",
    "S17": "rejection_mails",
    "S18": "pages",
    "restore": "restores",
    "weight": "weights",
}
"""Each case with the modules of `tests.bench.cases` that hold it."""


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(CASES), case_sensitive=False))
@click.option("--quick", is_flag=True, help="Three rounds of one second, for a first look.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@click.option("--seconds", default=2.0, show_default=True, help="Length of a round.")
@click.option("--stored", default=1_000_000, show_default=True, help="Rejections on record.")
@click.option("--days", default=365, show_default=True, help="Length of histories of fees.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=PROJECT / "build" / "bench",
    help="Where the archive is made, once a day; build/bench otherwise.",
)
@click.option(
    "--page",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page about it, as docs/benchmarks.md is.",
)
def bench(
    *,
    names: Sequence[str],
    quick: bool,
    rounds: int,
    seconds: float,
    stored: int,
    days: int,
    folder: Path,
    page: Path | None,
) -> None:
    """Measure the cases called NAMES; all of them where none is named."""
    if page is not None:
        refuse_unpublished(page)
    begun = datetime.now(UTC)
    if quick:
        rounds, seconds = 3, 1.0
    pin_to(cores()[1])
    folder.mkdir(parents=True, exist_ok=True)
    scene = Scene(folder, stored, midnight(begun), rounds, seconds, days)
    results: list[Result] = []
    failed: list[str] = []
    for module in dict.fromkeys(" ".join(CASES[name] for name in names or CASES).split()):
        try:
            results.append(import_module(f"tests.bench.cases.{module}").run(scene))
        except (AssertionError, OSError, RuntimeError, ValueError):
            traceback.print_exc()
            failed.append(module)
        else:
            show(results[-1])
    if page is not None:
        written = written_page(results, failed, begun, stored, rounds, seconds)
        page.write_text(written, encoding="utf-8")
    if failed:
        raise click.ClickException(f"these cases ended with an error: {', '.join(failed)}")


def refuse_unpublished(page: Path) -> None:
    """Refuse to publish what was measured on code that nobody can look at."""
    commit = commit_of(PUBLISHED)
    if page.resolve() == PUBLISHED and not is_in_history(commit):
        raise click.UsageError(
            f"{commit} is not in the history of main: measure what is committed there, or name "
            "cases, which writes no page"
        )


def show(result: Result) -> None:
    click.echo(f"\n{result.title}\n")
    click.echo(markdown(result.heads, result.lines))
    for remark in result.remarks:
        click.echo(remark)
    click.echo()
    click.echo(promise_table(result.promises))


if __name__ == "__main__":
    bench()
