"""Whether senders and labels are counted as they occur, and how they are counted anew where not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, delete, func, insert, select

from dashboard.domain.quantity import Address
from dashboard.store.maintenance.differences import differing
from dashboard.store.maintenance.finding import Finding, mendable, named
from dashboard.store.maintenance.rebuilder import Mender
from dashboard.store.rejections.counter_steps import CounterStep
from dashboard.store.rejections.counters import MANY, build_counters, recomputed_counters
from dashboard.store.schema import (
    rejection_senders,
    rejections,
    sender_counters,
    tracked_hashes,
    tracked_labels,
)


def wrong_senders(connection: Connection) -> Iterator[Finding]:
    """Tell whose rejections, and which labels, are counted wrong."""
    told = (
        mendable(f"the rejections of {each} are counted wrong") for each in _senders(connection)
    )
    yield from named(told, "senders whose rejections are counted wrong")
    labels = (
        mendable(f"the hashes labelled {each!r} are counted wrong") for each in _labels(connection)
    )
    yield from named(labels, "labels whose hashes are counted wrong")


def mend_senders(mender: Mender) -> int:
    """Count the rejections of senders and the hashes of labels anew; return how many of both."""
    with mender.looking() as connection:
        senders, labels = list(_senders(connection)), list(_labels(connection))
    mended = mender.mend("senders", senders, _count_senders)
    return mended + mender.mend("labels", labels, _count_labels)


def _senders(connection: Connection) -> list[Address]:
    column, sender = rejection_senders.c, rejections.c.sender
    counted = select(sender, func.count().label("many")).group_by(sender)
    found = set(connection.scalars(differing(select(column.sender, column.many), counted)))
    tallied = select(column.sender).where(column.has_counters)
    for level in sorted(CounterStep, reverse=True):
        of_tallied = [sender.in_(tallied)] if level is CounterStep.HOUR else []
        tallies = select(sender_counters).where(sender_counters.c.level == int(level))
        anew = recomputed_counters(sender_counters, level, *of_tallied)
        found.update(connection.scalars(differing(tallies, anew)))
    unmarked = select(column.sender).where(column.many >= MANY, column.has_counters.is_(False))
    found.update(connection.scalars(unmarked))
    return sorted(found)


def _labels(connection: Connection) -> list[str]:
    label = tracked_hashes.c.label
    counted = select(label, func.count().label("many")).where(label != "").group_by(label)
    held = select(tracked_labels.c.label, tracked_labels.c.many)
    return sorted(connection.scalars(differing(held, counted)))


def _count_senders(connection: Connection, senders: Sequence[Address]) -> int:
    own, sender = rejection_senders.c, rejections.c.sender
    for each in senders:
        connection.execute(delete(sender_counters).where(sender_counters.c.sender == each))
        had_counters = (
            connection.scalar(select(own.has_counters).where(own.sender == each)) or False
        )
        connection.execute(delete(rejection_senders).where(own.sender == each))
        many = connection.scalar(select(func.count()).where(sender == each)) or 0
        if many:
            row = {"sender": each, "many": many, "has_counters": had_counters or many >= MANY}
            connection.execute(insert(rejection_senders), row)
            if row["has_counters"]:
                build_counters(connection, sender_counters, sender == each)
    return len(senders)


def _count_labels(connection: Connection, labels: Sequence[str]) -> int:
    label = tracked_hashes.c.label
    for each in labels:
        connection.execute(delete(tracked_labels).where(tracked_labels.c.label == each))
        if many := connection.scalar(select(func.count()).where(label == each)):
            connection.execute(insert(tracked_labels), {"label": each, "many": many})
    return len(labels)
