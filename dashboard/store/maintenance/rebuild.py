"""What a store derives from its own data, compared with that data, and computed again.

These are the counters of rejections and of labels; the index of tags; for each cohort how many
hashes it has and whether a record of each of them is stored; the group in which a poll group is
asked; and roll-ups, which have a file of their own. Everybody goes on using the store meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, zip_longest
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import (
    BigInteger,
    Connection,
    Row,
    Select,
    Table,
    delete,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    type_coerce,
    union_all,
    update,
)

from dashboard.domain.people.access import Action, Actor
from dashboard.domain.tracking.remarks import tags_in
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.engine import Store
from dashboard.store.maintenance.derived_rollups import (
    days_with_fees,
    rebuild_days,
    wrong_in_days,
    wrong_rollups,
)
from dashboard.store.maintenance.findings import Finding, first_of, rebuildable, unreadable_values
from dashboard.store.rejections.counts import rebuild_counters, recounted_days
from dashboard.store.schema import (
    cohorts,
    poll_groups,
    rejection_days,
    rejections,
    tracked_hashes,
    tracked_labels,
    tracked_tags,
    watched_cohorts,
)
from dashboard.store.schema.columns import moment_of
from dashboard.store.tracking.cohorts import mark_rejected, resize_cohort
from dashboard.store.tracking.poll_results import rejected_in
from dashboard.store.tracking.transactions import index_tags

Progress: TypeAlias = Callable[[str], None]
"""Called with the name of the next check."""

_VALUES: Final = "the form of values"
_ROLLUPS: Final = "roll-ups of fees"


class Rebuilt(NamedTuple):
    """What was wrong and was rebuilt, and how much is wrong that cannot be computed again."""

    names: list[str]
    left: int


def no_report(_what: str) -> None:
    """Report no progress."""


def rebuild(store: Store, by: Actor, report: Progress = no_report) -> Rebuilt:
    """Rebuild what is wrong; what is right is not written, so a second call changes nothing.

    Each kind is replaced in one transaction, roll-ups some days at a time: a process that is killed
    leaves the old or the new. If values that are not derived cannot be read, nothing is rebuilt,
    since it would rest on them. Each transaction is logged and waits for the disk, since the
    numbers that it gives to cohorts must not be given again.
    """
    report(_VALUES)
    with store.read() as connection:
        unread = [table for table, _ in unreadable_values(connection)]
    if left := sum(table not in _REPLACED for table in unread):
        return Rebuilt([], left)
    names = []
    for each in _DERIVED:
        report(each.name)
        with store.read() as connection:
            is_wrong = not set(unread).isdisjoint(each.tables) or any(each.find_wrong(connection))
        if is_wrong:
            with store.write() as connection:
                each.rebuild(connection)
                note_action(connection, by, Action.REBUILD, each.name, {})
            names.append(each.name)
    report(_ROLLUPS)
    written, left = _rebuild_rollups(store, by)
    return Rebuilt([*names, _ROLLUPS] if written else names, left)


def _rebuild_rollups(store: Store, by: Actor) -> tuple[int, int]:
    """Return how many roll-ups were written, and how many wrong ones cannot be computed.

    Days are compared while others may write, and again by the transaction that writes.
    """
    with store.read() as connection:
        all_days = list(days_with_fees(connection))
    written = left = 0
    for days in all_days:
        with store.read() as connection:
            wrong = wrong_in_days(connection, days)
        left += sum(each.row is None for each in wrong)
        if any(each.row is not None for each in wrong):
            with store.write() as connection:
                rows = rebuild_days(connection, days)
                note_action(connection, by, Action.REBUILD, _ROLLUPS, {"rows": rows})
            written += rows
    return written, left


def unreadable(connection: Connection, report: Progress = no_report) -> Iterator[Finding]:
    """Yield the values that cannot be read; what is derived from values is not checked then."""
    report(_VALUES)
    for table, finding in unreadable_values(connection):
        yield rebuildable(finding.what) if table in _REPLACED else finding


def wrong_derived(connection: Connection, report: Progress = no_report) -> Iterator[Finding]:
    """Yield what differs from the data that it is derived from."""
    for each in _DERIVED:
        report(each.name)
        yield from each.find_wrong(connection)
    report(_ROLLUPS)
    yield from wrong_rollups(connection)


_NONE: Final = literal(0, BigInteger)


def wrong_counters(connection: Connection) -> Iterator[Finding]:
    """Yield the wrong counters of rejections; a million rejections take a few seconds."""
    differing = connection.execute(_differing(select(rejection_days), recounted_days()))
    yield from first_of(map(_wrong_counter, differing), "counters of rejections that are wrong")


def wrong_labels(connection: Connection) -> Iterator[Finding]:
    held = select(tracked_labels.c.label, tracked_labels.c.many)
    labels = sorted(connection.scalars(_differing(held, _counted_labels())))
    wrong = (rebuildable(f"the hashes labelled {each!r} are counted wrong") for each in labels)
    yield from first_of(wrong, "labels whose hashes are counted wrong")


def rebuild_labels(connection: Connection) -> None:
    connection.execute(delete(tracked_labels))
    connection.execute(insert(tracked_labels).from_select(["label", "many"], _counted_labels()))


def wrong_tags(connection: Connection) -> Iterator[Finding]:
    """Yield the hashes that are missing under one of their tags, or found under another."""
    column, held = tracked_hashes.c, tracked_tags.c
    said = connection.execute(
        select(column.tracked_id, column.tags).where(column.tags != "").order_by(column.tracked_id)
    )
    listed = connection.execute(select(held.tracked_id, held.tag).order_by(held.tracked_id))
    expected = ((row.tracked_id, tag) for row in said for tag in sorted(tags_in(row.tags)))
    found = (
        (tracked_id, tag)
        for tracked_id, rows in groupby(listed, attrgetter("tracked_id"))
        for tag in sorted(row.tag for row in rows)
    )
    if any(ours != theirs for ours, theirs in zip_longest(expected, found)):
        yield rebuildable("hashes are not found by the tags that they have")


def rebuild_tags(connection: Connection) -> None:
    connection.execute(delete(tracked_tags))
    column = tracked_hashes.c
    index_tags(
        connection, connection.scalars(select(column.tx_hash).where(column.tags != "")).all()
    )


def _counted_labels() -> Select[Any]:
    label = tracked_hashes.c.label
    return select(label, func.count().label("many")).where(label != "").group_by(label)


def _differing(held: Select[Any], recomputed: Select[Any]) -> Select[Any]:
    """Select the keys for which the numbers differ, with what is `kept` and `counted`.

    Both have the same columns, the last of which is the number; a key that one of them lacks counts
    as zero there. Keys are named as in `held` and typed as in `recomputed`.
    """
    *keys, kept = held.subquery().c
    *groups, counted = recomputed.subquery().c
    names = [key.name for key in keys]
    ours = [
        type_coerce(key, group.type).label(key.name)
        for key, group in zip(keys, groups, strict=True)
    ]
    theirs = [group.label(name) for group, name in zip(groups, names, strict=True)]
    both = union_all(
        select(*ours, kept.label("kept"), _NONE.label("counted")),
        select(*theirs, _NONE, counted),
    ).subquery()
    *places, one, other = both.c
    sums = func.sum(one), func.sum(other)
    said = select(*places, sums[0].label("kept"), sums[1].label("counted"))
    return said.group_by(*places).having(sums[0] != sums[1])


def _wrong_counter(row: Row[Any]) -> Finding:
    module = row.module or "no module"
    what = f"{row.reason_kind} naming {module} at {row.tx_rejection_stage}"
    return rebuildable(
        f"the counter of rejections of network {row.network_id} of "
        f"{moment_of(int(row.day)):%Y-%m-%d}, {what}, says {int(row.kept):,}, "
        f"and {int(row.counted):,} are stored"
    )


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


_ASKED: Final = poll_groups.alias()
_LOST: Final = select(*poll_groups.c["group_id", "within_id"]).where(
    poll_groups.c.within_id.not_in(select(_ASKED.c.group_id).where(_ASKED.c.within_id.is_(None)))
)
"""Groups whose cohorts nobody would ask: their parent group is gone, or is not asked itself."""


def wrong_cohorts(connection: Connection) -> Iterator[Finding]:
    """Yield the wrong cohorts; a million hashes take a few seconds."""
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
    lost = (
        rebuildable(f"the poll group {row.group_id} is in {row.within_id}, which is not asked")
        for row in connection.execute(_LOST)
    )
    yield from first_of(lost, "poll groups in one that is not asked")


def rebuild_cohorts(connection: Connection) -> None:
    """Count cohorts again, then split those whose hashes have records of different networks."""
    for row in connection.execute(_miscounted()).all():
        resize_cohort(connection, row.cohort_id, row.counted - row.size)
    lost = poll_groups.c.group_id.in_(select(_LOST.subquery().c.group_id))
    connection.execute(update(poll_groups).where(lost).values(within_id=None))
    for query in (_mismarked(), _misknown()):
        for cohort_id in sorted({row.cohort_id for row in connection.execute(query)}):
            _mark(connection, cohort_id)


def _mark(connection: Connection, cohort_id: int) -> None:
    """Mark the hashes of a cohort again; split it if they have records of different networks."""
    for table in (cohorts, watched_cohorts):
        unmarked = update(table).where(table.c.cohort_id == cohort_id).values(is_rejected=False)
        connection.execute(unmarked)
    column = watched_cohorts.c
    on_networks = select(column.network_id).where(column.cohort_id == cohort_id)
    watched = set(connection.scalars(on_networks))
    found = rejected_in(connection, [cohort_id])
    for network_id in sorted(found, key=lambda each: (each not in watched, each)):
        mark_rejected(connection, network_id, found[network_id])


def _miscounted() -> Select[Any]:
    query = select(cohorts.c.cohort_id, cohorts.c.size, _COUNTED)
    return query.where(or_(cohorts.c.size != _COUNTED.element, cohorts.c.size < 1))


def _mismarked() -> Select[Any]:
    """Select hashes whose cohort has wrong marks about a network on which they are tracked."""
    column, watched = tracked_hashes.c, watched_cohorts.c
    return (
        select(watched.cohort_id, watched.network_id, watched.is_rejected, column.tx_hash)
        .join_from(watched_cohorts, tracked_hashes, column.cohort_id == watched.cohort_id)
        .where(watched.is_rejected != _HAS_RECORD_THERE)
    )


def _misknown() -> Select[Any]:
    """Select hashes whose cohort is wrong about whether any network has a record."""
    column = tracked_hashes.c
    return (
        select(cohorts.c.cohort_id, cohorts.c.is_rejected, column.tx_hash)
        .join_from(cohorts, tracked_hashes, column.cohort_id == cohorts.c.cohort_id)
        .where(cohorts.c.is_rejected != _HAS_RECORD)
    )


class _Derived(NamedTuple):
    """Data that one transaction rebuilds; `tables` contain nothing else and are replaced whole."""

    name: str
    tables: Sequence[Table]
    find_wrong: Callable[[Connection], Iterator[Finding]]
    rebuild: Callable[[Connection], None]


_DERIVED: Final = (
    _Derived("counters of rejections", (rejection_days,), wrong_counters, rebuild_counters),
    _Derived("counters of labels", (tracked_labels,), wrong_labels, rebuild_labels),
    _Derived("tags of tracked hashes", (tracked_tags,), wrong_tags, rebuild_tags),
    _Derived("cohorts of tracked hashes", (), wrong_cohorts, rebuild_cohorts),
)
_REPLACED: Final = frozenset(table for each in _DERIVED for table in each.tables)
