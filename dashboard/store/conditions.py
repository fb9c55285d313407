"""Conditions: what is held true of each subject, changed by one writer at a time."""

from __future__ import annotations

from sqlalchemy import Connection, RowMapping, select, update

from dashboard.domain.condition import State, Subject, SubjectKind, Transition
from dashboard.store.schema import conditions, outbox, transitions
from dashboard.store.upsert import insert_new


def condition(connection: Connection, subject: Subject) -> State | None:
    """Return what is held true of the subject, None where nothing was concluded yet."""
    query = select(conditions.c.state).where(conditions.c.subject == subject.key())
    state = connection.scalar(query)
    return None if state is None else State(state)


def change(connection: Connection, transition: Transition, rejection_id: int | None) -> bool:
    """Change a condition, and owe the news of it, if the condition still is `before`.

    The transition and its outbox row are written with it. False, and nothing is written, where
    somebody else changed it first, this very transition is stored, or a transition to the same
    state names the rejection that is held already.
    """
    if _is_stored(connection, transition) or not _compare_and_set(
        connection, transition, rejection_id
    ):
        return False
    row = _subject_row(transition.subject) | {
        "transition_id": transition.transition_id,
        "before": transition.before,
        "after": transition.after,
        "at": transition.at,
        "rejection_id": rejection_id,
    }
    connection.execute(transitions.insert().values(**row))
    connection.execute(outbox.insert().values(transition_id=transition.transition_id))
    return True


def transition_of(row: RowMapping) -> Transition:
    """Read a row that holds the columns of a transition."""
    column = transitions.c
    kind = SubjectKind(row[column.kind])
    before = row[column.before]
    return Transition(
        row[column.transition_id],
        Subject(kind, row[column.network_id], row[column.tx_hash]),
        None if before is None else State(before),
        State(row[column.after]),
        row[column.at],
    )


def _is_stored(connection: Connection, transition: Transition) -> bool:
    query = select(transitions.c.transition_id).where(
        transitions.c.transition_id == transition.transition_id
    )
    return connection.execute(query).first() is not None


def _compare_and_set(
    connection: Connection, transition: Transition, rejection_id: int | None
) -> bool:
    subject = transition.subject
    new = {"state": transition.after, "since": transition.at, "rejection_id": rejection_id}
    if transition.before is None:
        return insert_new(connection, conditions, _subject_row(subject) | new)
    still = update(conditions).where(
        conditions.c.subject == subject.key(), conditions.c.state == transition.before
    )
    if transition.before is transition.after:
        still = still.where(conditions.c.rejection_id.is_distinct_from(rejection_id))
    return connection.execute(still.values(**new)).rowcount == 1


def _subject_row(subject: Subject) -> dict[str, object]:
    return {
        "subject": subject.key(),
        "kind": subject.kind,
        "network_id": subject.network_id,
        "tx_hash": subject.tx_hash,
    }
