"""Conditions: the state of each subject and its grounds, changed by one writer at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, RowMapping, bindparam, or_, select, update

from dashboard.domain.alerts.condition import (
    Condition,
    Grounds,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.kinds.table import GROUNDS
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import conditions, outbox, transitions
from dashboard.store.schema.columns import columns_of, read_as

_NAMES: Final = {grounds: name for name, grounds in GROUNDS.items()}
_CONDITIONS: Final = select(
    *conditions.c["subject", "state", "since", "turning_since", "seen_at"]
).where(conditions.c.subject.in_(bindparam("some", expanding=True)))


def current_state(connection: Connection, subject: Subject) -> State | None:
    found = current_condition(connection, subject)
    return None if found is None else found.state


def current_condition(connection: Connection, subject: Subject) -> Condition | None:
    return current_conditions(connection, [subject]).get(subject.key())


def current_conditions(
    connection: Connection, subjects: Collection[Subject]
) -> dict[str, Condition]:
    """Return the conditions of subjects by their keys, without those of which nothing is known.

    There are few subjects, so each is a parameter of the query.
    """
    rows = connection.execute(_CONDITIONS, {"some": [each.key() for each in subjects]})
    return {row.subject: read_as(Condition, row, conditions) for row in rows}


def set_turning_since(connection: Connection, subject: Subject, since: datetime | None) -> None:
    """Record since when the opposite of the current state is seen; None if it is not."""
    of_subject = update(conditions).where(conditions.c.subject == subject.key())
    connection.execute(of_subject.values(turning_since=since))


def note_values(connection: Connection, subject: Subject, held: Condition) -> None:
    """Store since when a condition holds, since when it turns, and when its last value came."""
    of_subject = update(conditions).where(conditions.c.subject == subject.key())
    connection.execute(
        of_subject.values(since=held.since, turning_since=held.turning_since, seen_at=held.seen_at)
    )


def record_transition(
    connection: Connection, transition: Transition, rejection_id: int | None
) -> bool:
    """Change a condition whose state is still `before`, and put the transition in the outbox.

    False, with nothing written, if another writer changed it first, if this transition is stored
    already, or if an earlier transition to the same state names the same rejection.
    """
    if _is_stored(connection, transition, rejection_id):
        return False
    opening = _opening(connection, transition)
    if not _compare_and_set(connection, transition, rejection_id, opening):
        return False
    insert_transition(connection, transition, **opening, rejection_id=rejection_id)
    connection.execute(outbox.insert().values(transition_id=transition.transition_id))
    return True


def insert_transition(
    connection: Connection,
    transition: Transition,
    **more: Any,  # noqa: ANN401 - the values of its other columns
) -> None:
    """Store a transition alone: no condition changes, and no rule notifies anybody of it."""
    more |= _subject_row(transition.subject)
    row = columns_of(transitions, transition, grounds=row_of_grounds(transition.grounds), **more)
    connection.execute(transitions.insert().values(**row))


def record_rejection(
    connection: Connection,
    rejection_id: int,
    network_id: NetworkId,
    tx_hash: TxHash,
    at: datetime,
    transition_id: UUID,
) -> bool:
    """Record that a transaction is rejected, and put it in the outbox; False if that is known.

    Null after a rejection does not clear it: the record may be older than the seven days, or
    another store answered. Another version of the record is a change from rejected to rejected; a
    known version changes nothing.
    """
    subject = Subject.transaction(network_id, tx_hash)
    before = current_state(connection, subject)
    transition = Transition(transition_id, subject, before, State.REJECTED, at)
    return record_transition(connection, transition, rejection_id)


def record_inclusion(connection: Connection, included: Transition) -> bool:
    """Record once that a rejected transaction is included; False if it is not rejected."""
    of_transaction = replace(included.subject, kind=SubjectKind.TRANSACTION)
    rejected = select(conditions.c.rejection_id).where(
        conditions.c.subject == of_transaction.key(), conditions.c.state == State.REJECTED
    )
    found = connection.execute(rejected).one_or_none()
    return found is not None and record_transition(connection, included, found.rejection_id)


def transition_of(row: RowMapping) -> Transition:
    subject = read_as(Subject, row, transitions)
    grounds = grounds_of_row(row[transitions.c.grounds])
    return read_as(Transition, row, transitions, subject=subject, grounds=grounds)


def measured_conditions(
    connection: Connection, kinds: Iterable[SubjectKind]
) -> dict[Subject, Condition]:
    """Return the conditions of everything that rules measure."""
    query = select(conditions).where(is_of_kinds(conditions.c.subject, kinds))
    rows = connection.execute(query).mappings()
    return {
        read_as(Subject, row, conditions): read_as(Condition, row, conditions, seen_at=None)
        for row in rows
    }


def is_of_kinds(subject: ColumnElement[str], kinds: Iterable[SubjectKind]) -> ColumnElement[bool]:
    """Require the key of a subject of one of these kinds: an index of subjects leads to them."""
    return or_(*(subject.between(f"{kind}:", f"{kind};") for kind in kinds))


def _is_stored(connection: Connection, transition: Transition, rejection_id: int | None) -> bool:
    """Whether this transition is stored, or an earlier one with the same rejection."""
    column = transitions.c
    same = select(column.transition_id).where(column.transition_id == transition.transition_id)
    in_transitions = select(column.rejection_id).where(
        column.subject == transition.subject.key(), column.rejection_id == rejection_id
    )
    last = select(conditions.c.rejection_id).where(
        conditions.c.subject == transition.subject.key(), conditions.c.rejection_id == rejection_id
    )
    is_repeated = transition.before is transition.after
    if is_repeated and connection.execute(in_transitions.union_all(last)).first() is not None:
        return True
    return connection.execute(same).first() is not None


def _opening(connection: Connection, transition: Transition) -> dict[str, Any]:
    """Return, as columns, the opening that a transition begins, changes or ends."""
    if transition.before is not None and transition.before.is_open:
        column = conditions.c
        mine = select(column.opening_id, column.opened_at).where(
            column.subject == transition.subject.key()
        )
        return dict(connection.execute(mine).mappings().one_or_none() or {})
    if transition.after.is_open:
        return {"opening_id": transition.transition_id, "opened_at": transition.began_at}
    return {}


def _compare_and_set(
    connection: Connection,
    transition: Transition,
    rejection_id: int | None,
    opening: dict[str, Any],
) -> bool:
    subject = transition.subject
    new = {"state": transition.after, "since": transition.began_at, "rejection_id": rejection_id}
    new |= opening if transition.after.is_open else {"opening_id": None, "opened_at": None}
    new["turning_since"] = None
    if transition.before is None:
        return insert_new(connection, conditions, _subject_row(subject) | new)
    still = update(conditions).where(
        conditions.c.subject == subject.key(), conditions.c.state == transition.before
    )
    return connection.execute(still.values(**new)).rowcount == 1


def _subject_row(subject: Subject) -> dict[str, object]:
    return columns_of(conditions, subject, subject=subject.key())


def row_of_grounds(grounds: Grounds | None) -> dict[str, Any] | None:
    if grounds is None:
        return None
    plain = msgspec.to_builtins(grounds, enc_hook=_plain)
    return {"kind": _NAMES[type(grounds)], **plain}


def grounds_of_row(row: dict[str, Any] | None) -> Grounds | None:
    """Turn the values of `row_of_grounds` back into grounds."""
    if row is None:
        return None
    fields = {name: value for name, value in row.items() if name != "kind"}
    return msgspec.convert(fields, GROUNDS[row["kind"]])


def _plain(value: object) -> timedelta | int:
    """Convert durations and sizes to plain numbers: settings have classes of their own for them."""
    if isinstance(value, timedelta):
        return timedelta() + value
    if isinstance(value, int):
        return int(value)
    raise TypeError(f"{value!r} is not a part of grounds")
