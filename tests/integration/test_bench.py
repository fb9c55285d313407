"""The benchmarks run, and every answer in them is right; how fast, no test asks."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import pytest

from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.verify import verify
from tests.bench.__main__ import CASES
from tests.bench.archive import made_archive
from tests.bench.cases import page_sessions
from tests.bench.expected_replies import joined, midnight, reply
from tests.bench.load_generator import Answered, Burst, Volley
from tests.bench.reply_checks import Truth
from tests.bench.rounds import WrongAnswerError
from tests.bench.setup import Scene
from tests.processes import PROJECT, finished

SHORT = ("--rounds", "1", "--seconds", "0.1", "--stored", "2000")


@pytest.mark.parametrize("module", sorted(set(" ".join(CASES.values()).split())))
def test_bench_knows_the_modules_of_each_case(module: str) -> None:
    assert callable(import_module(f"tests.bench.cases.{module}").run)


@pytest.mark.full
@pytest.mark.parametrize(
    ("arguments", "measured"),
    [
        (
            ("S6", "S7"),
            ("linewatch serve |", "hello world |", "FastAPI + SQLite |", "Starlette + SQLite |"),
        ),
        (
            ("S11", "S12", "S13", "--days", "3"),
            (
                *("linewatch", "DuckDB", "pandas", "the window of the worker"),
                "S13 | numbers in lists, of all figures | ≤ 0 | 0 |  |",
            ),
        ),
        (("S3",), ("rows written for each null", "memory for each hash")),
        (
            ("S16", "S17"),
            (
                *("p99 report → mail", "p99 first answer → mail", "0.6 s: first mail"),
                "20 rejections in 0.6 s: mailed or pending, for everybody | ≥ 20 | 20 |  |",
            ),
        ),
        (("S15",), ("60 hashes", "| 1 | 0 |")),
        (("restore",), ("SQLite restored |", "PostgreSQL restored |", "PostgreSQL backed up |")),
    ],
)
def test_bench_measures_and_judges_every_answer_right(
    tmp_path: Path, arguments: tuple[str, ...], measured: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "tests.bench", *SHORT, "--folder", str(tmp_path), *arguments]
    done = finished(command, cwd=PROJECT)

    assert done.returncode == 0, done.stderr
    assert [each for each in measured if each not in done.stdout] == []


@pytest.mark.full
def test_bench_of_open_pages_measures_waits_and_traffic(tmp_path: Path) -> None:
    today = midnight(datetime.now(UTC))

    measured = page_sessions.run(Scene(tmp_path, 600, today, rounds=1, seconds=0.1, days=2))

    promised = [each.what for each in measured.promises]
    assert promised[:2] == ["3 sessions: p95", "3 sessions: share of a core"]
    assert "live traffic a minute, one network" in promised


@pytest.mark.full
def test_archive_of_lookups_is_whole(tmp_path: Path) -> None:
    archive = made_archive(tmp_path, 50, datetime(2026, 11, 21, tzinfo=UTC))

    with open_store(f"sqlite:///{archive.file}") as store, store.read() as connection:
        found = list(verify(connection))

    assert found == []


@pytest.mark.parametrize(
    "told",
    [
        [reply(1, b"null"), reply(2, b"{}")],
        [reply(2, b"null"), reply(1, b"null")],
        [reply(1, b"null")],
        [joined([reply(1, b"null")]), reply(2, b"null")],
    ],
    ids=["record made up", "ids swapped", "reply missing", "batch for one"],
)
def test_judge_refuses_a_reply_that_is_not_true(told: list[bytes]) -> None:
    truth = Truth([reply(1, b"null"), reply(2, b"null")])
    burst = Burst([Answered(Volley(b"", 0, 2), told)], wall=1.0, loader_cpu=0.1)

    with pytest.raises(WrongAnswerError):
        truth.judge(burst)
