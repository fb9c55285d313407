"""Counters of rejections and labels, and tags, compared with the rows that they count."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, zip_longest
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Connection,
    Row,
    Select,
    delete,
    func,
    insert,
    literal,
    select,
    type_coerce,
    union_all,
)

from dashboard.domain.tracking.paste import tags_in
from dashboard.store.maintenance.finding import Finding, first_of, rebuildable
from dashboard.store.rejections.counters import recounted_days
from dashboard.store.schema import (
    rejection_days,
    tracked_hashes,
    tracked_labels,
    tracked_tags,
)
from dashboard.store.schema.columns import moment_of
from dashboard.store.tracking.transactions import index_tags

_NONE: Final = literal(0, BigInteger)


def wrong_counters(connection: Connection) -> Iterator[Finding]:
    """Yield which counters of rejections are wrong; a million rejections take some seconds."""
    differing = connection.execute(_differing(select(rejection_days), recounted_days()))
    yield from first_of(map(_wrong_counter, differing), "counters of rejections that are wrong")


def wrong_labels(connection: Connection) -> Iterator[Finding]:
    """Yield which labels are counted wrong."""
    held = select(tracked_labels.c.label, tracked_labels.c.many)
    labels = sorted(connection.scalars(_differing(held, _counted_labels())))
    wrong = (rebuildable(f"the hashes labelled {each!r} are counted wrong") for each in labels)
    yield from first_of(wrong, "labels whose hashes are counted wrong")


def rebuild_labels(connection: Connection) -> None:
    """Count the hashes of all labels again."""
    connection.execute(delete(tracked_labels))
    connection.execute(insert(tracked_labels).from_select(["label", "many"], _counted_labels()))


def wrong_tags(connection: Connection) -> Iterator[Finding]:
    """Yield which hashes are not found by their tags, or by others."""
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
    """Let every hash be found by its tags again."""
    connection.execute(delete(tracked_tags))
    column = tracked_hashes.c
    index_tags(
        connection, connection.scalars(select(column.tx_hash).where(column.tags != "")).all()
    )


def _counted_labels() -> Select[Any]:
    label = tracked_hashes.c.label
    return select(label, func.count().label("many")).where(label != "").group_by(label)


def _differing(held: Select[Any], recomputed: Select[Any]) -> Select[Any]:
    """Select the keys for which the two say different numbers, with what is `kept` and `counted`.

    Both have the same columns, the last of which is the number; a key that one of them lacks is
    zero there. Keys are called as in `held` and typed as in `recomputed`.
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
