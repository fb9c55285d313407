"""What is tracked, as people look for it: by what is on record, by hash, and by words.

What most hashes share is found among the latest. What few share is found by the cohorts that it is
true of, by labels, or among the hashes with a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    exists,
    func,
    literal_column,
    select,
    union_all,
)

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.rejection_search import by_row
from dashboard.store.schema import cohorts, tracked_hashes, tracked_labels, watched_cohorts
from dashboard.store.transactions import TrackedTransaction, select_tracked, tracked_of

_LATEST: Final = 3000
"""Hashes that are looked at one by one before what is wanted is found by index: a millisecond."""

_NONE: Final[ColumnElement[str]] = literal_column("''")
"""Written out, so that the planner sees that a partial index fits."""


class Standing(StrEnum):
    """What is on record of a tracked transaction, whatever follows from that."""

    REJECTED = "rejected"
    UNREPORTED = "no rejection on record"
    UNANSWERED = "no answer yet"


@dataclass(frozen=True, slots=True)
class TrackedFilter:
    """What is looked for; what is None may be anything.

    With a network, `standing` is what is on record there. Without, a record of any network counts,
    also of one where the hash is not watched. `text` stands in the label or the note, in either
    case.
    """

    network_id: NetworkId | None = None
    standing: Standing | None = None
    tx_hash: TxHash | None = None
    text: str = ""


def search_tracked(
    connection: Connection, wanted: TrackedFilter, limit: int, skipped: int = 0
) -> list[TrackedTransaction]:
    """Return what is tracked and fits after the first `skipped`, the latest first."""
    ids = _leaf(connection, wanted, limit, skipped)
    if not ids:
        return []
    return tracked_of(connection, select_tracked().where(tracked_hashes.c.tracked_id.in_(ids)))


def how_many_tracked(connection: Connection, wanted: TrackedFilter) -> int:
    """Count what is tracked and fits: whole cohorts and whole labels, where that is possible."""
    conditions = list(_conditions_of_cohort(wanted))
    if wanted.text and wanted.tx_hash is None and not conditions:
        return _how_many_hold(connection, wanted.text)
    query = select(func.coalesce(func.sum(cohorts.c.size), 0))
    if wanted.text or wanted.tx_hash is not None:
        found = _found(wanted)
        query = select(func.count()).select_from(found)
        if conditions:
            query = query.join(cohorts, cohorts.c.cohort_id == found.c.cohort_id)
    return int(connection.scalars(query.where(*conditions)).one())


def _leaf(connection: Connection, wanted: TrackedFilter, limit: int, skipped: int) -> list[int]:
    """Return the numbers of the hashes of a leaf."""
    place = tracked_hashes.c.tracked_id
    if wanted == TrackedFilter():
        return _leaf_of_all(connection, limit, skipped)
    if wanted.tx_hash is None and skipped < _LATEST:
        latest = select(func.max(place) - _LATEST).scalar_subquery()
        query = _one_by_one(wanted).where(place > latest).order_by(place.desc())
        ids = list(connection.scalars(query.limit(limit).offset(skipped)))
        if len(ids) == limit:
            return ids
    found = _found(wanted).c
    query = select(found.tracked_id).order_by(by_row(found.tracked_id).desc())
    if fitting := list(_conditions_of_cohort(wanted)):
        query = query.where(found.cohort_id.in_(select(cohorts.c.cohort_id).where(*fitting)))
    return list(connection.scalars(query.limit(limit).offset(skipped)))


def _leaf_of_all(connection: Connection, limit: int, skipped: int) -> list[int]:
    """Count from the end that is nearer."""
    place = tracked_hashes.c.tracked_id
    total = how_many_tracked(connection, TrackedFilter())
    some = min(limit, total - skipped)
    if some <= 0:
        return []
    before = total - skipped - some
    query = select(place).order_by(place.desc()).limit(some).offset(skipped)
    if before < skipped:
        query = select(place).order_by(place).limit(some).offset(before)
    return list(connection.scalars(query))


def _one_by_one(wanted: TrackedFilter) -> Select[Any]:
    column = tracked_hashes.c
    query = select(column.tracked_id)
    if wanted.text:
        in_label = column.label.icontains(wanted.text, autoescape=True)
        query = query.where(in_label | column.note.icontains(wanted.text, autoescape=True))
    if fitting := list(_conditions_of_cohort(wanted)):
        query = query.join(cohorts).where(*fitting)
    return query


def _found(wanted: TrackedFilter) -> FromClause:
    """Return tracked_id and cohort_id of all hashes that fit, whatever their cohorts are."""
    column = tracked_hashes.c
    columns = column["tracked_id", "cohort_id"]
    of_hash = () if wanted.tx_hash is None else (column.tx_hash == wanted.tx_hash,)
    if not wanted.text:
        return select(*columns).where(*of_hash).subquery()
    by_label = select(*columns).where(column.label.in_(_labels(wanted.text)), column.label != _NONE)
    return union_all(
        by_label.where(*of_hash), select(*columns).where(*_holds_in_note(wanted.text), *of_hash)
    ).subquery()


def _how_many_hold(connection: Connection, text: str) -> int:
    label = tracked_labels.c.label
    labelled = select(func.coalesce(func.sum(tracked_labels.c.many), 0))
    noted = select(func.count()).select_from(tracked_hashes).where(*_holds_in_note(text))
    in_labels = connection.scalars(labelled.where(label.icontains(text, autoescape=True))).one()
    return int(in_labels) + connection.scalars(noted).one()


def _labels(text: str) -> Select[Any]:
    label = tracked_labels.c.label
    return select(label).where(label.icontains(text, autoescape=True))


def _holds_in_note(text: str) -> Iterator[ColumnElement[bool]]:
    """Demand that a text stands in the note, and not in the label as well."""
    column = tracked_hashes.c
    yield column.note != _NONE
    yield column.note.icontains(text, autoescape=True)
    yield ~column.label.icontains(text, autoescape=True)


def _conditions_of_cohort(wanted: TrackedFilter) -> Iterator[ColumnElement[bool]]:
    """Say what concerns all hashes of a cohort alike."""
    watched = watched_cohorts.c
    on_network = exists().where(watched.cohort_id == cohorts.c.cohort_id)
    has_record: ColumnElement[bool] = cohorts.c.is_rejected
    if wanted.network_id is not None:
        on_network = on_network.where(watched.network_id == wanted.network_id)
        has_record = on_network.where(watched.is_rejected)
        yield on_network
    if wanted.standing is None:
        return
    if wanted.standing is Standing.REJECTED:
        yield has_record
        return
    yield ~has_record
    has_answer = on_network.where(watched.last_answered_at.is_not(None))
    yield has_answer if wanted.standing is Standing.UNREPORTED else ~has_answer
