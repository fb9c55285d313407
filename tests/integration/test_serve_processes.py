"""Two serve processes on one store: what one acknowledges the other knows, and nobody waits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.reporters import a_sent_report
from tests.faults.serve_processes import (
    GET,
    SAVE,
    ServeHome,
    a_call,
    connected,
    open_serve_home,
    post,
)

ROUNDS = 150


@pytest.fixture
def serve_home(tmp_path: Path) -> Iterator[ServeHome]:
    with open_serve_home(tmp_path / "serve_home", doors=2) as opened:
        yield opened


def test_report_acknowledged_by_one_process_is_never_null_at_the_other(
    serve_home: ServeHome,
) -> None:
    one, other = serve_home.servers
    nulls = []
    with connected(one.port) as first, connected(other.port) as second:
        for number in range(ROUNDS):
            saving, asking = (first, second) if number % 2 else (second, first)
            report = a_sent_report(number)
            post(asking, a_call(GET, [report.tx_hash], 1))  # what was null is not null for good
            saved = post(saving, a_call(SAVE, report.params, 2))
            found = post(asking, a_call(GET, [report.tx_hash], 3))
            assert saved["result"]["txHash"] == report.tx_hash
            if found["result"] is None:
                nulls.append(number)

    assert nulls == []


def test_reading_waits_for_no_save_that_waits_for_another_writer(serve_home: ServeHome) -> None:
    known, waiting = a_sent_report(1), a_sent_report(2)
    one, other = serve_home.servers
    one.call([a_call(SAVE, known.params, 1)])
    with (
        ThreadPoolExecutor(1) as pool,
        closing(sqlite3.connect(serve_home.store, isolation_level=None)) as foreign,
    ):
        foreign.execute("BEGIN IMMEDIATE")
        saving = pool.submit(one.call, [a_call(SAVE, waiting.params, 1)])
        answers = [
            server.call([a_call(GET, [known.tx_hash], 1)])[0]["result"]["txHash"]
            for server in (one, other) * 20
        ]
        is_saved_meanwhile = saving.done()
        foreign.execute("ROLLBACK")
        (reply,) = saving.result(30)

    assert set(answers) == {known.tx_hash}
    assert not is_saved_meanwhile
    assert reply["result"]["status"] == "SAVED"
