"""Poll groups: cohorts that are asked together, so that nulls for all of them are one row.

Only cohorts whose last question was answered, and of which no record and no block is known, join a
group. The group's row says when they were asked last; `polled_cohorts` reads it. A cohort leaves as
soon as its result differs. A group may join another one: then only its row changes, not its
cohorts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    Connection,
    LargeBinary,
    Select,
    func,
    insert,
    or_,
    select,
    type_coerce,
    update,
)

from dashboard.domain.quantity import NetworkId, TxHash, TxHashes
from dashboard.store.engine.batching import portions
from dashboard.store.schema import poll_groups, polled_cohorts, tracked_hashes, watched_cohorts
from dashboard.store.tracking.cohorts import Cohort

_ASKED_ID: Final = func.coalesce(poll_groups.c.within_id, poll_groups.c.group_id)
"""The group in which the cohorts of a group are asked."""


def read_groups(
    connection: Connection, network_id: NetworkId, group_ids: Sequence[int]
) -> list[Cohort]:
    """Read the hashes of groups, each as if it was one cohort with the id of the group."""
    hashes: defaultdict[int, list[bytes]] = defaultdict(list)
    columns = (_ASKED_ID, type_coerce(tracked_hashes.c.tx_hash, LargeBinary))
    for some in portions(group_ids):
        members = _members(network_id, some).with_only_columns(*columns)
        for group_id, tx_hash in connection.execute(members):
            hashes[group_id].append(tx_hash)
    return [
        Cohort(group_id, is_rejected=False, hashes=TxHashes(b"".join(some)))
        for group_id, some in hashes.items()
    ]


def changed_members(
    connection: Connection, network_id: NetworkId, group_ids: Sequence[int]
) -> list[TxHash]:
    """Return hashes of groups that are rejected or included since, or whose look-up has failed."""
    watched = watched_cohorts.c
    is_included = watched.included_at.is_not(None)
    is_changed = or_(watched.failing_since.is_not(None), watched.is_rejected, is_included)
    queries = (_members(network_id, some).where(is_changed) for some in portions(group_ids))
    return [tx_hash for query in queries for _, tx_hash in connection.execute(query)]


def leave_groups(connection: Connection, network_id: NetworkId, cohort_ids: Sequence[int]) -> None:
    """Let cohorts be asked alone, with the results that they had in their groups."""
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
    """Let groups and cohorts be one group, all of which was asked at `asked_at`; return its id."""
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
    """Write down that all cohorts of groups were answered null: one row for each group."""
    for some in portions(group_ids):
        of_groups = update(poll_groups).where(poll_groups.c.group_id.in_(some))
        connection.execute(of_groups.values(asked_at=asked_at))


def _insert_group(connection: Connection, asked_at: datetime) -> int:
    row = insert(poll_groups).values(asked_at=asked_at).returning(poll_groups.c.group_id)
    group_id: int = connection.execute(row).scalar_one()
    return group_id


def _members(network_id: NetworkId, group_ids: Sequence[int]) -> Select[Any]:
    """Select the hashes of groups, each with the group in which it is asked."""
    column, watched, tracked = poll_groups.c, watched_cohorts.c, tracked_hashes.c
    return (
        select(_ASKED_ID, tracked.tx_hash)
        .join_from(poll_groups, watched_cohorts, watched.group_id == column.group_id)
        .join(tracked_hashes, tracked.cohort_id == watched.cohort_id)
        .where(or_(column.group_id.in_(group_ids), column.within_id.in_(group_ids)))
        .where(watched.network_id == network_id)
    )
