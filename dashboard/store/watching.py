"""What is tracked, as people look after it: found, corrected, and not watched any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.cohorts import grow, watch_anew
from dashboard.store.schema import cohorts, tracked_hashes, watched_cohorts
from dashboard.store.transactions import TrackedTransaction, select_tracked, tracked_of
from dashboard.store.unwatched import leave_behind


class Standing(StrEnum):
    """What is on record of a tracked transaction, whatever follows from that."""

    REJECTED = "rejected"
    UNREPORTED = "no rejection on record"
    UNANSWERED = "no answer yet"


@dataclass(frozen=True, slots=True)
class TrackedFilter:
    """What is looked for; what is None may be anything.

    `text` stands in the label or the note, in either case; no index helps to find it.
    """

    network_id: NetworkId | None = None
    standing: Standing | None = None
    tx_hash: TxHash | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Remarks:
    """What people may correct of a tracked transaction."""

    attempted_at: datetime | None
    label: str
    note: str


def search_tracked(
    connection: Connection, wanted: TrackedFilter, limit: int, skipped: int = 0
) -> list[TrackedTransaction]:
    """Return what is tracked and fits after the first `skipped`, the latest first."""
    query = select_tracked().where(*_conditions(wanted), *_conditions_of_cohort(wanted))
    return tracked_of(connection, query.limit(limit).offset(skipped))


def how_many_tracked(connection: Connection, wanted: TrackedFilter) -> int:
    """Count what is tracked and fits; whole cohorts, unless single hashes are looked for."""
    of_hashes = list(_conditions(wanted))
    query = select(func.coalesce(func.sum(cohorts.c.size), 0))
    if of_hashes:
        query = select(func.count()).select_from(tracked_hashes).join(cohorts).where(*of_hashes)
    many: int = connection.scalars(query.where(*_conditions_of_cohort(wanted))).one()
    return many


def amend(connection: Connection, tx_hash: TxHash, remarks: Remarks) -> bool:
    """Write other remarks; False where the hash is not tracked any more.

    Another time of the attempt is another schedule: the hash gets a cohort of its own, which the
    poller takes up, also where it was done with the hash.
    """
    of_hash = tracked_hashes.c.tx_hash == tx_hash
    before = connection.execute(select(tracked_hashes).where(of_hash)).one_or_none()
    if before is None:
        return False
    changed = {
        "attempted_at": remarks.attempted_at,
        "label": remarks.label,
        "note": remarks.note,
    }
    connection.execute(update(tracked_hashes).where(of_hash).values(**changed))
    if before.attempted_at != remarks.attempted_at:
        watch_anew(connection, tx_hash, remarks.attempted_at)
    return True


def untrack(connection: Connection, tx_hash: TxHash) -> bool:
    """Watch a hash on no network any more; False where nobody did.

    What was seen of it and what was told stays.
    """
    leaving = delete(tracked_hashes).where(tracked_hashes.c.tx_hash == tx_hash)
    cohort_id = connection.execute(
        leaving.returning(tracked_hashes.c.cohort_id)
    ).scalar_one_or_none()
    if cohort_id is None:
        return False
    leave_behind(connection, tx_hash, cohort_id)
    grow(connection, cohort_id, -1)
    return True


def hashes_labelled(label: str) -> Select[Any]:
    """Select the hashes that carry exactly this label, which is not empty."""
    column = tracked_hashes.c
    return select(column.tx_hash).where(column.label == label, column.label != literal_column("''"))


def _conditions(wanted: TrackedFilter) -> Iterator[ColumnElement[bool]]:
    column = tracked_hashes.c
    if wanted.tx_hash is not None:
        yield column.tx_hash == wanted.tx_hash
    if wanted.text:
        in_label = column.label.icontains(wanted.text, autoescape=True)
        yield or_(in_label, column.note.icontains(wanted.text, autoescape=True))


def _conditions_of_cohort(wanted: TrackedFilter) -> Iterator[ColumnElement[bool]]:
    """Say what concerns all hashes of a cohort alike."""
    watched = watched_cohorts.c
    on_network = exists().where(watched.cohort_id == cohorts.c.cohort_id)
    if wanted.network_id is not None:
        on_network = on_network.where(watched.network_id == wanted.network_id)
        yield on_network
    if wanted.standing is None:
        return
    has_record = on_network.where(watched.is_rejected)
    if wanted.standing is Standing.REJECTED:
        yield has_record
        return
    yield ~has_record
    has_answer = on_network.where(watched.last_answered_at.is_not(None))
    yield has_answer if wanted.standing is Standing.UNREPORTED else ~has_answer
