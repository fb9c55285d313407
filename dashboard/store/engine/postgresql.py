"""PostgreSQL as the store needs it: durable writers that take turns, readers that never wait.

Writers take turns by an advisory lock that each holds until its transaction ends. The store's
writers are few and short, and in return both databases keep the same promises: what a writer read
is still true when it writes, and row ids rise in the order of commits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

import psycopg
from psycopg.errors import Diagnostic
from psycopg.pq import Conninfo
from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from dashboard.domain.secret import quotes
from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.engine.connection import (
    DATABASE,
    LONGEST_PAUSE,
    Database,
    patience_of,
    store_in_use_error,
)
from dashboard.store.engine.lease_clock import BootMoment

WRITING_LOCK: Final = 0x6C696E6577617463
"""The advisory lock of the one who writes: "linewatc" in ASCII."""

USING_LOCK: Final = WRITING_LOCK + 1
"""Each connection shares this lock while it lasts, so that one can exclude all others."""

_LONGEST_READ: Final = timedelta(minutes=2)
_LONGEST_GOODBYE: Final = timedelta(seconds=2)
"""How long the server may take to release the locks of a process that ended."""

_CONNECT_SECONDS: Final = 5
_READERS_KEPT: Final = 16
_CLOCK: Final = "postgresql"
"""Stands for the boot: the server's clock is the same for all machines."""

_TLS_MODES: Final = frozenset({"require", "verify-ca", "verify-full"})

_IDLE: Final = "25P03"
_LOST: Final = "08000"

_END_STALLED: Final = text(
    "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE locktype = 'advisory' AND granted AND (classid::bigint << 32) + objid::bigint = :lock "
    "AND datname = current_database() AND datid = database AND usename = current_user "
    "AND wait_event = 'ClientRead' "
    "AND clock_timestamp() - state_change > cast(:longest AS interval)"
)

_DAMAGED: Final = {"XX001", "XX002"}
"""Damaged data and a damaged index; an internal error (XX000) is neither."""

_REMEDIES: Final = {
    "08": "check that the server runs and can be reached",
    "25006": "this server is a standby, which accepts no writes: set the address of the primary",
    _IDLE: "the transaction was idle for too long; try again",
    "28": "check user, password and the access rules of the server",
    "3D": "create the database first",
    "40": "a replica had to end this question to keep up with its primary; try again",
    "42501": "give this user the right to use the tables",
    "53": "give the server more room: disk, memory or connections",
    "55P03": "another process has been writing for too long; try again",
    "57": "the server ended the connection; try again",
    "58": "check the disk of the server",
    "XX": "the server failed: look into its log, and try again",
}
"""Remedies by SQLSTATE or its class (Appendix A of PostgreSQL's documentation)."""


class PostgresqlServer(Database):
    """A store in a database of a PostgreSQL server."""

    parameter = "%s"
    is_near = False
    driver_error: type[Exception] = psycopg.Error

    def __init__(self, url: URL) -> None:
        """Accept the address with or without the driver's name; the driver is psycopg."""
        if not url.database:
            raise StoreError("store.url names no database: write postgresql://host/database")
        self._url = url.set(drivername="postgresql+psycopg")
        if not self._option("connect_timeout", _CONNECT_SECONDS).isdecimal():
            raise StoreError(
                "connect_timeout in store.url is not a whole number: write seconds, such as 10"
            )
        self._ended = threading.local()
        port = f":{url.port}" if url.port else ""  # one machine may run two servers
        self.name = f"The store {url.database} at {url.host or 'the local server'}{port}"

    def clear_text_hosts(self) -> Sequence[str]:
        """Return the hosts that the address or PGHOST names, if libpq may connect without TLS.

        By default it does (`sslmode=prefer`) if a server, or somebody on the way, says so. A
        service in the address stands for hosts that only libpq knows, and overrides PGSSLMODE.
        """
        services = self._listed("service")
        usual = "" if services else _of_environment("sslmode")
        if self._option("sslmode", usual) in _TLS_MODES:
            return ()
        if services:
            return [f"service={name}" for name in services]
        named = [self._url.host or "", *self._listed("host")]
        addresses = self._listed("hostaddr") or [_of_environment("hostaddr")]
        given = [*(named if any(named) else [_of_environment("host")]), *addresses]
        hosts = [host for text in given for host in text.split(",")]
        return [_without_port(host) for host in hosts if host and not host.startswith(("/", "@"))]

    def reading_engine(self) -> Engine:
        """Connect for reading: each transaction sees one moment and cannot write."""
        engine = self._engine(
            {"default_transaction_read_only": "on", "statement_timeout": _text(_LONGEST_READ)},
            isolation_level="REPEATABLE READ",
            pool_size=_READERS_KEPT,
            max_overflow=-1,
        )
        event.listen(engine, "connect", _use)
        return engine

    def writing_engine(
        self,
        patience: timedelta,
        longest_pause: timedelta = LONGEST_PAUSE,
        *,
        is_synced: bool = True,
        takes_turns: bool = True,
    ) -> Engine:
        """Connect for writing: one transaction at a time, on disk when it commits.

        If it is not `is_synced`, the server puts a commit on disk within a second.
        """
        engine = self._engine(
            {
                "synchronous_commit": "on" if is_synced else "off",
                "lock_timeout": _text(patience),
                "idle_in_transaction_session_timeout": _text(longest_pause),
            },
            isolation_level="READ COMMITTED",
            pool_size=1,
            max_overflow=0,
            pool_timeout=patience.total_seconds(),
        )
        event.listen(engine, "begin", self._begin)
        if takes_turns:
            event.listen(engine, "begin", _take_turns)
        event.listen(engine, "connect", _use)
        event.listen(engine, "connect", self._await_end)
        return engine

    def _begin(self, _connection: Connection) -> None:
        """Clear how an earlier transaction of this thread ended."""
        vars(self._ended).clear()

    def _await_end(self, connection: psycopg.Connection, _record: object) -> None:
        """Record when the server ends an idle transaction.

        If it says so between two statements, the driver takes that for a notice, and the next
        statement fails without a SQLSTATE.
        """
        connection.add_notice_handler(self._note_end)

    def _note_end(self, notice: Diagnostic) -> None:
        if notice.sqlstate == _IDLE:
            self._ended.state = _IDLE

    @contextmanager
    def exclusive(self) -> Iterator[Connection]:
        """Take the lock that every other connection shares."""
        engine = self._engine({"synchronous_commit": "on"}, poolclass=NullPool)
        with engine.begin() as connection:
            self._keep_others_out(connection)
            yield connection.execution_options(**{DATABASE: self})

    def _keep_others_out(self, connection: Connection) -> None:
        """Wait a little: the server notices with a delay that a process ended."""
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_text(_LONGEST_GOODBYE)}'")
        try:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({USING_LOCK})")
        except OperationalError as error:
            if not isinstance(error.orig, psycopg.errors.LockNotAvailable):
                raise
            raise store_in_use_error(self.name) from error
        connection.exec_driver_sql("SET LOCAL lock_timeout = DEFAULT")

    def end_stalled_writer(self, connection: Connection, longest: timedelta) -> None:
        """End the session of the writer if the server has waited for its process for `longest`.

        The server does so by itself if the process stopped between two statements, but not if it
        stopped within one, for example between the rows that it sends together.
        """
        connection.execute(_END_STALLED, {"lock": WRITING_LOCK, "longest": longest})

    def use_autocommit(self, connection: psycopg.Connection) -> None:
        """Leave no transaction open between questions."""
        connection.rollback()
        connection.autocommit = True

    def now(self, connection: Connection) -> BootMoment:
        """Return the server's present time, not that of the beginning of the transaction."""
        query = text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint")
        return BootMoment(_CLOCK, connection.execute(query).scalar_one())

    def check_space(self, connection: Connection) -> None:
        """Ask whether the server is a standby; a full disk only shows when a save fails."""
        if connection.execute(text("SELECT pg_is_in_recovery()")).scalar_one():
            remedy = _REMEDIES["25006"]
            raise StoreUnavailable(f"{self.name} cannot be used now: {remedy}")

    def size(self, connection: Connection) -> int:
        """Ask the server, which counts tables, indexes and the remains of deleted rows."""
        query = text("SELECT pg_database_size(current_database())")
        size: int = connection.execute(query).scalar_one()
        return size

    def unavailable(self, error: BaseException) -> StoreUnavailable | StoreError | None:
        """Read the SQLSTATE; an error without one means that the connection was lost."""
        if not isinstance(error, psycopg.Error):
            return None
        without_one: str = getattr(self._ended, "state", _LOST)
        state = error.sqlstate or without_one
        if state in _DAMAGED:
            return StoreError(
                f"{self.name} is damaged ({self._line(error)}): "
                "`linewatch verify` shows details, `linewatch restore FILE` restores a backup"
            )
        remedy = _REMEDIES.get(state) or _REMEDIES.get(state[:2])
        if remedy is None:
            return StoreError(f"{self.name} refused what was asked ({self._line(error)})")
        return StoreUnavailable(f"{self.name} cannot be used now ({self._line(error)}): {remedy}")

    def _engine(self, settings: dict[str, str], **options: Any) -> Engine:  # noqa: ANN401 - as SQLAlchemy's create_engine takes them
        """Connect with settings of the session; a broken connection is replaced."""
        given = str(self._url.query.get("options", ""))
        own = " ".join(f"-c {name}={value}" for name, value in settings.items())
        return create_engine(
            self._url.difference_update_query(["options"]),
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={
                "options": f"{given} {own}".strip(),
                "connect_timeout": int(self._option("connect_timeout", _CONNECT_SECONDS)),
                "application_name": self._option("application_name", "linewatch"),
                "keepalives_idle": 10,
                "keepalives_interval": 5,
                "keepalives_count": 3,
                "tcp_user_timeout": 30_000,
            },
            **options,
        )

    def _line(self, error: BaseException) -> str:
        """Return what the driver or the server said, unless it repeats the password."""
        said = " ".join(str(error).split())
        passwords = (self._url.password or "", *self._listed("password"))
        return "it repeats the password, so it is not shown" if quotes(said, passwords) else said

    def _listed(self, name: str) -> Sequence[str]:
        given = self._url.query.get(name, ())
        return (given,) if isinstance(given, str) else given

    def _option(self, name: str, default: str | int) -> str:
        return str(self._url.query.get(name, default))


def _take_turns(connection: Connection) -> None:
    if (patience := patience_of(connection)) is not None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_text(patience)}'")
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITING_LOCK})")


def _use(connection: psycopg.Connection, _record: object) -> None:
    """Share the store with all others for as long as the connection lasts."""
    query = "SELECT pg_try_advisory_lock_shared(%s)"
    if connection.execute(query, [USING_LOCK]).fetchone() != (True,):
        raise StoreUnavailable("The store is being restored or moved: try again when that is done")
    connection.rollback()


def _of_environment(keyword: str) -> str:
    """Return what libpq uses if the address has no such option: PGHOST and similar variables."""
    values = {option.keyword: option.val or b"" for option in Conninfo.get_defaults()}
    return values.get(keyword.encode(), b"").decode()


def _without_port(host: str) -> str:
    return host.partition(":")[0] if host.count(":") == 1 else host


def _text(duration: timedelta) -> str:
    return f"{duration // timedelta(milliseconds=1)}ms"
