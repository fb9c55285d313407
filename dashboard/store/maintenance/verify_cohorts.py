"""Whether cohorts count their hashes, and know which of these have a record; and mending that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    delete,
    exists,
    func,
    or_,
    select,
    update,
)

from dashboard.domain.quantity import NetworkId
from dashboard.store.maintenance.finding import Finding, mendable, named
from dashboard.store.maintenance.rebuilder import Mender
from dashboard.store.schema import cohorts, rejections, tracked_hashes, watched_cohorts
from dashboard.store.tracking.cohorts import mark_rejected, split_cohort

_COUNTED: Final = (
    select(func.count())
    .where(tracked_hashes.c.cohort_id == cohorts.c.cohort_id)
    .scalar_subquery()
    .label("counted")
)


def wrong_cohorts(connection: Connection) -> Iterator[Finding]:
    """Tell which cohorts are wrong; a million hashes take some seconds."""
    sizes = (
        mendable(
            f"the cohort {row.cohort_id} says that it has {row.size:,} hashes, and "
            f"{row.counted:,} are stored"
        )
        for row in connection.execute(_miscounted())
    )
    yield from named(sizes, "cohorts of tracked hashes that count them wrong")
    marks = (
        mendable(
            f"the cohort {row.cohort_id} on network {row.network_id} says of {row.tx_hash} that "
            f"{_some(row.is_rejected)} record is held, and "
            f"{'none' if row.is_rejected else 'one'} is"
        )
        for row in connection.execute(_mismarked())
    )
    yield from named(marks, "tracked hashes whose cohort is wrong about a record of them")
    known = (
        mendable(
            f"the cohort {row.cohort_id} says of {row.tx_hash} that {_some(row.is_rejected)} "
            f"record of any network is held, and {'none' if row.is_rejected else 'one'} is"
        )
        for row in connection.execute(_misknown())
    )
    yield from named(known, "tracked hashes whose cohort is wrong about records of any network")


def mend_cohorts(mender: Mender) -> int:
    """Count cohorts anew, then part hashes that have a record from those that have none."""
    with mender.looking() as connection:
        counted = [row.cohort_id for row in connection.execute(_miscounted())]
    mended = mender.mend("cohorts", counted, _count_anew)
    while many := mender.mend("cohorts", _wrongly_marked(mender), _mark_anew):
        mended += many  # those that parted on one network may be wrong on another
    with mender.looking() as connection:
        known = list(dict.fromkeys(row.cohort_id for row in connection.execute(_misknown())))
    return mended + mender.mend("cohorts", known, _know_anew)


def _wrongly_marked(mender: Mender) -> list[tuple[int, NetworkId]]:
    with mender.looking() as connection:
        found = connection.execute(_mismarked())
        return list(dict.fromkeys((row.cohort_id, row.network_id) for row in found))


def _miscounted() -> Select[Any]:
    query = select(cohorts.c.cohort_id, cohorts.c.size, _COUNTED)
    return query.where(or_(cohorts.c.size != _COUNTED.element, cohorts.c.size < 1))


def _mismarked(cohort_id: int | None = None, network_id: int | None = None) -> Select[Any]:
    """Select hashes whose cohort says of them that a record is held where none is, or otherwise."""
    column, watched = tracked_hashes.c, watched_cohorts.c
    query = (
        select(watched.cohort_id, watched.network_id, watched.is_rejected, column.tx_hash)
        .join_from(watched_cohorts, tracked_hashes, column.cohort_id == watched.cohort_id)
        .where(watched.is_rejected != _has_record())
    )
    if cohort_id is not None:
        query = query.where(watched.cohort_id == cohort_id, watched.network_id == network_id)
    return query


def _misknown(cohort_id: int | None = None) -> Select[Any]:
    """Select hashes whose cohort is wrong about whether any network has a record of them."""
    column = tracked_hashes.c
    has_record = exists().where(rejections.c.tx_hash == column.tx_hash)
    query = (
        select(cohorts.c.cohort_id, cohorts.c.is_rejected, column.tx_hash)
        .join_from(cohorts, tracked_hashes, column.cohort_id == cohorts.c.cohort_id)
        .where(cohorts.c.is_rejected != has_record)
    )
    return query if cohort_id is None else query.where(cohorts.c.cohort_id == cohort_id)


def _has_record() -> ColumnElement[bool]:
    column = rejections.c
    return (
        exists()
        .where(column.tx_hash == tracked_hashes.c.tx_hash)
        .where(column.network_id == watched_cohorts.c.network_id)
    )


def _count_anew(connection: Connection, cohort_ids: Sequence[int]) -> int:
    for cohort_id in cohort_ids:
        of_hashes = tracked_hashes.c.cohort_id == cohort_id
        many = connection.scalar(select(func.count()).select_from(tracked_hashes).where(of_hashes))
        of_cohort = cohorts.c.cohort_id == cohort_id
        if many:
            connection.execute(update(cohorts).where(of_cohort).values(size=many))
        else:
            of_watched = watched_cohorts.c.cohort_id == cohort_id
            connection.execute(delete(watched_cohorts).where(of_watched))
            connection.execute(delete(cohorts).where(of_cohort))
    return len(cohort_ids)


def _mark_anew(connection: Connection, marked: Sequence[tuple[int, NetworkId]]) -> int:
    mended = 0
    for cohort_id, network_id in marked:
        rows = connection.execute(_mismarked(cohort_id, network_id)).all()
        if not rows:
            continue
        mended += 1
        hashes = [row.tx_hash for row in rows]
        if rows[0].is_rejected:
            _unmark(connection, split_cohort(connection, cohort_id, hashes), network_id)
        else:
            mark_rejected(connection, network_id, hashes)
    return mended


def _know_anew(connection: Connection, cohort_ids: Sequence[int]) -> int:
    mended = 0
    for cohort_id in cohort_ids:
        rows = connection.execute(_misknown(cohort_id)).all()
        if not rows:
            continue
        mended += 1
        theirs = split_cohort(connection, cohort_id, [row.tx_hash for row in rows])
        of_theirs = update(cohorts).where(cohorts.c.cohort_id == theirs)
        connection.execute(of_theirs.values(is_rejected=not rows[0].is_rejected))
    return mended


def _some(is_held: bool) -> str:  # noqa: FBT001 - it reads as a sentence
    return "a" if is_held else "no"


def _unmark(connection: Connection, cohort_id: int | None, network_id: int) -> None:
    column = watched_cohorts.c
    theirs = update(watched_cohorts).where(column.cohort_id == cohort_id)
    connection.execute(theirs.where(column.network_id == network_id).values(is_rejected=False))
