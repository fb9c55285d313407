"""What cohorts derive: how many hashes they have, and whether records of all of them are held."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    Connection,
    Select,
    delete,
    exists,
    func,
    or_,
    select,
    update,
)

from dashboard.domain.quantity import TxHash
from dashboard.store.maintenance.finding import Finding, first_of, rebuildable
from dashboard.store.schema import cohorts, rejections, tracked_hashes, watched_cohorts
from dashboard.store.tracking.cohorts import split_cohort

_COUNTED: Final = (
    select(func.count())
    .where(tracked_hashes.c.cohort_id == cohorts.c.cohort_id)
    .scalar_subquery()
    .label("counted")
)
_HAS_RECORD: Final = exists().where(rejections.c.tx_hash == tracked_hashes.c.tx_hash)
_HAS_RECORD_THERE: Final = exists().where(
    rejections.c.tx_hash == tracked_hashes.c.tx_hash,
    rejections.c.network_id == watched_cohorts.c.network_id,
)


class _Marks(NamedTuple):
    """Whether a record is held, and of which of the watched networks."""

    is_rejected: bool
    networks: frozenset[int]


def wrong_cohorts(connection: Connection) -> Iterator[Finding]:
    """Yield which cohorts are wrong; a million hashes take some seconds."""
    sizes = (
        rebuildable(
            f"the cohort {row.cohort_id} has {row.counted:,} hashes, and its size says {row.size:,}"
        )
        for row in connection.execute(_miscounted())
    )
    yield from first_of(sizes, "cohorts of tracked hashes with a wrong size")
    for query, where in (
        (_mismarked(), "on the network {row.network_id}"),
        (_misknown(), "on any network"),
    ):
        wrong = (
            rebuildable(
                f"the cohort {row.cohort_id} has {row.tx_hash} as "
                f"{'' if row.is_rejected else 'not '}rejected {where.format(row=row)}, and "
                f"{'no' if row.is_rejected else 'a'} record is stored"
            )
            for row in connection.execute(query)
        )
        yield from first_of(wrong, "tracked hashes whose cohort is wrong about their rejections")


def rebuild_cohorts(connection: Connection) -> None:
    """Count cohorts again, then split those whose hashes have records of different networks."""
    for row in connection.execute(_miscounted()).all():
        of_cohort = cohorts.c.cohort_id == row.cohort_id
        if row.counted:
            connection.execute(update(cohorts).where(of_cohort).values(size=row.counted))
        else:
            of_watched = watched_cohorts.c.cohort_id == row.cohort_id
            connection.execute(delete(watched_cohorts).where(of_watched))
            connection.execute(delete(cohorts).where(of_cohort))
    for query in (_mismarked(), _misknown()):
        for cohort_id in sorted({row.cohort_id for row in connection.execute(query)}):
            _mark(connection, cohort_id)


def _mark(connection: Connection, cohort_id: int) -> None:
    """Let the hashes of a cohort stay together only if the same networks hold records."""
    column = tracked_hashes.c
    query = select(column.tx_hash, rejections.c.network_id).distinct()
    query = query.join_from(
        tracked_hashes, rejections, rejections.c.tx_hash == column.tx_hash, isouter=True
    )
    networks: defaultdict[TxHash, set[int]] = defaultdict(set)
    for tx_hash, network_id in connection.execute(query.where(column.cohort_id == cohort_id)):
        networks[tx_hash].update([] if network_id is None else [network_id])
    watched = set(
        connection.scalars(
            select(watched_cohorts.c.network_id).where(watched_cohorts.c.cohort_id == cohort_id)
        )
    )
    alike: defaultdict[_Marks, list[TxHash]] = defaultdict(list)
    for tx_hash, found in networks.items():
        alike[_Marks(bool(found), frozenset(found & watched))].append(tx_hash)
    (stays, _), *others = alike.items()
    for marks, hashes in others:
        new_id = split_cohort(connection, cohort_id, hashes)
        assert new_id is not None  # noqa: S101 - this transaction has just found them there
        _set_marks(connection, new_id, marks)
    _set_marks(connection, cohort_id, stays)


def _set_marks(connection: Connection, cohort_id: int, marks: _Marks) -> None:
    of_cohort = update(cohorts).where(cohorts.c.cohort_id == cohort_id)
    connection.execute(of_cohort.values(is_rejected=marks.is_rejected))
    column = watched_cohorts.c
    of_watched = update(watched_cohorts).where(column.cohort_id == cohort_id)
    connection.execute(of_watched.values(is_rejected=column.network_id.in_(marks.networks)))


def _miscounted() -> Select[Any]:
    query = select(cohorts.c.cohort_id, cohorts.c.size, _COUNTED)
    return query.where(or_(cohorts.c.size != _COUNTED.element, cohorts.c.size < 1))


def _mismarked() -> Select[Any]:
    """Select hashes of which a cohort is wrong about a network where they are watched."""
    column, watched = tracked_hashes.c, watched_cohorts.c
    return (
        select(watched.cohort_id, watched.network_id, watched.is_rejected, column.tx_hash)
        .join_from(watched_cohorts, tracked_hashes, column.cohort_id == watched.cohort_id)
        .where(watched.is_rejected != _HAS_RECORD_THERE)
    )


def _misknown() -> Select[Any]:
    """Select hashes of which a cohort is wrong about whether any network has a record."""
    column = tracked_hashes.c
    return (
        select(cohorts.c.cohort_id, cohorts.c.is_rejected, column.tx_hash)
        .join_from(cohorts, tracked_hashes, column.cohort_id == cohorts.c.cohort_id)
        .where(cohorts.c.is_rejected != _HAS_RECORD)
    )
