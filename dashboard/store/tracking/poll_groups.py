"""Poll groups: cohorts that are asked together, so that nulls for all of them are one row.

Only cohorts whose last question was answered, and of which no record and no block is known, join a
group. The group's row says when they were last asked; `polled_cohorts` reads it. A cohort leaves as
soon as its result differs. A group may join another one: then only its row changes, not its
cohorts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import (
    BindParameter,
    Connection,
    LargeBinary,
    bindparam,
    func,
    insert,
    or_,
    select,
    type_coerce,
    update,
)

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.engine.batching import portions
from dashboard.store.schema import (
    cohorts,
    poll_groups,
    polled_cohorts,
    tracked_hashes,
    watched_cohorts,
)
from dashboard.store.tracking.cohorts import Cohort, KnownHashes

_COLUMN: Final = poll_groups.c
_WATCHED: Final = watched_cohorts.c
_ASKED_ID: Final = func.coalesce(_COLUMN.within_id, _COLUMN.group_id)
"""The group in which the cohorts of a group are asked."""

_SOME: Final[BindParameter[int]] = bindparam("some", expanding=True)
_IN_GROUPS: Final = (
    select(_ASKED_ID)
    .join_from(poll_groups, watched_cohorts, _WATCHED.group_id == _COLUMN.group_id)
    .where(or_(_COLUMN.group_id.in_(_SOME), _COLUMN.within_id.in_(_SOME)))
    .where(_WATCHED.network_id == bindparam("of_network"))
)
_SIZES: Final = (
    _IN_GROUPS.add_columns(func.sum(cohorts.c.size))
    .join(cohorts, cohorts.c.cohort_id == _WATCHED.cohort_id)
    .group_by(_ASKED_ID)
)
_MEMBERS: Final = _IN_GROUPS.add_columns(type_coerce(tracked_hashes.c.tx_hash, LargeBinary)).join(
    tracked_hashes, tracked_hashes.c.cohort_id == _WATCHED.cohort_id
)
_CHANGED: Final = (
    _IN_GROUPS.with_only_columns(tracked_hashes.c.tx_hash)
    .join(tracked_hashes, tracked_hashes.c.cohort_id == _WATCHED.cohort_id)
    .where(
        or_(
            _WATCHED.failing_since.is_not(None),
            _WATCHED.is_rejected,
            _WATCHED.included_at.is_not(None),
        )
    )
)
_NULLS: Final = (
    update(poll_groups).where(_COLUMN.group_id.in_(_SOME)).values(asked_at=bindparam("at"))
)


def read_groups(
    connection: Connection, network_id: NetworkId, group_ids: Sequence[int], known: KnownHashes
) -> list[Cohort]:
    """Read the hashes of groups, each group as if it were one cohort with its id."""
    sizes: dict[int, int] = {}
    for some in portions(group_ids):
        rows = connection.execute(_SIZES, {"some": some, "of_network": network_id})
        sizes |= {group_id: int(size) for group_id, size in rows}
    hashes = known.read(connection, sizes, _MEMBERS, of_network=network_id)
    return [Cohort(each, is_rejected=False, hashes=some) for each, some in hashes.items()]


def changed_members(
    connection: Connection, network_id: NetworkId, group_ids: Sequence[int]
) -> list[TxHash]:
    """Return hashes of groups that were rejected or included since, or whose look-up has failed."""
    return [
        tx_hash
        for some in portions(group_ids)
        for tx_hash in connection.scalars(_CHANGED, {"some": some, "of_network": network_id})
    ]


def leave_groups(connection: Connection, network_id: NetworkId, cohort_ids: Sequence[int]) -> None:
    """Ask cohorts alone from now on, with the results that they had in their groups."""
    column, told = watched_cohorts.c, polled_cohorts.c
    is_same = (told.cohort_id == column.cohort_id, told.network_id == column.network_id)
    kept = {
        name: select(told[name]).where(*is_same).scalar_subquery()
        for name in ("last_asked_at", "last_answered_at")
    }
    for some in portions(cohort_ids):
        of_cohorts = update(watched_cohorts).where(column.cohort_id.in_(some))
        grouped = of_cohorts.where(column.network_id == network_id, column.group_id.is_not(None))
        connection.execute(grouped.values(**kept, group_id=None))


def join_groups(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    group_ids: Sequence[int],
    cohort_ids: Sequence[int],
) -> int:
    """Merge groups and cohorts, all asked at `asked_at`, into one group; return its id."""
    group_id, *joining = group_ids or [_insert_group(connection, asked_at)]
    column = poll_groups.c
    for some in portions(joining):
        of_joining = or_(column.group_id.in_(some), column.within_id.in_(some))
        connection.execute(update(poll_groups).where(of_joining).values(within_id=group_id))
    watched = watched_cohorts.c
    for some in portions(cohort_ids):
        of_cohorts = update(watched_cohorts).where(watched.cohort_id.in_(some))
        of_network = of_cohorts.where(watched.network_id == network_id)
        connection.execute(of_network.values(group_id=group_id))
    return group_id


def record_nulls(connection: Connection, asked_at: datetime, group_ids: Sequence[int]) -> None:
    """Record that all cohorts of groups were answered null: one row for each group."""
    for some in portions(group_ids):
        connection.execute(_NULLS, {"some": some, "at": asked_at})


def _insert_group(connection: Connection, asked_at: datetime) -> int:
    row = insert(poll_groups).values(asked_at=asked_at).returning(poll_groups.c.group_id)
    group_id: int = connection.execute(row).scalar_one()
    return group_id
