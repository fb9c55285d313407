"""How the old rows of a table are found and deleted: by their time, by their key, by series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Row,
    Table,
    bindparam,
    delete,
    exists,
    select,
    type_coerce,
)

from dashboard.domain.fees.gas import RollupLevel
from dashboard.domain.people.access import Action
from dashboard.store.access.audit_log import allow_purge_before
from dashboard.store.engine.batching import PORTION, after_row
from dashboard.store.schema import (
    api_key_credentials,
    api_key_uses,
    audit_log,
    checks,
    endpoint_statements,
    fee_rollups,
    follow_ups,
    poll_groups,
    rejections,
    tracked_hashes,
    watched_cohorts,
)
from dashboard.store.schema.columns import Moment

Rows: TypeAlias = Sequence[Any]

_BEFORE: Final = bindparam("before", type_=Moment)

_USES_STAY: Final = 400 * 86_400_000
"""How many milliseconds longer the use counts of a key stay that is neither in the store nor, as it
seems, in settings."""


class OldRows(NamedTuple):
    """How old rows of one kind are found, and deleted with everything that belongs to them.

    `find` returns some rows from before a time that come after the last one found; `delete` deletes
    those that may still be purged, and returns how many.
    """

    find: Callable[[Connection, datetime, Row[Any] | None], Rows]
    delete: Callable[[Connection, Rows, datetime], int]


def rows_by_time(*dated: Column[Any]) -> OldRows:
    """Delete rows once all these times are past; the first column begins an index."""
    first, *_ = dated
    others = (each for each in first.table.primary_key if each is not first)
    return _rows([first, *others], [each < _BEFORE for each in dated])


def rows_by_key(table: Table, *conditions: ColumnElement[bool]) -> OldRows:
    """Delete rows that meet conditions, in the order of their key: no index begins with a time."""
    return _rows(list(table.primary_key), conditions)


def _rows(order: Sequence[Column[Any]], conditions: Sequence[ColumnElement[bool]]) -> OldRows:
    table = order[0].table
    keys = {f"{each.name}_found": each.name for each in table.primary_key}
    is_found = [table.c[name] == bindparam(found) for found, name in keys.items()]

    def find(connection: Connection, before: datetime, after: Row[Any] | None) -> Rows:
        query = select(*order).where(*conditions, *after_row(order, after)).order_by(*order)
        return connection.execute(query.limit(PORTION), {"before": before}).all()

    def remove(connection: Connection, found: Rows, before: datetime) -> int:
        statement = delete(table).where(*is_found, *conditions)
        named = [{key: getattr(row, name) for key, name in keys.items()} for row in found]
        return connection.execute(statement, [{"before": before} | row for row in named]).rowcount

    return OldRows(find, remove)


def fee_series(table: Table) -> OldRows:
    """Delete old fees, one series after another: the last column of their primary key is the time.

    One index lookup finds the next series: a table of fees is never scanned.
    """
    *within, last = table.primary_key
    dated = type_coerce(last, Moment)

    def find(connection: Connection, before: datetime, after: Row[Any] | None) -> Rows:
        series = following(connection, None) if after is None else after[:-1]
        found: Rows = []
        while series is not None and not found:
            found = oldest(connection, series, before)
            series = following(connection, series)
        return found

    def oldest(connection: Connection, series: Sequence[Any], before: datetime) -> Rows:
        if table is fee_rollups and series[-1] != RollupLevel.MINUTE:
            return []
        query = select(*within, last).where(*_equal(within, series), dated < before)
        return connection.execute(query.order_by(last).limit(PORTION)).all()

    def following(connection: Connection, series: Sequence[Any] | None) -> Sequence[Any] | None:
        query = select(*within).where(*after_row(within, series)).order_by(*within).limit(1)
        return connection.execute(query).one_or_none()

    def remove(connection: Connection, found: Rows, before: datetime) -> int:
        in_series = _equal(within, found[0][:-1])
        in_time = last.between(found[0][-1], found[-1][-1])
        statement = delete(table).where(*in_series, in_time, dated < before)
        return connection.execute(statement).rowcount

    return OldRows(find, remove)


def _equal(columns: Sequence[Column[Any]], values: Sequence[Any]) -> list[ColumnElement[bool]]:
    return [column == value for column, value in zip(columns, values, strict=True)]


def _is_untracked(table: Table) -> ColumnElement[bool]:
    tracked, watched = tracked_hashes.c, watched_cohorts.c
    return ~exists().where(
        tracked.tx_hash == table.c.tx_hash,
        watched.cohort_id == tracked.cohort_id,
        watched.network_id == table.c.network_id,
    )


ANSWERS: Final = rows_by_key(checks, checks.c.last_asked_at < _BEFORE, _is_untracked(checks))

STATEMENTS: Final = rows_by_key(
    endpoint_statements,
    endpoint_statements.c.last_said_at < _BEFORE,
    _is_untracked(endpoint_statements),
    ~exists().where(rejections.c.tx_hash == endpoint_statements.c.tx_hash),
)

_WITHIN: Final = poll_groups.alias()

POLL_GROUPS: Final = rows_by_key(
    poll_groups,
    poll_groups.c.asked_at < _BEFORE,
    ~exists().where(watched_cohorts.c.group_id == poll_groups.c.group_id),
    ~exists().where(_WITHIN.c.within_id == poll_groups.c.group_id),
)

FOLLOW_UPS: Final = rows_by_key(
    follow_ups,
    follow_ups.c.last_asked_at < _BEFORE,
    _is_untracked(follow_ups),
    ~exists().where(rejections.c.tx_hash == follow_ups.c.tx_hash),
)

USES_OF_KEYS: Final = rows_by_key(
    api_key_uses,
    type_coerce(api_key_uses.c.last_used_at, BigInteger) + _USES_STAY < _BEFORE,
    api_key_uses.c.key_digest.not_in(select(api_key_credentials.c.key_digest)),
)

_ACTIONS: Final = _rows(
    [audit_log.c.at, audit_log.c.audit_id],
    [audit_log.c.at < _BEFORE, audit_log.c.action != Action.PURGE.value],
)


def _delete_actions(connection: Connection, found: Rows, before: datetime) -> int:
    """Delete actions: a trigger refuses that until it is allowed, and logs it for good."""
    allow_purge_before(connection, before)
    return _ACTIONS.delete(connection, found, before)


AUDIT_LOG: Final = OldRows(_ACTIONS.find, _delete_actions)
