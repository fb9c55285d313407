"""Senders are counted, and those with many rejections have tallies of their own.

Rejections of the others are so few that they are counted one by one, by index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, delete, func, insert, select, true, update

from dashboard.domain.quantity import Address
from dashboard.store.engine.portions import portions
from dashboard.store.engine.upsert import add_up
from dashboard.store.rejections.counter_rows import (
    Key,
    add_counts,
    keys_of,
    make_of_rejections,
    take_counts,
)
from dashboard.store.schema import rejection_senders, rejections, sender_tallies

MANY: Final = 500
"""Rejections from which on a sender is tallied: so many are counted one by one in milliseconds."""

_Rows = Sequence[Mapping[str, Any]]


def count_senders_in(connection: Connection, rows: _Rows, named: set[str]) -> None:
    """Count rows of `rejections` that this transaction has inserted, by their senders."""
    counts = Counter(row["sender"] for row in rows)
    _add(connection, counts)
    column = rejection_senders.c
    tallied, new = set(), []
    for some in portions(sorted(counts)):
        many = select(column.sender, column.is_tallied)
        many = many.where(column.sender.in_(some), column.many >= MANY)
        for sender, is_tallied in connection.execute(many):
            if is_tallied:
                tallied.add(sender)
            else:
                new.append(sender)
    add_counts(connection, sender_tallies, Counter(_keys(rows, named, tallied)))
    for some in portions(new):
        taken_up = update(rejection_senders).where(column.sender.in_(some))
        connection.execute(taken_up.values(is_tallied=True))
        make_of_rejections(connection, sender_tallies, rejections.c.sender.in_(some))


def count_senders_out(connection: Connection, rows: _Rows, named: set[str]) -> None:
    """Take rows out again that this transaction is about to delete."""
    counts = Counter(row["sender"] for row in rows)
    column = rejection_senders.c
    for some in portions(sorted(counts)):
        of_some = select(column.sender).where(column.sender.in_(some), column.is_tallied)
        tallied = set(connection.scalars(of_some))
        take_counts(connection, sender_tallies, Counter(_keys(rows, named, tallied)))
        _add(connection, {sender: -counts[sender] for sender in some})
        gone = column.sender.in_(some) & (column.many <= 0)
        connection.execute(delete(rejection_senders).where(gone))


def rebuild_senders(connection: Connection) -> None:
    """Count all senders anew."""
    connection.execute(delete(rejection_senders))
    connection.execute(delete(sender_tallies))
    sender, many = rejections.c.sender, func.count()
    counted = select(sender, many, many >= MANY).group_by(sender)
    names = ["sender", "many", "is_tallied"]
    connection.execute(insert(rejection_senders).from_select(names, counted))
    tallied = select(rejection_senders.c.sender).where(rejection_senders.c.is_tallied)
    make_of_rejections(connection, sender_tallies, sender.in_(tallied))


def is_sender_tallied(connection: Connection, sender: Address) -> bool:
    """Whether the rejections of this sender have tallies."""
    column = rejection_senders.c
    query = select(true()).where(column.sender == sender, column.is_tallied)
    return connection.execute(query).first() is not None


def _keys(rows: _Rows, named: set[str], senders: set[Address]) -> Iterator[Key]:
    for row in rows:
        if row["sender"] in senders:
            for key in keys_of(row, named):
                yield row["sender"], *key


def _add(connection: Connection, counts: Mapping[Address, int]) -> None:
    rows = [{"sender": sender, "many": many} for sender, many in counts.items()]
    add_up(connection, rejection_senders, rows)
