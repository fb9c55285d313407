"""What was tracked, and what came of asking about it, survives the move into cohorts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest
from alembic import command
from sqlalchemy import Connection, create_engine, text

from dashboard.domain.observation import Failure, FailureKind
from dashboard.domain.verdict import Evidence
from dashboard.store.engine.engine import open_store
from dashboard.store.evidence.evidence import read_evidence
from dashboard.store.health import exclusion_answered_at
from dashboard.store.maintenance.migrate import configuration, migrate
from dashboard.store.schema.columns import milliseconds_of
from dashboard.store.tracking.cohorts import watched_after
from dashboard.store.tracking.search import RecordStatus, TrackedFilter, count_tracked
from dashboard.store.tracking.transactions import TrackRequest, newest_tracked, track
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, an_id, seconds
from tests.databases import DATABASES
from tests.postgresql import empty_database

ASKED: Final = A_MOMENT + seconds(60)
SILENCE: Final = Failure(FailureKind.UNAVAILABLE, "no answer")
MANY: Final = 1100
ANSWERED: Final[Any] = {"first_answered_at": ASKED, "last_answered_at": ASKED}

_TRACKED = """
INSERT INTO tracked_transactions (tx_hash, tracked_at, attempted_at, label, note)
VALUES (:hash, :at, :attempted_at, :label, 'a note')
"""
_WATCH = "INSERT INTO watches (tx_hash, network_id, tracked_at) VALUES (:hash, :network_id, :at)"
_CHECK = """
INSERT INTO checks (tx_hash, network_id, last_asked_at, first_answered_at, last_answered_at,
                    failing_since, failure_kind, failure_message)
VALUES (:hash, :network_id, :asked, :answered, :answered, :failing, :kind, :why)
"""
_REJECTION = """
INSERT INTO rejections (network_id, tx_hash, sender, nonce, tx_rejection_stage, reason_message,
                        timestamp, first_seen_at, version_digest)
VALUES (:network_id, :hash, :sender, :nonce, 'RPC', 'MMU', :at, :at, :hash)
"""
_UNREPORTED = """
INSERT INTO transitions (transition_id, subject, kind, network_id, tx_hash, after, at)
VALUES (:id, 'transaction:1', 'transaction', :network_id, :hash, 'unreported', :at);
INSERT INTO outbox (transition_id, expanded_at) VALUES (:id, :at);
INSERT INTO conditions (subject, kind, network_id, tx_hash, state, since)
VALUES ('transaction:1', 'transaction', :network_id, :hash, 'unreported', :at)
"""


@contextmanager
def a_store_before_cohorts(database: str, folder: Path) -> Iterator[tuple[str, Connection]]:
    """Yield an address and a transaction in a store that watches each hash by itself."""
    with empty_database() if database == "postgresql" else _file(folder) as url:
        engine = create_engine(url)
        with engine.connect() as connection:
            command.upgrade(configuration(connection), "0007")
            yield url, connection
        engine.dispose()


@contextmanager
def _file(folder: Path) -> Iterator[str]:
    yield f"sqlite:///{folder}/linewatch.db"


def keep(
    connection: Connection, number: int, *network_ids: int, attempted_at: datetime | None = None
) -> None:
    """Track a hash as it was tracked then."""
    label = "Case 17" if number == 1 else ""
    row = {"hash": bytes(a_hash(number)), "at": milliseconds_of(A_MOMENT), "label": label}
    row["attempted_at"] = None if attempted_at is None else milliseconds_of(attempted_at)
    connection.execute(text(_TRACKED), row)
    for network_id in network_ids:
        connection.execute(text(_WATCH), row | {"network_id": network_id})


def check(connection: Connection, number: int, network_id: int, *, is_answered: bool) -> None:
    """Write down what came of asking as it was written then."""
    at = milliseconds_of(ASKED)
    row: dict[str, Any] = {"hash": bytes(a_hash(number)), "network_id": network_id, "asked": at}
    row |= {"answered": at, "failing": None, "kind": None, "why": None}
    if not is_answered:
        row |= {"answered": None, "failing": at, "kind": SILENCE.kind, "why": SILENCE.message}
    connection.execute(text(_CHECK), row)


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield a migrated store: answered, failing, rejected, looked up, on two networks, many."""
    with a_store_before_cohorts(request.param, tmp_path) as (url, connection):
        keep(connection, 1, A_NETWORK, ANOTHER_NETWORK, attempted_at=A_MOMENT - seconds(3600))
        check(connection, 1, A_NETWORK, is_answered=True)
        keep(connection, 2, A_NETWORK)
        check(connection, 2, A_NETWORK, is_answered=False)
        keep(connection, 3, ANOTHER_NETWORK)
        check(connection, 3, A_NETWORK, is_answered=True)
        keep(connection, 4)
        check(connection, 5, A_NETWORK, is_answered=True)
        for number in range(6, MANY):
            keep(connection, number, A_NETWORK)
        about = {"hash": bytes(a_hash(3)), "network_id": ANOTHER_NETWORK, "at": 0}
        about |= {"sender": bytes(20), "nonce": bytes(8)}
        connection.execute(text(_REJECTION), about)
        for statement in _UNREPORTED.split(";"):
            identity = an_id().hex if request.param == "sqlite" else str(an_id())
            connection.execute(text(statement), {**about, "id": identity})
        connection.commit()
        migrate(url)
        yield url


def test_everything_is_known_as_before(url: str) -> None:
    attempted_at = A_MOMENT - seconds(3600)
    with open_store(url) as store, store.read() as connection:
        listed = {each.tx_hash: each for each in newest_tracked(connection, MANY)}
        found = {n: read_evidence(connection, None, a_hash(n)) for n in (1, 2, 3, 4, 5)}
        answered_at = exclusion_answered_at(connection, A_NETWORK)
        rejected = count_tracked(connection, TrackedFilter(standing=RecordStatus.REJECTED))
        total = count_tracked(connection, TrackedFilter())
    first = listed[a_hash(1)]

    assert len(listed) == total == MANY - 2
    assert (first.label, first.note, first.attempted_at) == ("Case 17", "a note", attempted_at)
    assert first.network_ids == (ANOTHER_NETWORK, A_NETWORK)
    assert listed[a_hash(4)].network_ids == ()
    assert found[1] == [
        Evidence(ANOTHER_NETWORK, a_hash(1), attempted_at=attempted_at),
        Evidence(A_NETWORK, a_hash(1), attempted_at=attempted_at, **ANSWERED),
    ]
    assert found[2] == [
        Evidence(A_NETWORK, a_hash(2), failing_since=ASKED, failure=SILENCE),
    ]
    assert [(each.network_id, len(each.records)) for each in found[3]] == [
        (ANOTHER_NETWORK, 1),
        (A_NETWORK, 0),
    ]
    assert found[5] == [Evidence(A_NETWORK, a_hash(5), **ANSWERED)]
    assert (answered_at, rejected) == (ASKED, 1)


def test_pollers_take_up_everything_as_it_was(url: str) -> None:
    with open_store(url) as store, store.read() as connection:
        here = watched_after(connection, A_NETWORK, 0)
        elsewhere = watched_after(connection, ANOTHER_NETWORK, 0)
    asked = [each for each in here if each.last_asked_at is not None]

    assert sum(each.size for each in here) == MANY - 4
    assert len(here) <= 4
    assert {(each.born_at, each.last_asked_at, each.is_failing) for each in asked} == {
        (A_MOMENT - seconds(3600), ASKED, False),
        (A_MOMENT, ASKED, True),
    }
    assert sorted((each.size, each.is_rejected) for each in elsewhere) == [(1, False), (1, True)]


def test_nulls_are_no_changes_any_more(url: str) -> None:
    with open_store(url) as store, store.read() as connection:
        for table in ("transitions", "outbox", "conditions"):
            assert connection.scalar(text(f"SELECT count(*) FROM {table}")) == 0  # noqa: S608 - names of ours


def test_what_is_tracked_next_has_cohorts_of_its_own(url: str) -> None:
    with open_store(url) as store, store.write() as connection:
        last = watched_after(connection, A_NETWORK, 0)[-1].cohort_id
        assert track(connection, TrackRequest(a_hash(9999), (A_NETWORK,), None, ""), ASKED)
        assert not track(connection, TrackRequest(a_hash(1), (A_NETWORK,), None, ""), ASKED)
        [new] = watched_after(connection, A_NETWORK, last)

    assert (new.size, new.last_asked_at) == (1, None)
