"""Verify that a store is whole: its pages, its references, and what must hold beyond them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import DBAPIError

from dashboard.store.maintenance.finding import RESTORE, Finding
from dashboard.store.maintenance.rebuild import Tell, be_silent, unreadable, wrong_derived
from dashboard.store.maintenance.rules import broken_rules, changed_rejections
from dashboard.store.schema import metadata

__all__ = ["Finding", "broken_pages", "count_rows", "verify"]

_MOST_COMPLAINTS: Final = 20


def verify(
    connection: Connection, *, is_quick: bool = False, tell: Tell = be_silent
) -> Iterator[Finding]:
    """Tell what is wrong; what rests on broken pages, or on unreadable values, is not looked at.

    `is_quick` spares what takes longest: each index entry with its row, each value, what is derived
    from other data, each rejection with its digest. `tell` hears what is looked at now.
    """
    tell("pages")
    broken = list(broken_pages(connection, is_quick=is_quick))
    if not broken and not is_quick:
        broken = list(unreadable(connection, tell))
    yield from broken
    if broken:
        return
    tell("references and rules")
    yield from broken_rules(connection)
    if not is_quick:
        yield from wrong_derived(connection, tell)
        tell("digests of rejections")
        yield from changed_rejections(connection)


def count_rows(connection: Connection) -> dict[str, int]:
    """Count the rows of every table."""
    return {
        table.name: connection.scalar(select(func.count()).select_from(table)) or 0
        for table in metadata.sorted_tables
    }


def broken_pages(connection: Connection, *, is_quick: bool) -> Iterator[Finding]:
    """Tell what the database itself finds wrong."""
    if connection.dialect.name == "sqlite":
        name = "quick_check" if is_quick else "integrity_check"
        check = text(f"PRAGMA {name}({_MOST_COMPLAINTS})")
        told = (" ".join(str(each).split()) for each in connection.scalars(check))
        complaints = [each for each in told if each != "ok"]
        for each in complaints:
            yield Finding(f"its pages are damaged: {each}", RESTORE)
        return
    yield from _broken_indexes(connection)


def _broken_indexes(connection: Connection) -> Iterator[Finding]:
    """Ask PostgreSQL's own amcheck, where the extension is installed and we may use it."""
    usable = text("SELECT count(*) FROM pg_extension WHERE extname = 'amcheck'")
    if not connection.scalar(usable):
        return
    indexes = text(
        "SELECT c.oid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "JOIN pg_am a ON a.oid = c.relam JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE a.amname = 'btree' AND n.nspname = current_schema() AND i.indisvalid"
    )
    for name in connection.scalars(indexes).all():
        try:
            with connection.begin_nested():
                connection.execute(text("SELECT bt_index_check(:name)"), {"name": name})
        except DBAPIError as error:
            remedy = "run REINDEX on it, then `linewatch verify` again"
            yield Finding(f"the index {name} is damaged: {str(error.orig).strip()}", remedy)
