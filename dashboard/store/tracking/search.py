"""Tracked transactions as people search for them: by status, by hash and by words.

A filter that matches most hashes is answered by scanning the latest. One that matches few is
answered by cohort, by label, or among the hashes with a note or a case id; owners and tags have
their own index.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    SelectBase,
    and_,
    case,
    exists,
    false,
    func,
    literal_column,
    or_,
    select,
    type_coerce,
    union_all,
)

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.search import HashRange, bare_beginning
from dashboard.store.engine.batching import rows_among
from dashboard.store.engine.upsert import without_index
from dashboard.store.schema import (
    cohorts,
    rejections,
    tracked_hashes,
    tracked_labels,
    tracked_tags,
    watched_cohorts,
)
from dashboard.store.schema.columns import escape
from dashboard.store.shown_search import has_label_containing, hash_or_sender_in_range, shows_words
from dashboard.store.tracking.groups import NeedNow, needing
from dashboard.store.tracking.transactions import (
    TrackedTransaction,
    read_tracked,
    select_tracked_among,
)

_SCANNED: Final = 25_000
"""How many hashes are scanned before an index is used: milliseconds."""

_NONE: Final[ColumnElement[str]] = literal_column("''")
"""Written out, so that the planner sees that a partial index matches."""


class RecordStatus(StrEnum):
    """What is on record of a tracked transaction."""

    REJECTED = "rejected"
    UNREPORTED = "no rejection on record"
    UNANSWERED = "no answer yet"


class TrackedFilter(Struct, frozen=True):
    """Which transactions to find; None matches everything.

    With a network, `record_status` is what is on record there. Without one, a record of any network
    counts, even if the hash is not watched there. `search` matches if the label, the note or the
    case id contains it, in either case; if a rejection of the hash is shown with all its words; or
    if the hash or the sender of its rejection begins with it. `tx_hashes` contains the hash or that
    sender. Label, case id, owner and tag are whole ones; an empty one matches everything.
    """

    network_id: NetworkId | None = None
    record_status: RecordStatus | None = None
    tx_hashes: HashRange | None = None
    search: str = ""
    label: str = ""
    case_id: str = ""
    owner: str = ""
    tag: str = ""
    need: NeedNow | None = None


_ALL: Final = TrackedFilter()


def search_tracked(
    connection: Connection, wanted: TrackedFilter, limit: int, before: int | None = None
) -> list[TrackedTransaction]:
    """Return matching tracked transactions, the latest first, or those before that id."""
    ids = _page_of_ids(connection, wanted, limit, before)
    return read_tracked(connection, select_tracked_among(ids)) if ids else []


def matching_hashes(connection: Connection, wanted: TrackedFilter, most: int) -> list[TxHash]:
    """Return the matching hashes, at most so many, the latest first."""
    ids, column = _page_of_ids(connection, wanted, most, None), tracked_hashes.c
    rows = rows_among(connection, select(column.tx_hash), column.tracked_id, ids)
    return [row.tx_hash for row in rows]


def count_tracked(connection: Connection, wanted: TrackedFilter) -> int:
    """Count matching tracked transactions, by whole cohorts and labels where possible."""
    if _has_index(wanted):
        return _count(connection, _select_of_index(wanted))
    if wanted.tx_hashes is None and not wanted.search:
        size = func.coalesce(func.sum(cohorts.c.size), 0)
        query = select(size).where(*_conditions_of_cohort(wanted))
        return int(connection.scalars(query).one())
    if wanted.tx_hashes is None and _allows_any_cohort(wanted):
        return _count_containing(connection, wanted.search)
    return _count(connection, _select_fitting(connection, wanted))


class AgeGroup(NamedTuple):
    """How many hashes of a network have ages that began within one hour, around `born_at`.

    `included_after` is the mean age at which they were seen in a block, None if they were not. Of
    follow-ups, which a node answers, ages begin when a hash was tracked, not sent.
    """

    network_id: NetworkId
    is_rejected: bool
    many: int
    born_at: datetime
    included_after: timedelta | None = None


def count_by_age(connection: Connection, after: datetime) -> list[AgeGroup]:
    """Count the watched hashes of each network that were born after a moment, hour by hour."""
    return _count_by_age(connection, watched_cohorts.c.born_at, after)


def count_follow_ups_by_age(connection: Connection, after: datetime) -> list[AgeGroup]:
    """Count the hashes of each network whose follow-up began after a moment, hour by hour."""
    column = watched_cohorts.c
    is_later = column.watched_at > column.born_at
    begun_at = case((is_later, column.watched_at), else_=column.born_at)
    return _count_by_age(connection, begun_at, after)


def _count_by_age(
    connection: Connection, begun_at: ColumnElement[datetime], after: datetime
) -> list[AgeGroup]:
    column = watched_cohorts.c
    born, included = (type_coerce(each, BigInteger) for each in (begun_at, column.included_at))
    alike = (column.network_id, column.is_rejected)
    query = (
        select(*alike, func.sum(cohorts.c.size))
        .add_columns(func.min(begun_at), func.max(begun_at))
        .add_columns(func.sum((included - born) * cohorts.c.size))
        .join(cohorts)
        .where(begun_at > after)
        .group_by(*alike, included.is_(None))
        .group_by(born - born % literal_column("3600000", BigInteger()))
    )
    return [
        AgeGroup(
            network_id,
            is_rejected,
            int(many),
            first + (last - first) / 2,
            None if waited is None else timedelta(milliseconds=int(waited / many)),
        )
        for network_id, is_rejected, many, first, last, waited in connection.execute(query)
    ]


def count_up_to(connection: Connection, wanted: TrackedFilter, most: int) -> int:
    """Count matches up to `most` and one more, from which a page sees that there are more."""
    if _has_index(wanted):
        return _count(connection, _select_of_index(wanted).limit(most + 1))
    if wanted.search and wanted.tx_hashes is None and _allows_any_cohort(wanted):
        return min(_count_containing(connection, wanted.search, most + 1), most + 1)
    return min(count_tracked(connection, wanted), most + 1)


def _page_of_ids(
    connection: Connection, wanted: TrackedFilter, limit: int, before: int | None
) -> list[int]:
    place = tracked_hashes.c.tracked_id
    beyond = () if before is None else (place < before,)
    if wanted == _ALL:
        query = select(place).where(*beyond).order_by(place.desc())
        return list(connection.scalars(query.limit(limit)))
    if _has_index(wanted):
        query = _select_of_index(wanted).where(*beyond).order_by(place.desc())
        return list(connection.scalars(query.limit(limit)))
    if wanted.tx_hashes is None:
        latest = _scan_latest(connection, wanted, limit, before)
        if len(latest) == limit:
            return latest
    found = _select_fitting(connection, wanted).subquery().c.tracked_id
    query = select(found).order_by(without_index(found).desc()).limit(limit)
    return list(connection.scalars(query if before is None else query.where(found < before)))


def _has_index(wanted: TrackedFilter) -> bool:
    """Whether an index leads from the filter to its hashes in order."""
    return any((wanted.label, wanted.case_id, wanted.owner, wanted.tag, wanted.need))


def _select_of_index(wanted: TrackedFilter) -> Select[Any]:
    """Select the matches by the index of owners, or of needs."""
    column = tracked_hashes.c
    query = select(column.tracked_id).where(*_contains_text(wanted))
    for of_row, value in (
        (column.label, wanted.label),
        (column.case_id, wanted.case_id),
        (column.owner, wanted.owner),
    ):
        if value:
            query = query.where(of_row == value, of_row != _NONE)
    if wanted.tag:
        is_tag = tracked_tags.c.tag == escape(wanted.tag)
        tagged = select(tracked_tags.c.tracked_id).where(is_tag)
        query = query.where(column.tracked_id.in_(tagged))
    if wanted.need is not None:
        query = query.where(column.tracked_id.in_(needing(wanted.need, wanted.network_id)))
    if wanted.tx_hashes is not None:
        query = query.where(hash_or_sender_in_range(column.tx_hash, wanted.tx_hashes))
    if not _allows_any_cohort(wanted):
        query = query.join(cohorts).where(*_conditions_of_cohort(wanted))
    return query


def _scan_latest(
    connection: Connection, wanted: TrackedFilter, limit: int, before: int | None
) -> list[int]:
    place = tracked_hashes.c.tracked_id
    query = select(place).where(*_contains_text(wanted))
    if not _allows_any_cohort(wanted):
        query = query.join(cohorts).where(*_conditions_of_cohort(wanted))
    if before is None:
        query = query.where(place > select(func.max(place) - _SCANNED).scalar_subquery())
    else:
        query = query.where(place > before - _SCANNED, place < before)
    return list(connection.scalars(query.order_by(place.desc()).limit(limit)))


def _select_fitting(connection: Connection, wanted: TrackedFilter) -> SelectBase:
    """Select the ids of all matching hashes, by the condition that fewest hashes meet."""
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
    by_label = select(place).where(*has_label_containing(wanted.search))
    others = (select(place).where(*each) for each in _beside_labels(wanted.search))
    return union_all(*(each.where(*conditions) for each in (by_label, *others)))


def _allows_any_cohort(wanted: TrackedFilter) -> bool:
    return wanted.network_id is None and wanted.record_status is None


def _contains_text(wanted: TrackedFilter) -> Iterator[ColumnElement[bool]]:
    """Require that the label, note, case id, a rejection or the hash contains the text."""
    if wanted.search:
        yield or_(*_remarks_contain(wanted.search), _record_contains(wanted.search))


def _count_containing(connection: Connection, text: str, enough: int | None = None) -> int:
    """Count the hashes that show a text, up to `enough`."""
    label = tracked_labels.c.label
    labelled = select(func.coalesce(func.sum(tracked_labels.c.many), 0))
    in_labels = labelled.where(label.icontains(text, autoescape=True))
    found = int(connection.scalars(in_labels).one())
    for each in _beside_labels(text):
        if enough is not None and found >= enough:
            break
        found += _count(connection, select(tracked_hashes.c.tracked_id).where(*each).limit(enough))
    return found


def _count(connection: Connection, found: SelectBase) -> int:
    return connection.scalars(select(func.count()).select_from(found.subquery())).one()


def _case_ids_containing(text: str) -> Select[Any]:
    """Select matching case ids, each read once: 35 ms of CPU for a million hashes, not 130."""
    case_id = tracked_hashes.c.case_id
    known = select(case_id).where(case_id != _NONE).distinct().cte("of_cases")
    known = known.prefix_with("MATERIALIZED")
    return select(known.c.case_id).where(known.c.case_id.icontains(text, autoescape=True))


def _beside_labels(text: str) -> Iterator[list[ColumnElement[bool]]]:
    """Yield the conditions of each other place of a text; no hash meets two of them.

    Those that an index answers come first.
    """
    column = tracked_hashes.c
    in_label, in_note, in_case_id = _remarks_contain(text)
    of_case = column.case_id.in_(_case_ids_containing(text))
    yield [column.note != _NONE, in_note, ~in_label]
    yield [column.case_id != _NONE, of_case, ~in_label, ~in_note]
    # Only cohorts with a record are read, and hashes that begin so.
    yield [_record_contains(text), ~in_label, ~in_note, ~in_case_id]


def _remarks_contain(text: str) -> Iterator[ColumnElement[bool]]:
    """Require that the label, the note or the case id contains a text."""
    column = tracked_hashes.c
    for each in (column.label, column.note, column.case_id):
        yield each.icontains(text, autoescape=True)


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
    """Yield the conditions that hold for all hashes of a cohort, or for none."""
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
