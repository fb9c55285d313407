"""Rejections as rules see them: how many arrived in a period, now and in the past."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    exists,
    func,
    literal,
    literal_column,
    select,
)

from dashboard.domain.alerts.condition import State, Subject, Transition
from dashboard.domain.alerts.kinds.kind import Dimension
from dashboard.domain.alerts.rule import ObservedChange, RuleScope
from dashboard.domain.quantity import NetworkId
from dashboard.domain.tracking.remarks import tags_in
from dashboard.store.schema import rejections, tracked_hashes
from dashboard.store.schema.rejections import stored_rejection

MOST_READ: Final = 100_000
"""How many rejections are read at most, the latest ones; a rule counts to half of it."""

_COLUMNS: Final = {
    Dimension.MODULE: rejections.c.module,
    Dimension.STAGE: rejections.c.tx_rejection_stage,
    Dimension.SENDER: rejections.c.sender,
    Dimension.LABEL: tracked_hashes.c.label,
    Dimension.TAG: literal(""),
}


def count_arrivals(
    connection: Connection, scope: RuleScope, by: Dimension | None, since: datetime, until: datetime
) -> Counter[tuple[NetworkId, str]]:
    """Count what arrived after `since` until `until`, by network and the value of a dimension."""
    latest = _arrivals(scope, by, since, until).limit(MOST_READ).subquery().c
    keys = (latest.network_id, latest.value, latest.tags)
    counted: Counter[tuple[NetworkId, str]] = Counter()
    for network_id, value, tags, many in connection.execute(
        select(*keys, func.count()).group_by(*keys)
    ):
        for each in _values(scope, by, value, tags):
            counted[network_id, each] += many
    return counted


def _values(
    scope: RuleScope, by: Dimension | None, value: object, tags: str | None
) -> Iterable[str]:
    """Return the values that a rejection counts for: none if it lacks a tag, else often one.

    A missing value is empty. Of its tags it counts for each that the scope includes.
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
    scope: RuleScope, by: Dimension | None, since: datetime, until: datetime
) -> Select[Any]:
    """Select what arrived after a moment until another, the latest first."""
    arrived, tracked = rejections.c.first_seen_at, tracked_hashes.c
    needs_tags = bool(scope.tags) or by is Dimension.TAG
    value = literal("") if by is None else _COLUMNS[by]
    query = select(
        arrived,
        rejections.c.network_id,
        value.label("value"),
        (tracked.tags if needs_tags else literal("")).label("tags"),
    ).where(arrived > since, arrived <= until, *scope_conditions(scope))
    is_joined = not scope.takes_all_reports or scope.labels or scope.tags
    if is_joined or by in {Dimension.LABEL, Dimension.TAG}:
        same = tracked.tx_hash == rejections.c.tx_hash
        query = query.select_from(rejections.join(tracked_hashes, same, isouter=not is_joined))
    return query.order_by(arrived.desc())


def scope_conditions(scope: RuleScope) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions on rows of rejections, and of tracked hashes where they are joined.

    For tags, only that there are some: the caller checks which ones.
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


MOST_CHANGES: Final = 20_000
"""How many versions are read at most, the latest ones: a second of work."""

MOST_ARRIVALS: Final = 200_000
"""How many arrivals are read at most for a rate, the latest ones: a second of work as well."""


def past_rejections(
    connection: Connection, scope: RuleScope, since: datetime, until: datetime
) -> list[ObservedChange]:
    """Return versions of a period that may match a scope, oldest first, at most `MOST_CHANGES`."""
    column, earlier = rejections.c, rejections.alias("earlier")
    is_changed = exists().where(
        earlier.c.tx_hash == column.tx_hash,
        earlier.c.network_id == column.network_id,
        earlier.c.rejection_id < column.rejection_id,
    )
    same = tracked_hashes.c.tx_hash == column.tx_hash
    query = (
        select(rejections, *tracked_hashes.c["tracked_id", "label", "tags"])
        .add_columns(is_changed.label("is_changed"))
        .select_from(rejections.join(tracked_hashes, same, isouter=scope.takes_all_reports))
        .where(column.first_seen_at > since, column.first_seen_at <= until)
        .where(*scope_conditions(scope))
        .order_by(column.first_seen_at.desc(), column.rejection_id.desc())
        .limit(MOST_CHANGES)
    )
    return [_change(row) for row in connection.execute(query).mappings()][::-1]


def past_arrivals(
    connection: Connection, scope: RuleScope, by: Dimension | None, since: datetime, until: datetime
) -> list[tuple[datetime, NetworkId, str]]:
    """Return the arrivals in a scope, each with the value of a dimension; oldest first.

    At most `MOST_ARRIVALS`.
    """
    latest = _arrivals(scope, by, since, until).limit(MOST_ARRIVALS)
    return [
        (at, network_id, each)
        for at, network_id, value, tags in connection.execute(latest)
        for each in _values(scope, by, value, tags)
    ][::-1]


def _change(row: RowMapping) -> ObservedChange:
    rejection = stored_rejection(row)
    before = State.REJECTED if row["is_changed"] else None
    subject = Subject.transaction(rejection.network_id, rejection.record.tx_hash)
    seen = Transition(
        UUID(int=rejection.rejection_id), subject, before, State.REJECTED, rejection.first_seen_at
    )
    tracked = tracked_hashes.c
    is_tracked = row[tracked.tracked_id] is not None
    return ObservedChange(
        seen, rejection, row[tracked.label] or "", tags_in(row[tracked.tags] or ""), is_tracked
    )
