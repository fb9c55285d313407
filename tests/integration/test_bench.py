"""The benchmarks run, and every answer in them is right; how fast, no test asks."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

import pytest

from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.derived_rollups import wrong_rollups
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.maintenance.verify import verify
from tests.bench.__main__ import CASES
from tests.bench.archive import made_archive
from tests.bench.cases import page_sessions
from tests.bench.expected_replies import NETWORK, joined, midnight, reply
from tests.bench.load_generator import Answered, Burst, Volley
from tests.bench.page import UNMEASURED
from tests.bench.processes import PROJECT
from tests.bench.reply_checks import Truth
from tests.bench.rounds import WrongAnswerError
from tests.bench.setup import Scene
from tests.bench.table import Promise, markdown, promise_table
from tests.bench.year_of_fees import keep_year_of_fees

SHORT = ("--rounds", "1", "--seconds", "0.1", "--stored", "2000")


def _bench(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "tests.bench", *SHORT, "--folder", str(folder), *arguments]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_bench_of_lookups_judges_every_server_right(tmp_path: Path) -> None:
    printed = _bench(tmp_path, "S6", "S7")

    for server in ("linewatch serve", "hello world", "FastAPI + SQLite", "Starlette + SQLite"):
        assert f"| {server} |" in printed


def test_bench_of_fees_compares_what_everyone_tells(tmp_path: Path) -> None:
    printed = _bench(tmp_path, "S11", "S12", "S13", "--days", "3")

    for contender in ("linewatch", "DuckDB", "pandas", "the window of the worker"):
        assert f"| {contender}" in printed
    assert "| S13 | numbers in lists, of all figures | ≤ 0 | 0 | kept |" in printed


def test_bench_of_checks_measures_rows_speed_and_memory(tmp_path: Path) -> None:
    printed = _bench(tmp_path, "S3")

    assert "200, each due alone |" in printed
    for measured in ("rows written for each null", "memory for each hash"):
        assert measured in printed


def test_bench_of_alerts_sees_every_rejection_mailed_once(tmp_path: Path) -> None:
    printed = _bench(tmp_path, "S16", "S17")

    for measured in ("p99 report → mail", "p99 first answer → mail", "0.6 s: first mail"):
        assert measured in printed
    assert (
        "| S17 | 20 rejections in 0.6 s: mailed or pending, for everybody | ≥ 20 | 20 | kept |"
        in printed
    )


def test_store_of_pages_rolls_up_the_very_fees_that_it_keeps(tmp_path: Path) -> None:
    until = datetime(2026, 11, 21, tzinfo=UTC)
    migrate(url := f"sqlite:///{tmp_path}/linewatch.sqlite")

    with open_store(url) as store:
        with store.write() as connection:
            since, raw = until - timedelta(days=3), timedelta(days=1)
            keep_year_of_fees(connection, NETWORK, since, until, raw)
        with store.read() as connection:
            found = list(wrong_rollups(connection))

    assert found == []


def test_archive_of_lookups_is_whole(tmp_path: Path) -> None:
    archive = made_archive(tmp_path, 50, datetime(2026, 11, 21, tzinfo=UTC))

    with open_store(f"sqlite:///{archive.file}") as store, store.read() as connection:
        found = list(verify(connection))

    assert found == []


def test_bench_of_open_pages_measures_waits_and_traffic(tmp_path: Path) -> None:
    today = midnight(datetime.now(UTC))

    measured = page_sessions.run(Scene(tmp_path, 600, today, rounds=1, seconds=0.1, days=2))

    promised = [each.what for each in measured.promises]
    assert promised[:2] == ["3 sessions: p95", "3 sessions: share of a core"]
    assert "live traffic a minute, one network" in promised


def test_bench_of_a_bulk_lookup_sees_every_answer_shown(tmp_path: Path) -> None:
    printed = _bench(tmp_path, "S15")

    assert "60 hashes" in printed
    assert "| 1 | 0 |" in printed


def test_bench_of_a_restore_drill_measures_both_databases(tmp_path: Path) -> None:
    printed = _bench(tmp_path, "restore")

    for measured in ("SQLite restored", "PostgreSQL restored", "PostgreSQL backed up"):
        assert f"| {measured} |" in printed


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


def test_judge_takes_a_batch_in_any_order() -> None:
    truth = Truth([joined([reply(1, b"null"), reply(2, b"null")])], lookups_each=2)
    burst = Burst(
        [Answered(Volley(b"", 0, 1), [joined([reply(2, b"null"), reply(1, b"null")])])],
        wall=1.0,
        loader_cpu=0.1,
    )

    assert truth.judge(burst) == 2


@pytest.mark.parametrize("module", " ".join(CASES.values()).split())
def test_bench_knows_the_modules_of_each_case(module: str) -> None:
    assert callable(import_module(f"tests.bench.cases.{module}").run)


def test_page_lists_the_promises_that_no_case_measures() -> None:
    page = (PROJECT / "docs" / "benchmarks.md").read_text(encoding="utf-8")

    assert markdown(("promise", "what"), UNMEASURED) in page


def test_page_says_which_promise_is_missed() -> None:
    kept = Promise("S7", "lookups", 800_000, 912_345, "/s")
    missed = Promise("S9", "wait", 50, 50.1, "ms", is_floor=False)

    table = promise_table([kept, missed])

    assert "| S7 | lookups | ≥ 800,000 /s | 912,000 /s | kept |" in table
    assert "| S9 | wait | ≤ 50 ms | 50.1 ms | **missed** |" in table
