"""The benchmarks run, and every answer in them is right; how fast, no test asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.judging import Truth
from tests.bench.loader import Answered, Burst, Volley
from tests.bench.processes import PROJECT
from tests.bench.rounds import WrongAnswerError
from tests.bench.truth import joined, reply

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
