"""What is tracked, as people look for it: by what is on record, by hash, and by words.

What most hashes share is found among the latest, or the oldest. What few share is found by the
cohorts that it is true of, by labels, or among the hashes with a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    SelectBase,
    and_,
    exists,
    false,
    func,
    literal_column,
    or_,
    select,
    union_all,
)

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejection_filter import HashRange
from dashboard.domain.search import bare_beginning
from dashboard.store.engine.expressions import by_row
from dashboard.store.schema import (
    cohorts,
    rejections,
    tracked_hashes,
    tracked_labels,
    watched_cohorts,
)
from dashboard.store.shown_search import is_named_or_sent, tells_words
from dashboard.store.tracking.transactions import TrackedTransaction, read_tracked, select_tracked

_LOOKED_AT: Final = 3000
"""Hashes that are looked at one by one before what is wanted is found by index: milliseconds."""

_NONE: Final[ColumnElement[str]] = literal_column("''")
"""Written out, so that the planner sees that a partial index fits."""


class RecordStatus(StrEnum):
    """What is on record of a tracked transaction, whatever follows from that."""

    REJECTED = "rejected"
    UNREPORTED = "no rejection on record"
    UNANSWERED = "no answer yet"


@dataclass(frozen=True, slots=True)
class TrackedFilter:
    """What is looked for; what is None may be anything.

    With a network, `standing` is what is on record there. Without, a record of any network counts,
    also of one where the hash is not watched. `text` stands in the label or the note, in either
    case, or a rejection of the hash is shown with all its words, or the hash begins with it, or the
    sender of its rejection. `tx_hashes` stand for either as well.
    """

    network_id: NetworkId | None = None
    standing: RecordStatus | None = None
    tx_hashes: HashRange | None = None
    text: str = ""


_ALL: Final = TrackedFilter()


def search_tracked(
    connection: Connection, wanted: TrackedFilter, limit: int, skipped: int = 0
) -> list[TrackedTransaction]:
    """Return what is tracked and fits after the first `skipped`, the latest first."""
    ids = _leaf(connection, wanted, limit, skipped)
    if not ids:
        return []
    return read_tracked(connection, select_tracked().where(tracked_hashes.c.tracked_id.in_(ids)))


def count_tracked(connection: Connection, wanted: TrackedFilter) -> int:
    """Count what is tracked and fits: whole cohorts and whole labels, where that is possible."""
    if wanted.tx_hashes is None and not wanted.text:
        size = func.coalesce(func.sum(cohorts.c.size), 0)
        query = select(size).where(*_conditions_of_cohort(wanted))
        return int(connection.scalars(query).one())
    if wanted.tx_hashes is None and _is_of_any_cohort(wanted):
        return _how_many_hold(connection, wanted.text)
    found = _found(connection, wanted).subquery()
    return connection.scalars(select(func.count()).select_from(found)).one()


def _leaf(connection: Connection, wanted: TrackedFilter, limit: int, skipped: int) -> list[int]:
    """Return the numbers of the hashes of a leaf."""
    if wanted.tx_hashes is None and wanted != _ALL and skipped < _LOOKED_AT:
        latest = _at_one_end(connection, wanted, limit, skipped)
        if len(latest) == limit:
            return latest
    total = count_tracked(connection, wanted)
    some = min(limit, total - skipped)
    if some <= 0:
        return []
    before = total - skipped - some
    if total == count_tracked(connection, _ALL):
        return _leaf_of_all(connection, some, skipped, before)
    if wanted.tx_hashes is None and before < _LOOKED_AT:
        oldest = _at_one_end(connection, wanted, some, before, is_latest=False)
        if len(oldest) == some:
            return oldest
    found = _found(connection, wanted).subquery().c.tracked_id
    query = select(found).order_by(by_row(found).desc())
    return list(connection.scalars(query.limit(some).offset(skipped)))


def _leaf_of_all(connection: Connection, limit: int, skipped: int, before: int) -> list[int]:
    """Count from the end that is nearer."""
    place = tracked_hashes.c.tracked_id
    query = select(place).order_by(place.desc()).offset(skipped)
    if before < skipped:
        query = select(place).order_by(place).offset(before)
    return list(connection.scalars(query.limit(limit)))


def _at_one_end(
    connection: Connection,
    wanted: TrackedFilter,
    limit: int,
    skipped: int,
    *,
    is_latest: bool = True,
) -> list[int]:
    """Look at the latest hashes one by one, or at the oldest, for those that fit."""
    column = tracked_hashes.c
    place = column.tracked_id
    query = select(place).where(*_holds(wanted))
    if not _is_of_any_cohort(wanted):
        query = query.join(cohorts).where(*_conditions_of_cohort(wanted))
    if is_latest:
        border = select(func.max(place) - _LOOKED_AT).scalar_subquery()
        query = query.where(place > border).order_by(place.desc())
    else:
        border = select(func.min(place) + _LOOKED_AT).scalar_subquery()
        query = query.where(place < border).order_by(place)
    return list(connection.scalars(query.limit(limit).offset(skipped)))


def _found(connection: Connection, wanted: TrackedFilter) -> SelectBase:
    """Select the numbers of all hashes that fit, by what leads to the fewest."""
    column = tracked_hashes.c
    place = column.tracked_id
    fitting = select(cohorts.c.cohort_id).where(*_conditions_of_cohort(wanted))
    of_cohorts = column.cohort_id.in_(fitting)
    conditions = () if _is_of_any_cohort(wanted) else (of_cohorts,)
    if wanted.tx_hashes is not None:
        of_hash = is_named_or_sent(column.tx_hash, wanted.tx_hashes)
        return select(place).where(of_hash, *_holds(wanted), *conditions)
    if not wanted.text:
        return select(place).where(*conditions)
    if conditions:
        of_cohort = count_tracked(connection, replace(wanted, text=""))
        if of_cohort <= _how_many_hold(connection, wanted.text):
            return select(place).where(*conditions, *_holds(wanted))
        conditions = (by_row(column.cohort_id).in_(fitting),)
    by_label = select(place).where(column.label.in_(_labels(wanted.text)), column.label != _NONE)
    by_note = select(place).where(*_holds_in_note(wanted.text))
    by_record = select(place).where(*_holds_in_record(wanted.text))
    return union_all(*(each.where(*conditions) for each in (by_label, by_note, by_record)))


def _is_of_any_cohort(wanted: TrackedFilter) -> bool:
    return wanted.network_id is None and wanted.standing is None


def _holds(wanted: TrackedFilter) -> Iterator[ColumnElement[bool]]:
    """Demand that the text stands in the label, the note, a rejection or the hash."""
    if wanted.text:
        yield or_(*_in_remarks(wanted.text), _in_record(wanted.text))


def _how_many_hold(connection: Connection, text: str) -> int:
    label = tracked_labels.c.label
    labelled = select(func.coalesce(func.sum(tracked_labels.c.many), 0))
    noted = select(func.count()).select_from(tracked_hashes).where(*_holds_in_note(text))
    in_labels = connection.scalars(labelled.where(label.icontains(text, autoescape=True))).one()
    recorded = select(func.count()).select_from(tracked_hashes).where(*_holds_in_record(text))
    found = (noted, recorded)
    return int(in_labels) + sum(connection.scalars(query).one() for query in found)


def _labels(text: str) -> Select[Any]:
    label = tracked_labels.c.label
    return select(label).where(label.icontains(text, autoescape=True))


def _holds_in_note(text: str) -> Iterator[ColumnElement[bool]]:
    """Demand that a text stands in the note, and not in the label as well."""
    column = tracked_hashes.c
    yield column.note != _NONE
    yield column.note.icontains(text, autoescape=True)
    yield ~column.label.icontains(text, autoescape=True)


def _holds_in_record(text: str) -> Iterator[ColumnElement[bool]]:
    """Demand that a text stands in a rejection or the hash, and in no remark as well.

    Only cohorts are looked at that have a record, or those whose hash begins so.
    """
    yield _in_record(text)
    yield from (~each for each in _in_remarks(text))


def _in_remarks(text: str) -> Iterator[ColumnElement[bool]]:
    column = tracked_hashes.c
    yield column.label.icontains(text, autoescape=True)
    yield column.note.icontains(text, autoescape=True)


def _in_record(text: str) -> ColumnElement[bool]:
    column = tracked_hashes.c
    rejected = select(cohorts.c.cohort_id).where(cohorts.c.is_rejected)
    # A limit keeps PostgreSQL from reading all rejections ahead, as it does to tell what exists.
    of_hash = select(rejections.c.rejection_id).where(rejections.c.tx_hash == column.tx_hash)
    told = of_hash.where(tells_words(text)).limit(1).scalar_subquery().is_not(None)
    hashes = bare_beginning(text)
    by_hash = false() if hashes is None else is_named_or_sent(column.tx_hash, hashes)
    return or_(and_(column.cohort_id.in_(rejected), told), by_hash)


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
    if wanted.standing is RecordStatus.REJECTED:
        yield has_record
        return
    yield ~has_record
    has_answer = on_network.where(watched.last_answered_at.is_not(None))
    yield has_answer if wanted.standing is RecordStatus.UNREPORTED else ~has_answer
