"""What must hold in every store beyond its foreign keys, each with what helps where it does not."""

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
)

from dashboard.domain.notification import NotificationState
from dashboard.domain.store_size import StoreKind
from dashboard.store.maintenance.finding import RESTORE, Finding
from dashboard.store.maintenance.raw_rows import read_table
from dashboard.store.rejections.lookup import record_of
from dashboard.store.rejections.save import version_digest
from dashboard.store.schema import (
    installation,
    leases,
    metadata,
    notifications,
    outbox,
    rejections,
    signed_transactions,
    store_growth,
    transitions,
)


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


class _Rule(NamedTuple):
    """What breaks the rule; `what` says so after their number."""

    what: str
    remedy: str
    wrong: _Broken


def _none(table: Table, *conditions: Any) -> _Broken:  # noqa: ANN401 - as SQLAlchemy's where takes them
    return _Broken(table, conditions)


_NAMED: Final = 3
"""Rows that are named of those that are wrong in the same way."""

_LAST_TOKEN: Final = select(func.max(installation.c.last_token)).scalar_subquery()
_IS_HANDED_IN: Final = exists().where(signed_transactions.c.tx_hash == rejections.c.tx_hash)

_RULES: Final = (
    _Rule(
        "changes of a condition that nobody will be told of: their outbox row is missing",
        RESTORE,
        _none(transitions, ~exists().where(outbox.c.transition_id == transitions.c.transition_id)),
    ),
    _Rule(
        "notifications that no outbox row stands for",
        RESTORE,
        _none(
            notifications, ~exists().where(outbox.c.transition_id == notifications.c.transition_id)
        ),
    ),
    _Rule(
        "notifications that are pending but have no time at which they are tried",
        RESTORE,
        _none(
            notifications,
            notifications.c.state == NotificationState.PENDING,
            notifications.c.next_attempt_at.is_(None),
        ),
    ),
    _Rule(
        "notifications that are marked as sent without a time",
        RESTORE,
        _none(
            notifications,
            notifications.c.state == NotificationState.SENT,
            notifications.c.sent_at.is_(None),
        ),
    ),
    _Rule(
        "notifications in a state that this version does not know",
        "upgrade Linewatch",
        _none(notifications, notifications.c.state.not_in([*NotificationState])),
    ),
    _Rule(
        "leases with a token ahead of all that were given: an old worker might pass for a new one",
        RESTORE,
        _none(leases, leases.c.token > _LAST_TOKEN),
    ),
    _Rule(
        "notifications claimed under a token ahead of all that were given",
        RESTORE,
        _none(notifications, notifications.c.claimed_by > _LAST_TOKEN),
    ),
    _Rule(
        "measurements of a kind of data that this version does not know",
        "upgrade Linewatch",
        _none(store_growth, store_growth.c.kind.not_in([each.value for each in StoreKind])),
    ),
    _Rule(
        "reports that are there in part: without the transaction, its reason or its overflows",
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
    """Tell every rule that does not hold, with how many rows break it, and the first of them."""
    owners = connection.scalar(_none(installation).how_many) or 0
    if owners != 1:
        yield Finding(f"the store has {owners} rows that say whose it is, not one", RESTORE)
    for rule in _RULES:
        yield from _told(connection, rule)
    for table in metadata.sorted_tables:
        for key in table.foreign_key_constraints:
            what = f"rows of {table.name} name a row of {key.referred_table.name} that is not there"
            yield from _told(connection, _Rule(what, RESTORE, _orphans(table, key)))


def _told(connection: Connection, rule: _Rule) -> Iterator[Finding]:
    if many := connection.scalar(rule.wrong.how_many) or 0:
        names = [column.name for column in rule.wrong.table.primary_key]
        first = (
            " ".join(f"{name} {value}" for name, value in zip(names, row, strict=True))
            for row in connection.execute(rule.wrong.keys)
        )
        listed = "; ".join([*first, *(["…"] if many > _NAMED else [])])
        yield Finding(f"{many:,} {rule.what} ({listed})", rule.remedy)


def changed_rejections(connection: Connection) -> Iterator[Finding]:
    """Digest every rejection anew, 100,000 a second, and tell how many say something else now."""
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
        what = f"{len(changed):,} rejections say something else than when they were kept"
        yield Finding(f"{what} (rejection_id {listed})", RESTORE)


def _digest_of(row: tuple[Any, ...]) -> bytes | None:
    """Digest a row anew; None where it says what no rejection can, such as an unknown stage."""
    try:
        return version_digest(record_of(row))
    except ValueError:
        return None


def _orphans(table: Table, key: ForeignKeyConstraint) -> _Broken:
    pairs = [(each.parent, each.column) for each in key.elements]
    is_there = exists().where(*(here == there for here, there in pairs))
    return _none(table, and_(*(here.is_not(None) for here, _ in pairs)), ~is_there)
