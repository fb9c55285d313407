"""Verify that a store is intact: its pages, its references, the outbox, and derived data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    ForeignKeyConstraint,
    Table,
    and_,
    exists,
    func,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError

from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.notification import NotificationState
from dashboard.store.engine.disk import raise_if_unread
from dashboard.store.maintenance.copy import read_table
from dashboard.store.maintenance.findings import RESTORE, Finding
from dashboard.store.maintenance.rebuild import Progress, no_report, unreadable, wrong_derived
from dashboard.store.rejections.known_hashes import RECORD_COLUMNS, record_of
from dashboard.store.rejections.save import version_digest
from dashboard.store.schema import (
    incidents,
    metadata,
    notification_members,
    notifications,
    outbox,
    rejections,
    transitions,
)
from dashboard.store.schema.access import trigger_names

__all__ = ["Finding", "broken_pages", "count_rows", "verify"]

_MOST_COMPLAINTS: Final = 20


def verify(
    connection: Connection, *, is_quick: bool = False, report: Progress = no_report
) -> Iterator[Finding]:
    """Yield what is wrong; data that depends on broken pages or unreadable values is not checked.

    `is_quick` leaves out the slowest checks: each index entry with its row, each value, derived
    data, each rejection with its digest. `report` is called with the name of the next check.
    """
    report("pages")
    broken = list(broken_pages(connection, is_quick=is_quick))
    if not broken and not is_quick:
        broken = list(unreadable(connection, report))
    yield from broken
    if broken:
        return
    report("references and the outbox")
    yield from broken_references(connection)
    if not is_quick:
        yield from wrong_derived(connection, report)
        report("digests of rejections")
        yield from changed_rejections(connection)
        yield from unguarded_log(connection)


_TRIGGERS_IN_FORCE: Final = {
    "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'trigger'",
    "postgresql": (
        "SELECT tgname FROM pg_trigger WHERE tgenabled IN ('O', 'A') AND tgrelid IN "
        "('audit_log'::regclass, 'installation'::regclass)"
    ),
}


def unguarded_log(connection: Connection) -> Iterator[Finding]:
    """Yield the triggers of the audit log that are missing, or that its owner disabled."""
    dialect = connection.dialect.name
    found = set(connection.scalars(text(_TRIGGERS_IN_FORCE[dialect])))
    for name in sorted(trigger_names(dialect) - found):
        yield Finding(
            f"the trigger {name} of the audit log is missing or disabled, so that actions could "
            "be changed or deleted unseen",
            "find out who did that; enable it as the owner of the table, or restore a backup",
        )


def count_rows(connection: Connection) -> dict[str, int]:
    return {
        table.name: connection.scalar(select(func.count()).select_from(table)) or 0
        for table in metadata.sorted_tables
    }


def broken_pages(connection: Connection, *, is_quick: bool) -> Iterator[Finding]:
    """Yield what the database itself finds wrong.

    Raises the driver's error if the disk cannot read a page, which says nothing about its content.
    """
    if connection.dialect.name == "sqlite":
        name = "quick_check" if is_quick else "integrity_check"
        check = text(f"PRAGMA {name}({_MOST_COMPLAINTS})")
        lines = (" ".join(str(each).split()) for each in connection.scalars(check))
        complaints = [each for each in lines if each != "ok"]
        for each in complaints:
            raise_if_unread(each)
            yield Finding(f"its pages are damaged: {each}", RESTORE)
        return
    yield from _broken_indexes(connection)


def _broken_indexes(connection: Connection) -> Iterator[Finding]:
    """Ask PostgreSQL's amcheck, if the extension is installed and we may use it."""
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


_NAMED: Final = 3
"""How many rows are named of those that are wrong in the same way."""

_IS_PENDING: Final = notifications.c.state == NotificationState.PENDING
_UNHEARD: Final = (
    (
        "changes of a condition without an outbox row, of which nobody is notified",
        transitions,
        ~exists().where(outbox.c.transition_id == transitions.c.transition_id),
    ),
    (
        "notifications without an outbox row",
        notifications,
        ~exists().where(outbox.c.transition_id == notifications.c.transition_id),
    ),
    (
        "notifications that are pending but have no time at which they are tried",
        notifications,
        and_(_IS_PENDING, notifications.c.next_attempt_at.is_(None)),
    ),
    (
        "incidents that are pending but have no time at which they fire",
        incidents,
        and_(incidents.c.state == IncidentState.PENDING, incidents.c.next_at.is_(None)),
    ),
    (
        "changes that were withheld from a recipient without a reason",
        notification_members,
        and_(notification_members.c.notification_id.is_(None), notification_members.c.reason == ""),
    ),
)
"""Changes that somebody should hear of, and would not: their description, and which rows they are.
"""


def broken_references(connection: Connection) -> Iterator[Finding]:
    """Yield changes that would notify nobody, and rows that refer to a missing one."""
    for what, table, is_unheard in _UNHEARD:
        yield from _wrong_rows(connection, what, table, is_unheard)
    for table in metadata.sorted_tables:
        for key in table.foreign_key_constraints:
            what = f"rows of {table.name} refer to a missing row of {key.referred_table.name}"
            yield from _wrong_rows(connection, what, table, _is_orphan(key))


def _wrong_rows(
    connection: Connection, what: str, table: Table, is_wrong: ColumnElement[bool]
) -> Iterator[Finding]:
    """Say how many rows are wrong, and name the first of them."""
    many = connection.scalar(select(func.count()).select_from(table).where(is_wrong))
    if many:
        keys = table.primary_key.columns
        first = (
            " ".join(f"{name} {value}" for name, value in zip(keys.keys(), row, strict=True))
            for row in connection.execute(
                select(*keys).where(is_wrong).order_by(*keys).limit(_NAMED)
            )
        )
        listed = "; ".join([*first, *(["…"] if many > _NAMED else [])])
        yield Finding(f"{what}: {many:,} ({listed})", RESTORE)


def _is_orphan(key: ForeignKeyConstraint) -> ColumnElement[bool]:
    pairs = [(each.parent, each.column) for each in key.elements]
    is_there = exists().where(*(here == there for here, there in pairs))
    return and_(*(here.is_not(None) for here, _ in pairs), ~is_there)


def changed_rejections(connection: Connection) -> Iterator[Finding]:
    """Compare every rejection with its digest, 100,000 a second, and yield how many differ."""
    columns = [rejections.c[name] for name in (*RECORD_COLUMNS, "version_digest")]
    changed = [
        row[2]
        for rows in read_table(connection, rejections, columns)
        for row in rows
        if row[-1] != _digest_of(row[:-1])
    ]
    if changed:
        listed = ", ".join([*map(str, changed[:_NAMED]), *(["…"] if changed[_NAMED:] else [])])
        what = f"rejections that differ from what was saved: {len(changed):,}"
        yield Finding(f"{what} (rejection_id {listed})", RESTORE)


def _digest_of(row: tuple[Any, ...]) -> bytes | None:
    """Compute the digest of a row; None if it has a value that no rejection can have."""
    try:
        return version_digest(record_of(row))
    except ValueError:
        return None
