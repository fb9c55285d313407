"""What only a server can go through: lost connections, a writer that stalls, a time of its own."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from socketserver import BaseRequestHandler, ThreadingUnixStreamServer
from tempfile import TemporaryDirectory

import psycopg
import pytest
from sqlalchemy import make_url, text

from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.engine.connection import Connection, Database
from dashboard.store.engine.database import database_at
from dashboard.store.engine.engine import Store, database_of, lease_time, open_store, prove_writing
from dashboard.store.engine.postgresql import USING_LOCK, WRITING_LOCK
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.schema import REVISION
from dashboard.store.tracking.transactions import track, tracked_among
from tests.builders import A_MOMENT, A_NETWORK, a_hash, seconds
from tests.postgresql import address_of, empty_database, server_address
from tests.waiting import eventually

A_WISH = TrackRequest(a_hash(), (A_NETWORK,))
OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"


@pytest.fixture
def database() -> str:
    """Run on the server only."""
    return "postgresql"


def name_of(connection: Connection) -> str:
    name: str = connection.execute(text("SELECT current_database()")).scalar_one()
    return name


def cut_off(store: Store) -> None:
    """End every connection to the store, as a restart of the server does."""
    with store.read() as connection:
        name = name_of(connection)
    with psycopg.connect(server_address()) as administrator:
        administrator.execute(OTHERS, [name])


def test_new_database_is_migrated_and_opened() -> None:
    with empty_database() as url:
        assert migrate(url) == REVISION
        with open_store(url) as store:
            prove_writing(store)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("synchronous_commit", "on"), ("idle_in_transaction_session_timeout", "1min")],
)
def test_writer_is_durable_and_bounded(store: Store, setting: str, value: str) -> None:
    with store.write() as connection:
        assert connection.scalar(text(f"SHOW {setting}")) == value


def test_server_ends_what_a_writer_began_that_stops_for_too_long(store: Store) -> None:
    with store.read() as connection:
        url = address_of(name_of(connection))
    with open_store(url, longest_pause=seconds(7)) as other:
        for opened in (other.write, other.write_unsynced, other.renew):
            with opened() as connection:
                shown = connection.scalar(text("SHOW idle_in_transaction_session_timeout"))
                assert shown == "7s"


def test_process_that_has_just_ended_is_waited_for() -> None:
    with empty_database() as url:
        migrate(url)
        with ThreadPoolExecutor() as threads, psycopg.connect(url) as ending:
            ending.execute(f"SELECT pg_advisory_lock_shared({USING_LOCK})")
            came = threads.submit(lambda: kept_others_out(database_at(url)))
            eventually(lambda: one_waits(url), what="waiting for the lock")
            ending.close()

            assert came.result()


def kept_others_out(server: Database) -> bool:
    with server.exclusive() as connection:
        return str(connection.scalar(text("SHOW lock_timeout"))) == "0"


def one_waits(url: str) -> bool:
    query = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
    with psycopg.connect(url) as looking:
        [(count,)] = looking.execute(query).fetchall()
    return bool(count)


def test_lost_connections_are_replaced(store: Store) -> None:
    prove_writing(store)

    cut_off(store)

    with store.write() as connection:
        assert track(connection, A_WISH, A_MOMENT)
    with store.read() as connection:
        assert tracked_among(connection, [a_hash()])


def test_transaction_whose_connection_is_lost_saves_nothing(store: Store) -> None:
    def lose_it_half_way() -> None:
        with store.write() as connection:
            track(connection, A_WISH, A_MOMENT)
            cut_off(store)

    with pytest.raises(StoreUnavailable, match=r"try again|can be reached"):
        lose_it_half_way()

    with store.read() as connection:
        assert not tracked_among(connection, [a_hash()])


def test_writer_that_stalls_gives_way_to_the_others(url: str) -> None:
    def stall(store: Store) -> None:
        with store.write() as connection:
            track(connection, A_WISH, A_MOMENT)
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = '50ms'"))
            prove_writing(other)

    with open_store(url) as store, open_store(url, patience=seconds(30)) as other:
        with pytest.raises(StoreUnavailable, match="was idle for too long"):
            stall(store)

        with other.read() as connection:
            assert not tracked_among(connection, [a_hash()])


def test_writer_that_stops_within_a_question_gives_way_to_the_others(url: str) -> None:
    """Rows that are sent together are one question, within which the server sets no limit."""
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)

    def stall(store: Store) -> None:
        with psycopg.connect(address) as stopped, stopped.pipeline():
            query = "SELECT pg_advisory_xact_lock(%s)"
            assert stopped.execute(query, [WRITING_LOCK]).fetchone()
            store.end_stalled_writer(seconds(60))
            assert stopped.execute("SELECT 1").fetchone() == (1,)
            eventually(lambda: is_over(store), what="an end of the writer that stopped")
            prove_writing(store)

    def is_over(store: Store) -> bool:
        """Whether the writer is ended, once the server waits for it: that may take a moment."""
        store.end_stalled_writer(seconds(0))
        with psycopg.connect(address) as other:
            query = "SELECT pg_try_advisory_xact_lock(%s)"
            return other.execute(query, [WRITING_LOCK]).fetchone() == (True,)

    with (
        open_store(url, patience=seconds(30)) as store,
        pytest.raises(psycopg.OperationalError, match="closed the connection"),
    ):
        stall(store)


class LateHandler(BaseRequestHandler):
    """Passes a connection on; once it is `late`, what the server says comes with its end."""

    late = threading.Event()
    server_path = ""

    def handle(self) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.server_path)
            asking = threading.Thread(target=self._ask, args=(server,))
            asking.start()
            held = b""
            while said := server.recv(65_536):
                held += said
                if not self.late.is_set():
                    self.request.sendall(held)
                    held = b""
            self.request.sendall(held)
            self.request.shutdown(socket.SHUT_WR)
            asking.join()

    def _ask(self, server: socket.socket) -> None:
        with suppress(OSError):
            while asked := self.request.recv(65_536):
                server.sendall(asked)
            server.shutdown(socket.SHUT_WR)


def test_end_of_an_idle_transaction_is_named_though_it_comes_between_two_statements(
    url: str,
) -> None:
    folder = make_url(url).query["host"]
    LateHandler.server_path = f"{folder}/.s.PGSQL.5432"

    def stall(store: Store) -> None:
        with store.write() as connection:
            LateHandler.late.set()
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = '1ms'"))
            connection.execute(text("SELECT 1"))

    with (
        TemporaryDirectory(prefix="lw-") as near,  # the address of a socket has 107 bytes at most
        ThreadingUnixStreamServer(f"{near}/.s.PGSQL.5432", LateHandler) as relay,
    ):
        threading.Thread(target=relay.serve_forever).start()
        with (
            open_store(url.replace(str(folder), near)) as store,
            pytest.raises(StoreUnavailable, match="was idle for too long"),
        ):
            stall(store)
        relay.shutdown()


def test_server_that_is_not_there_is_told_with_the_remedy_and_without_the_password() -> None:
    url = "postgresql://linewatch:pa55word@127.0.0.1:1/linewatch"

    with pytest.raises(StoreUnavailable, match=r"linewatch at 127.0.0.1:1 .* runs") as caught:
        open_store(url)

    assert "pa55word" not in str(caught.value)


def test_two_servers_of_one_machine_have_two_names() -> None:
    """So a store that moves from one to the other says where it went."""
    names = [database_at(f"postgresql://db.example:{port}/it").name for port in (5432, 5433)]

    assert names == ["The store it at db.example:5432", "The store it at db.example:5433"]
    assert database_at("postgresql://db.example/it").name == "The store it at db.example"


def test_database_that_is_not_there_is_told_with_the_remedy() -> None:
    with pytest.raises(StoreError, match="never_made"):
        open_store(address_of("never_made"))


def test_leases_run_by_the_time_of_the_server(url: str) -> None:
    with open_store(url) as store, store.read() as connection:
        moment = lease_time(connection)

    told = datetime.fromtimestamp(moment.nanoseconds / 10**9, UTC)
    assert abs(told - datetime.now(UTC)) < seconds(60)


def test_size_counts_what_was_added(store: Store) -> None:
    def size() -> int:
        with store.read() as connection:
            return database_of(connection).size(connection)

    before = size()
    with store.write() as connection:
        connection.execute(text("CREATE TABLE filler AS SELECT generate_series(1, 50000)"))

    assert size() > before + 1_000_000
