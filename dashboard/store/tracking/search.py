"""Tracked transactions as people search for them: by status, by hash and by words.

What fits most hashes is found by scanning the latest, or the oldest. What fits few is found by
cohort, by label, or among the hashes with a note.
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
from dashboard.store.engine.expressions import without_index
from dashboard.store.schema import (
    cohorts,
    rejections,
    tracked_hashes,
    tracked_labels,
    watched_cohorts,
)
from dashboard.store.shown_search import hash_or_sender_in_range, shows_words
from dashboard.store.tracking.transactions import TrackedTransaction, read_tracked, select_tracked

_SCANNED: Final = 3000
"""Hashes that are scanned before an index is used: milliseconds."""

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

    With a network, `record_status` is what is on record there. Without, a record of any network
    counts, also of one where the hash is not watched. `search` stands in the label or the note, in
    either case, or a rejection of the hash is shown with all its words, or the hash begins with it,
    or the sender of its rejection. `tx_hashes` stand for either as well.
    """

    network_id: NetworkId | None = None
    record_status: RecordStatus | None = None
    tx_hashes: HashRange | None = None
    search: str = ""


_ALL: Final = TrackedFilter()


def search_tracked(
    connection: Connection, wanted: TrackedFilter, limit: int, skipped: int = 0
) -> list[TrackedTransaction]:
    """Return the tracked transactions that fit after the first `skipped`, the latest first."""
    ids = _page_of_ids(connection, wanted, limit, skipped)
    if not ids:
        return []
    return read_tracked(connection, select_tracked().where(tracked_hashes.c.tracked_id.in_(ids)))


def count_tracked(connection: Connection, wanted: TrackedFilter) -> int:
    """Count the tracked transactions that fit, by whole cohorts and labels where possible."""
    if wanted.tx_hashes is None and not wanted.search:
        size = func.coalesce(func.sum(cohorts.c.size), 0)
        query = select(size).where(*_conditions_of_cohort(wanted))
        return int(connection.scalars(query).one())
    if wanted.tx_hashes is None and _allows_any_cohort(wanted):
        return _count_containing(connection, wanted.search)
    found = _select_fitting(connection, wanted).subquery()
    return connection.scalars(select(func.count()).select_from(found)).one()


def _page_of_ids(
    connection: Connection, wanted: TrackedFilter, limit: int, skipped: int
) -> list[int]:
    """Return the ids of the hashes of a page."""
    if wanted.tx_hashes is None and wanted != _ALL and skipped < _SCANNED:
        latest = _scan_one_end(connection, wanted, limit, skipped)
        if len(latest) == limit:
            return latest
    total = count_tracked(connection, wanted)
    some = min(limit, total - skipped)
    if some <= 0:
        return []
    before = total - skipped - some
    if total == count_tracked(connection, _ALL):
        return _page_of_all(connection, some, skipped, before)
    if wanted.tx_hashes is None and before < _SCANNED:
        oldest = _scan_one_end(connection, wanted, some, before, is_latest=False)
        if len(oldest) == some:
            return oldest
    found = _select_fitting(connection, wanted).subquery().c.tracked_id
    query = select(found).order_by(without_index(found).desc())
    return list(connection.scalars(query.limit(some).offset(skipped)))


def _page_of_all(connection: Connection, limit: int, skipped: int, before: int) -> list[int]:
    """Count from the end that is nearer."""
    place = tracked_hashes.c.tracked_id
    query = select(place).order_by(place.desc()).offset(skipped)
    if before < skipped:
        query = select(place).order_by(place).offset(before)
    return list(connection.scalars(query.limit(limit)))


def _scan_one_end(
    connection: Connection,
    wanted: TrackedFilter,
    limit: int,
    skipped: int,
    *,
    is_latest: bool = True,
) -> list[int]:
    """Scan the latest hashes, or the oldest, for those that fit."""
    column = tracked_hashes.c
    place = column.tracked_id
    query = select(place).where(*_contains_text(wanted))
    if not _allows_any_cohort(wanted):
        query = query.join(cohorts).where(*_conditions_of_cohort(wanted))
    if is_latest:
        border = select(func.max(place) - _SCANNED).scalar_subquery()
        query = query.where(place > border).order_by(place.desc())
    else:
        border = select(func.min(place) + _SCANNED).scalar_subquery()
        query = query.where(place < border).order_by(place)
    return list(connection.scalars(query.limit(limit).offset(skipped)))


def _select_fitting(connection: Connection, wanted: TrackedFilter) -> SelectBase:
    """Select the ids of all hashes that fit, by the condition that fits the fewest."""
    column = tracked_hashes.c
    place = column.tracked_id
    fitting = select(cohorts.c.cohort_id).where(*_conditions_of_cohort(wanted))
    of_cohorts = column.cohort_id.in_(fitting)
    conditions = () if _allows_any_cohort(wanted) else (of_cohorts,)
    if wanted.tx_hashes is not None:
        of_hash = hash_or_sender_in_range(column.tx_hash, wanted.tx_hashes)
        return select(place).where(of_hash, *_contains_text(wanted), *conditions)
    if not wanted.search:
        return select(place).where(*conditions)
    if conditions:
        of_cohort = count_tracked(connection, replace(wanted, search=""))
        if of_cohort <= _count_containing(connection, wanted.search):
            return select(place).where(*conditions, *_contains_text(wanted))
        conditions = (without_index(column.cohort_id).in_(fitting),)
    by_label = select(place).where(
        column.label.in_(_labels_containing(wanted.search)), column.label != _NONE
    )
    by_note = select(place).where(*_only_note_contains(wanted.search))
    by_record = select(place).where(*_only_record_contains(wanted.search))
    return union_all(*(each.where(*conditions) for each in (by_label, by_note, by_record)))


def _allows_any_cohort(wanted: TrackedFilter) -> bool:
    return wanted.network_id is None and wanted.record_status is None


def _contains_text(wanted: TrackedFilter) -> Iterator[ColumnElement[bool]]:
    """Demand that the text stands in the label, the note, a rejection or the hash."""
    if wanted.search:
        yield or_(*_remarks_contain(wanted.search), _record_contains(wanted.search))


def _count_containing(connection: Connection, text: str) -> int:
    label = tracked_labels.c.label
    labelled = select(func.coalesce(func.sum(tracked_labels.c.many), 0))
    noted = select(func.count()).select_from(tracked_hashes).where(*_only_note_contains(text))
    in_labels = connection.scalars(labelled.where(label.icontains(text, autoescape=True))).one()
    recorded = select(func.count()).select_from(tracked_hashes).where(*_only_record_contains(text))
    found = (noted, recorded)
    return int(in_labels) + sum(connection.scalars(query).one() for query in found)


def _labels_containing(text: str) -> Select[Any]:
    label = tracked_labels.c.label
    return select(label).where(label.icontains(text, autoescape=True))


def _only_note_contains(text: str) -> Iterator[ColumnElement[bool]]:
    """Demand that a text stands in the note, and not in the label as well."""
    column = tracked_hashes.c
    yield column.note != _NONE
    yield column.note.icontains(text, autoescape=True)
    yield ~column.label.icontains(text, autoescape=True)


def _only_record_contains(text: str) -> Iterator[ColumnElement[bool]]:
    """Demand that a text stands in a rejection or the hash, and in no remark as well.

    Only cohorts are looked at that have a record, or those whose hash begins so.
    """
    yield _record_contains(text)
    yield from (~each for each in _remarks_contain(text))


def _remarks_contain(text: str) -> Iterator[ColumnElement[bool]]:
    column = tracked_hashes.c
    yield column.label.icontains(text, autoescape=True)
    yield column.note.icontains(text, autoescape=True)


def _record_contains(text: str) -> ColumnElement[bool]:
    column = tracked_hashes.c
    rejected = select(cohorts.c.cohort_id).where(cohorts.c.is_rejected)
    # A limit keeps PostgreSQL from reading all rejections ahead, as it does for EXISTS.
    of_hash = select(rejections.c.rejection_id).where(rejections.c.tx_hash == column.tx_hash)
    shown = of_hash.where(shows_words(text)).limit(1).scalar_subquery().is_not(None)
    hashes = bare_beginning(text)
    by_hash = false() if hashes is None else hash_or_sender_in_range(column.tx_hash, hashes)
    return or_(and_(column.cohort_id.in_(rejected), shown), by_hash)


def _conditions_of_cohort(wanted: TrackedFilter) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions that all hashes of a cohort fulfil, or none."""
    watched = watched_cohorts.c
    on_network = exists().where(watched.cohort_id == cohorts.c.cohort_id)
    has_record: ColumnElement[bool] = cohorts.c.is_rejected
    if wanted.network_id is not None:
        on_network = on_network.where(watched.network_id == wanted.network_id)
        has_record = on_network.where(watched.is_rejected)
        yield on_network
    if wanted.record_status is None:
        return
    if wanted.record_status is RecordStatus.REJECTED:
        yield has_record
        return
    yield ~has_record
    has_answer = on_network.where(watched.last_answered_at.is_not(None))
    yield has_answer if wanted.record_status is RecordStatus.UNREPORTED else ~has_answer
