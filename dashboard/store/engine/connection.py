"""The open transaction that every function of the store works in, and the database behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection, Engine

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.engine.lease_clock import BootMoment

__all__ = [
    "DATABASE",
    "LONGEST_PAUSE",
    "PATIENCE",
    "Connection",
    "Database",
    "patience_of",
    "set_patience",
    "store_in_use_error",
]

PATIENCE: Final = timedelta(seconds=20)
"""How long a writer waits for other writers before it gives up."""

LONGEST_PAUSE: Final = timedelta(minutes=1)
"""How long a writer that stopped (paused, cut off) may keep the others waiting. Even on a slow
machine one goes on by then: a transaction only computes and waits for nothing."""

DATABASE: Final = "linewatch_database"
"""The option of a connection that holds the `Database` it is in."""

_PATIENCE: Final = "linewatch_patience"


def set_patience(connection: Connection, patience: timedelta) -> None:
    """Set how long a connection waits for other writers, whatever the default of its engine."""
    connection.execution_options(**{_PATIENCE: patience})


def patience_of(connection: Connection) -> timedelta | None:
    """Return how long a connection waits for other writers, if it has a patience of its own."""
    found: timedelta | None = connection.get_execution_options().get(_PATIENCE)
    return found


def store_in_use_error(name: str) -> StoreUnavailable:
    """Return the error for a caller that needs the store exclusively while others use it."""
    return StoreUnavailable(
        f"{name} is in use: stop everything of this installation that runs (up, worker, serve, "
        "pages, devnet) and try again"
    )


class Database(ABC):
    """What the store needs of a database beyond SQL; messages show its `name`.

    `parameter` marks a value in a statement for the driver, which raises `driver_error`.
    `is_near`: small questions take microseconds, not the time to a server and back.

    Both kinds let one transaction write at a time and show readers one moment. So the ids of rows
    rise in the order in which transactions end, and a reader of "all after the last one I saw"
    misses none.
    """

    name: str
    parameter: str
    driver_error: type[Exception]
    is_near: bool

    def clear_text_hosts(self) -> Sequence[str]:
        """Return the hosts that would be contacted without TLS."""
        return ()

    def exists(self) -> bool:
        """Whether a store may exist there; False if connecting would create one."""
        return True

    def identity(self) -> object:
        """Return a value that changes when another store replaces this one.

        A server lets nobody connect while one is put in place.
        """
        return None

    def check_corruption(self, connection: Connection, longest: timedelta) -> None:  # noqa: B027 - a server has checksums and logs of its own
        """Raise StoreError, naming the remedy, for damage that shows within `longest`."""

    def prepare(self) -> None:  # noqa: B027 - the administrator of a server creates the database
        """Create what must exist before a store can be created."""

    def create(self) -> None:  # noqa: B027 - likewise
        """Create an empty store, without a schema, if there is none."""

    @abstractmethod
    def reading_engine(self) -> Engine:
        """Connect for reading."""

    @abstractmethod
    def writing_engine(
        self,
        patience: timedelta,
        longest_pause: timedelta = LONGEST_PAUSE,
        *,
        is_synced: bool = True,
        takes_turns: bool = True,
    ) -> Engine:
        """Connect for writing; a writer waits for the others for at most `patience`.

        A server ends the transaction of a process that stopped within it after `longest_pause`.

        If it is not `is_synced`, a power cut may undo the last transactions, each as a whole. A
        connection that does not take turns waits for nobody, if the database allows that: it must
        change only its own rows, and create no ids.
        """

    @abstractmethod
    def exclusive(self) -> AbstractContextManager[Connection]:
        """Open a transaction while no other process uses the store; else raise the driver's error.

        Processes that connect meanwhile are refused.
        """

    def checkpoint(self, connection: Connection) -> None:  # noqa: B027 - a server does it by itself
        """Move the log into the file, if the database postpones that."""

    def end_stalled_writer(self, connection: Connection, longest: timedelta) -> None:  # noqa: B027 - no server stands between the processes on a file
        """End a transaction whose process has sent nothing for `longest`, if the server can."""

    @abstractmethod
    def use_autocommit(self, connection: Any) -> None:  # noqa: ANN401 - the driver's own
        """Let each statement of a driver's connection see everything committed before it.

        It does not wait for other writers.
        """

    @abstractmethod
    def now(self, connection: Connection) -> BootMoment:
        """Return the time by which leases expire, the same for every process."""

    @abstractmethod
    def check_space(self, connection: Connection) -> None:
        """Raise StoreUnavailable if nothing can be saved now; finds out without saving."""

    @abstractmethod
    def size(self, connection: Connection) -> int:
        """Return the size of the store in bytes."""

    @abstractmethod
    def unavailable(self, error: BaseException) -> StoreUnavailable | StoreError | None:
        """Describe an error of the driver, with its remedy; None if it is unknown."""
