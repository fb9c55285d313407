"""Verify that a store is whole: its pages, its references, and what must hold beyond them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    Connection,
    ForeignKeyConstraint,
    Select,
    Table,
    and_,
    exists,
    func,
    or_,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError

from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.health.retention import StoreKind
from dashboard.store.engine.disk import raise_if_unread
from dashboard.store.maintenance.copy import read_table
from dashboard.store.maintenance.finding import RESTORE, Finding
from dashboard.store.maintenance.rebuild import Progress, no_report, unreadable, wrong_derived
from dashboard.store.rejections.known_hashes import record_of
from dashboard.store.rejections.save import version_digest
from dashboard.store.schema import (
    incidents,
    installation,
    leases,
    metadata,
    notification_members,
    notifications,
    outbox,
    rejections,
    signed_transactions,
    store_growth,
    transitions,
)

__all__ = ["Finding", "broken_pages", "count_rows", "verify"]

_MOST_COMPLAINTS: Final = 20


def verify(
    connection: Connection, *, is_quick: bool = False, report: Progress = no_report
) -> Iterator[Finding]:
    """Yield what is wrong; what rests on broken pages, or on unreadable values, is not looked at.

    `is_quick` spares what takes longest: each index entry with its row, each value, what is derived
    from other data, each rejection with its digest. `report` is called with what is looked at next.
    """
    report("pages")
    broken = list(broken_pages(connection, is_quick=is_quick))
    if not broken and not is_quick:
        broken = list(unreadable(connection, report))
    yield from broken
    if broken:
        return
    report("references and rules")
    yield from broken_rules(connection)
    if not is_quick:
        yield from wrong_derived(connection, report)
        report("digests of rejections")
        yield from changed_rejections(connection)


def count_rows(connection: Connection) -> dict[str, int]:
    """Count the rows of every table."""
    return {
        table.name: connection.scalar(select(func.count()).select_from(table)) or 0
        for table in metadata.sorted_tables
    }


def broken_pages(connection: Connection, *, is_quick: bool) -> Iterator[Finding]:
    """Yield what the database itself finds wrong.

    The driver's error if the disk does not give a page: that says nothing of what is on it.
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


class _Broken(NamedTuple):
    """The rows of a table that break a rule."""

    table: Table
    conditions: tuple[Any, ...]

    @property
    def how_many(self) -> Select[Any]:
        """How many there are."""
        return select(func.count()).select_from(self.table).where(*self.conditions)

    @property
    def keys(self) -> Select[Any]:
        """The keys of the first of them."""
        query = select(*self.table.primary_key).where(*self.conditions)
        return query.order_by(*self.table.primary_key).limit(_NAMED)


class _Invariant(NamedTuple):
    """What breaks an invariant; `what` says so after their number."""

    what: str
    remedy: str
    wrong: _Broken


def _none(table: Table, *conditions: Any) -> _Broken:  # noqa: ANN401 - as SQLAlchemy's where takes them
    return _Broken(table, conditions)


_NAMED: Final = 3
"""Rows that are named of those that are wrong in the same way."""

_LAST_TOKEN: Final = select(func.max(installation.c.last_token)).scalar_subquery()
_IS_HANDED_IN: Final = exists().where(signed_transactions.c.tx_hash == rejections.c.tx_hash)
_IS_OVER: Final = incidents.c.state == IncidentState.RESOLVED

_INVARIANTS: Final = (
    _Invariant(
        "changes of a condition without an outbox row, of which nobody is notified",
        RESTORE,
        _none(transitions, ~exists().where(outbox.c.transition_id == transitions.c.transition_id)),
    ),
    _Invariant(
        "notifications without an outbox row",
        RESTORE,
        _none(
            notifications, ~exists().where(outbox.c.transition_id == notifications.c.transition_id)
        ),
    ),
    _Invariant(
        "notifications that are pending but have no time at which they are tried",
        RESTORE,
        _none(
            notifications,
            notifications.c.state == NotificationState.PENDING,
            notifications.c.next_attempt_at.is_(None),
        ),
    ),
    _Invariant(
        "notifications that are marked as sent without a time",
        RESTORE,
        _none(
            notifications,
            notifications.c.state == NotificationState.SENT,
            notifications.c.sent_at.is_(None),
        ),
    ),
    _Invariant(
        "notifications in a state that this version does not know",
        "upgrade Linewatch",
        _none(notifications, notifications.c.state.not_in([*NotificationState])),
    ),
    _Invariant(
        "incidents in a state that this version does not know",
        "upgrade Linewatch",
        _none(incidents, incidents.c.state.not_in([*IncidentState])),
    ),
    _Invariant(
        "incidents that are pending but have no time at which they fire",
        RESTORE,
        _none(incidents, incidents.c.state == IncidentState.PENDING, incidents.c.next_at.is_(None)),
    ),
    _Invariant(
        "incidents that are marked both as open and as resolved",
        RESTORE,
        _none(
            incidents,
            or_(
                and_(incidents.c.open_key.is_not(None), _IS_OVER),
                and_(incidents.c.open_key.is_(None), ~_IS_OVER),
            ),
        ),
    ),
    _Invariant(
        "changes that were withheld from a recipient without a reason",
        RESTORE,
        _none(
            notification_members,
            notification_members.c.notification_id.is_(None),
            notification_members.c.reason == "",
        ),
    ),
    _Invariant(
        "leases with a token that was never given, so that an old worker could pass as a new one",
        RESTORE,
        _none(leases, leases.c.token > _LAST_TOKEN),
    ),
    _Invariant(
        "notifications claimed under a token that was never given",
        RESTORE,
        _none(notifications, notifications.c.claimed_by > _LAST_TOKEN),
    ),
    _Invariant(
        "measurements of a kind of data that this version does not know",
        "upgrade Linewatch",
        _none(store_growth, store_growth.c.kind.not_in([each.value for each in StoreKind])),
    ),
    _Invariant(
        "reports without their transaction, reason or overflows",
        RESTORE,
        _none(
            rejections,
            rejections.c.reported_at.is_not(None),
            or_(
                rejections.c.reported_reason_digest.is_(None),
                rejections.c.overflows.is_(None),
                ~_IS_HANDED_IN,
            ),
        ),
    ),
)


def broken_rules(connection: Connection) -> Iterator[Finding]:
    """Yield every rule that does not hold, with how many rows break it, and the first of them."""
    owners = connection.scalar(_none(installation).how_many) or 0
    if owners != 1:
        yield Finding(f"the table installation has {owners} rows instead of one", RESTORE)
    for rule in _INVARIANTS:
        yield from _findings_of(connection, rule)
    for table in metadata.sorted_tables:
        for key in table.foreign_key_constraints:
            what = f"rows of {table.name} refer to a missing row of {key.referred_table.name}"
            yield from _findings_of(connection, _Invariant(what, RESTORE, _orphans(table, key)))


def _findings_of(connection: Connection, rule: _Invariant) -> Iterator[Finding]:
    if many := connection.scalar(rule.wrong.how_many) or 0:
        names = [column.name for column in rule.wrong.table.primary_key]
        first = (
            " ".join(f"{name} {value}" for name, value in zip(names, row, strict=True))
            for row in connection.execute(rule.wrong.keys)
        )
        listed = "; ".join([*first, *(["…"] if many > _NAMED else [])])
        yield Finding(f"{rule.what}: {many:,} ({listed})", rule.remedy)


def changed_rejections(connection: Connection) -> Iterator[Finding]:
    """Compare every rejection with its digest, 100,000 a second, and yield how many differ."""
    column = rejections.c
    columns = (
        column.network_id,
        column.timestamp,
        column.rejection_id,
        column.tx_hash,
        column.sender,
        column.nonce,
        column.tx_rejection_stage,
        column.reason_message,
        column.block_number,
        column.version_digest,
    )
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
    """Compute the digest of a row; None where it says what no rejection can."""
    try:
        return version_digest(record_of(row))
    except ValueError:
        return None


def _orphans(table: Table, key: ForeignKeyConstraint) -> _Broken:
    pairs = [(each.parent, each.column) for each in key.elements]
    is_there = exists().where(*(here == there for here, there in pairs))
    return _none(table, and_(*(here.is_not(None) for here, _ in pairs)), ~is_there)
