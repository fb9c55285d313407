"""How many rejections that a rule takes arrived within a time, by network and one dimension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, func, literal, literal_column, select

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rule import Dimension, RuleScope
from dashboard.domain.tags import tags_in
from dashboard.store.schema import rejections, tracked_hashes

MOST_READ: Final = 100_000
"""Rejections that are read at most, the latest ones; a rule counts to half of it."""

_COLUMNS: Final = {
    Dimension.MODULE: rejections.c.module,
    Dimension.STAGE: rejections.c.tx_rejection_stage,
    Dimension.SENDER: rejections.c.sender,
    Dimension.LABEL: tracked_hashes.c.label,
    Dimension.TAG: literal(""),
}


def count_arrivals(
    connection: Connection,
    scope: RuleScope,
    by: Dimension | None,
    since: datetime,
    until: datetime,
) -> Counter[tuple[NetworkId, str]]:
    """Count what arrived after `since` until `until`, by network and the value of a dimension."""
    latest = _arrivals(scope, by, (since, until)).limit(MOST_READ).subquery().c
    keys = (latest.network_id, latest.value, latest.tags)
    counted: Counter[tuple[NetworkId, str]] = Counter()
    for network_id, value, tags, many in connection.execute(
        select(*keys, func.count()).group_by(*keys)
    ):
        for each in _values(scope, by, value, tags):
            counted[network_id, each] += many
    return counted


def arrivals_of(
    connection: Connection,
    scope: RuleScope,
    by: Dimension | None,
    between: tuple[datetime, datetime],
    limit: int,
) -> Iterator[tuple[datetime, NetworkId, str]]:
    """Yield what arrived after the first moment until the second, one by one, the latest first."""
    for at, network_id, value, tags in connection.execute(
        _arrivals(scope, by, between).limit(limit)
    ):
        for each in _values(scope, by, value, tags):
            yield at, network_id, each


def _values(
    scope: RuleScope, by: Dimension | None, value: object, tags: str | None
) -> Iterable[str]:
    """Return what a rejection counts for: nothing where it lacks a tag, else often one value.

    A value that it does not have is empty. Of its tags it counts for each that the scope takes.
    """
    found = tags_in(tags or "")
    if scope.tags:
        found &= frozenset(scope.tags)
        if not found:
            return ()
    if by is Dimension.TAG:
        return found or ("",)
    return ("" if value is None else str(value),)


def _arrivals(
    scope: RuleScope, by: Dimension | None, between: tuple[datetime, datetime]
) -> Select[Any]:
    arrived, tracked = rejections.c.first_seen_at, tracked_hashes.c
    needs_tags = bool(scope.tags) or by is Dimension.TAG
    value = literal("") if by is None else _COLUMNS[by]
    query = select(
        arrived,
        rejections.c.network_id,
        value.label("value"),
        (tracked.tags if needs_tags else literal("")).label("tags"),
    ).where(arrived > between[0], arrived <= between[1], *scope_conditions(scope))
    is_joined = not scope.takes_all_reports or scope.labels or scope.tags
    if is_joined or by in {Dimension.LABEL, Dimension.TAG}:
        same = tracked.tx_hash == rejections.c.tx_hash
        query = query.select_from(rejections.join(tracked_hashes, same, isouter=not is_joined))
    return query.order_by(arrived.desc())


def scope_conditions(scope: RuleScope) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions on rows of rejections, and of tracked hashes where they are joined.

    Of tags, only that some are there: which ones, the caller looks at.
    """
    column = rejections.c
    for of_row, values in (
        (column.network_id, scope.networks),
        (column.module, scope.modules),
        (column.tx_rejection_stage, [each.value for each in scope.stages]),
        (column.sender, scope.senders),
        (tracked_hashes.c.label, scope.labels),
    ):
        if values:
            yield of_row.in_(values)
    if scope.tags:
        yield tracked_hashes.c.tags != literal_column("''")
