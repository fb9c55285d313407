"""docs/benchmarks.md: what was promised, what was measured, where, when and how."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Final

from tests.bench.processes import PROJECT, cores
from tests.bench.table import Result, markdown, promise_table
from tests.git_history import NOT_THERE, commit_of, is_in_history

PUBLISHED: Final = PROJECT / "docs" / "benchmarks.md"

_PACKAGES: Final = (
    *("uvicorn", "httptools", "httpx", "websockets", "web3", "starlette", "fastapi", "msgspec"),
    *("numpy", "pandas", "duckdb", "psycopg"),
)

UNMEASURED: Final = (
    ("S3", "the same with 10,000,000 tracked hashes"),
    ("S5", "the daily budget of credits is never exceeded"),
)
"""Promises that no case measures."""

_METHOD: Final = """\
# Benchmarks

`make bench` writes this page and prints the tables behind it. Ratios compare both sides in the same
run. Figures per second depend on the machine. A promise is kept unless its row says **missed**.

## Promised and measured

{promises}

Not measured, or not in this run:

{unmeasured}

## Where and when

{place}

## How

- Each server has one core, the load another, over loopback. Servers take turns in {rounds} rounds
  of {seconds:g} s; the median counts.
- The database holds {stored:,} rejections. One question in a hundred is about one of them. **Every
  answer is checked**; a wrong one fails the case.
- *Per CPU second* and ratios count the CPU time of the server's threads, with the kernel's.
- *Hello world* is linewatch serve with a constant reply ([source](../tests/bench/peers/hello.py)).
  [FastAPI](../tests/bench/peers/fastapi_sqlite.py) and
  [Starlette](../tests/bench/peers/starlette_sqlite.py) run under uvicorn with httptools, check the
  key, and read the same file by the same index, without limits and counters.
"""


def written_page(
    results: Sequence[Result],
    failed: Sequence[str],
    begun: datetime,
    stored: int,
    rounds: int,
    seconds: float,
) -> str:
    """Return the whole page; it names the cases that ended with an error."""
    lost = [(each, "ended with an error in this run") for each in failed]
    page = _METHOD.format(
        promises=promise_table([each for result in results for each in result.promises]),
        unmeasured=markdown(("promise", "what"), [*UNMEASURED, *lost]),
        place=markdown(("what", "which"), _place(begun)),
        rounds=rounds,
        seconds=seconds,
        stored=stored,
    )
    return page + "".join(_method(each) for each in results if each.remarks)


def _method(result: Result) -> str:
    """Say how one case measures; its table is for the terminal."""
    return f"- {' '.join([f'**{result.title}.**', *result.remarks])}\n"


def _place(begun: datetime) -> list[tuple[str, str]]:
    busy, _, _ = os.getloadavg()
    usable = len(set(cores()))
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return [
        ("date", f"{begun:%Y-%m-%d %H:%M} UTC"),
        ("commit", _commit()),
        ("processor", f"{_processor()}; {usable} cores used"),
        ("system", f"{platform.system()} {platform.release()}, {_memory()} of memory"),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("SQLite", sqlite3.sqlite_version),
        ("packages", packages),
        ("load average at the end", f"{busy:.1f}"),
        ("3,000,000 multiplications in Python", f"{_of_a_loop():.2f} s of CPU"),
    ]


def _of_a_loop() -> float:
    """Return what a plain loop costs: the same machine is twice as slow on some days."""
    begun, total = process_time(), 0
    for number in range(3_000_000):
        total += number * number
    return process_time() - begun


def _commit() -> str:
    commit = commit_of(PUBLISHED)
    return commit if is_in_history(commit) else f"{commit}, {NOT_THERE}"


def _processor() -> str:
    """Return the processor's name, where Linux tells it."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> str:
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return f"{pages * size / 1e9:.0f} GB"
