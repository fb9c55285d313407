"""What the store knows of the changes that a message is about: labels, attempts, older records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from dashboard.domain.condition import Transition
from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.notified_change import NotifiedChange
from dashboard.store.alerts.conditions import transition_of
from dashboard.store.schema import outbox, rejections, tracked_hashes, transitions
from dashboard.store.schema.rejections import stored_rejection


def with_labels(connection: Connection, changes: Sequence[NotifiedChange]) -> list[NotifiedChange]:
    """Return the changes with what people said of their transactions; at most 500 at a time."""
    column = tracked_hashes.c
    hashes = {each.transition.subject.tx_hash for each in changes} - {None}
    query = select(column.tx_hash, column.label, column.attempted_at)
    rows = connection.execute(query.where(column.tx_hash.in_(hashes)))
    tracked = {tx_hash: (label, attempted_at) for tx_hash, label, attempted_at in rows}
    found = []
    for each in changes:
        label, attempted_at = tracked.get(each.transition.subject.tx_hash, ("", None))
        found.append(replace(each, label=label, attempted_at=attempted_at))
    return found


def with_previous(connection: Connection, change: NotifiedChange) -> NotifiedChange:
    """Return a changed record with the one that was known before, where that is still kept."""
    if not change.is_changed_record:
        return change
    return replace(change, previous=_previous(connection, change.transition))


def with_ends(connection: Connection, changes: Sequence[NotifiedChange]) -> list[NotifiedChange]:
    """Return the changes with what ended what they opened, of networks; at most 500 at a time."""
    opened = {
        each.transition.transition_id
        for each in changes
        if each.transition.after.is_open and each.transition.subject.tx_hash is None
    }
    column = transitions.c
    query = select(transitions).where(
        column.opening_id.in_(opened), column.transition_id.not_in(opened)
    )
    rows = connection.execute(query.order_by(column.at)).mappings() if opened else ()
    later = {row[column.opening_id]: transition_of(row) for row in rows}
    ends = {key: each for key, each in later.items() if not each.after.is_open}
    return [replace(each, ended=ends.get(each.transition.transition_id)) for each in changes]


def _previous(connection: Connection, transition: Transition) -> StoredRejection | None:
    """Return the rejection behind the last transition of the same subject before this one."""
    column = transitions.c
    entry = outbox.c.outbox_id
    own = select(entry).where(outbox.c.transition_id == transition.transition_id).scalar_subquery()
    query = (
        select(rejections)
        .join(transitions, column.rejection_id == rejections.c.rejection_id)
        .join(outbox, outbox.c.transition_id == column.transition_id)
        .where(column.subject == transition.subject.key(), entry < own)
        .order_by(entry.desc())
        .limit(1)
    )
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else stored_rejection(row)
