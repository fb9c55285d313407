"""A real streaming replica: it answers while it is recent enough, and never with what is old."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from sqlalchemy import text

from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import StoreUnavailable
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.tracking.transactions import track, tracked_among
from tests.builders import A_MOMENT, A_NETWORK, a_hash
from tests.own_postgresql import OwnPostgreSQL
from tests.processes import launching
from tests.waiting import eventually

LARGEST: Final = timedelta(seconds=1)
_ALIKE: Final = "linewatch_reader"


class Pair:
    """A primary with one store, and its replica."""

    def __init__(self, primary: OwnPostgreSQL, replica: OwnPostgreSQL) -> None:
        self.primary, self.replica = primary, replica
        self.url = primary.new_store()

    @property
    def read_url(self) -> str:
        return self.url.replace(self.primary.sockets, self.replica.sockets)

    @contextmanager
    def opened(self, largest: timedelta = timedelta(hours=1)) -> Iterator[Store]:
        """Yield the store with a replica that has caught up."""
        with open_store(self.url) as store:
            store.use_replica(self.read_url, largest)
            eventually(lambda: asks_replica(store), what="a replica that is used")
            yield store

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the replica stay where it is."""
        self.replica.ask("SELECT pg_wal_replay_pause()")
        try:
            yield
        finally:
            self.replica.ask("SELECT pg_wal_replay_resume()")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder: Path = tmp_path_factory.mktemp("pair")
    with launching() as launcher:
        primary = OwnPostgreSQL(folder / "primary", launcher)
        yield Pair(primary, OwnPostgreSQL(folder / "replica", launcher, primary=primary))


def asks_replica(store: Store) -> bool:
    with store.read_recent() as connection:
        return is_replica(connection)


def is_replica(connection: Connection) -> bool:
    found: bool = connection.execute(text("SELECT pg_is_in_recovery()")).scalar_one()
    return found


def trouble_of(store: Store) -> str:
    state = store.replica_state()
    assert state is not None
    return state.trouble


def save(store: Store, number: int) -> None:
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(number), (A_NETWORK,)), A_MOMENT)


def knows(store: Store, number: int) -> bool:
    with store.read_recent() as connection:
        return bool(tracked_among(connection, [a_hash(number)]))


def test_replica_answers_what_others_saved(pair: Pair) -> None:
    with pair.opened() as store, open_store(pair.url) as other:
        save(other, 1)

        eventually(lambda: knows(store, 1), what="what another process saved")
        assert asks_replica(store)


def test_what_this_process_saved_is_in_its_next_answer_however_far_the_replica_is(
    pair: Pair,
) -> None:
    with pair.opened() as store:
        with pair.paused():
            assert asks_replica(store)
            save(store, 2)
            assert knows(store, 2)
            assert not asks_replica(store)

        eventually(lambda: asks_replica(store), what="the return to the replica")
        assert knows(store, 2)


def test_what_others_saved_is_answered_at_the_latest_after_the_bound(pair: Pair) -> None:
    with pair.opened(LARGEST) as store, open_store(pair.url) as other, pair.paused():
        save(other, 3)
        eventually(lambda: not asks_replica(store), what="a replica that is too far behind")

        assert knows(store, 3)
        eventually(lambda: "does not keep up" in trouble_of(store), what="its trouble")


def test_dead_replica_costs_no_answer_and_is_used_again_when_it_is_back(pair: Pair) -> None:
    with pair.opened() as store:
        pair.replica.stop()
        try:
            assert [asks_replica(store) for _ in range(20)] == [False] * 20
            eventually(lambda: "cannot be used now" in trouble_of(store), what="its trouble")
        finally:
            pair.replica.start()

        eventually(lambda: asks_replica(store), what="the return to the replica")
        assert trouble_of(store) == ""


def test_question_that_the_replica_gives_up_is_unavailable_and_the_next_is_answered(
    pair: Pair,
) -> None:
    with pair.opened() as store:
        with pytest.raises(StoreUnavailable, match="try again"):
            ask_until_cut_off(store, pair)

        assert not knows(store, 99)


def ask_until_cut_off(store: Store, pair: Pair) -> None:
    with store.read_recent() as connection:
        assert is_replica(connection)
        own = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        pair.replica.ask(f"SELECT pg_terminate_backend({own})")
        while True:
            connection.execute(text("SELECT 1"))


def test_transaction_that_writes_reads_itself(pair: Pair) -> None:
    with pair.opened() as store, store.write_together():
        save(store, 4)

        assert knows(store, 4)


NO_REPLICAS: Final[dict[str, tuple[Callable[[Pair], str], str]]] = {
    "the primary": (lambda pair: pair.url, "is not a replica: it accepts writes of its own"),
    "another database": (
        lambda pair: pair.replica.address("postgres"),
        "is a replica of another database than store.url names",
    ),
    "nobody": (
        lambda pair: pair.read_url.replace(pair.replica.sockets, "/nowhere"),
        "check that the server runs and can be reached",
    ),
}


@pytest.mark.parametrize(("url", "said"), NO_REPLICAS.values(), ids=NO_REPLICAS.keys())
def test_what_is_no_replica_of_the_store_answers_nothing(
    pair: Pair, url: Callable[[Pair], str], said: str
) -> None:
    with open_store(pair.url) as store:
        store.use_replica(url(pair), LARGEST)

        assert said in trouble_of(store)
        with store.read_recent() as connection:
            assert not is_replica(connection)


def test_replica_that_is_cut_off_answers_nothing(pair: Pair) -> None:
    with pair.opened() as store:
        was = setting(pair.replica, "primary_conninfo")
        set_to(pair.replica, "primary_conninfo", "")
        try:
            eventually(lambda: "is cut off" in trouble_of(store), what="its trouble")
            save(store, 5)
            assert not asks_replica(store)
        finally:
            set_to(pair.replica, "primary_conninfo", was)


def setting(server: OwnPostgreSQL, name: str) -> Any:  # noqa: ANN401 - as the server has it
    with psycopg.connect(server.address("postgres"), autocommit=True) as connection:
        [(value,)] = connection.execute(f"SHOW {name}".encode()).fetchall()
        return value


def set_to(server: OwnPostgreSQL, name: str, value: str) -> None:
    quoted = value.replace("'", "''")
    server.ask(f"ALTER SYSTEM SET {name} = '{quoted}'")
    server.ask("SELECT pg_reload_conf()")


def test_replica_is_compared_by_a_user_without_rights_of_its_own(pair: Pair) -> None:
    with suppress(psycopg.errors.DuplicateObject):
        pair.primary.ask(f"CREATE ROLE {_ALIKE} LOGIN")
    database = pair.url.partition("@/")[2].partition("?")[0]
    pair.primary.ask(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {_ALIKE}", database)

    with open_store(pair.url.replace("postgres@", f"{_ALIKE}@")) as store:
        store.use_replica(pair.read_url.replace("postgres@", f"{_ALIKE}@"), timedelta(hours=1))

        eventually(
            lambda: asks_replica(store), what=f"a replica that is used ({trouble_of(store)})"
        )
