"""Tracked transactions: hashes that people watch, on which networks; added, edited, removed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.structs import asdict
from sqlalchemy import Connection, Row, Select, delete, insert, select, update

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.remarks import MOST_TAGS, Remarks, tags_in, written_tags
from dashboard.domain.tracking.track_csv import TrackResult
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import WATCHED_FOR
from dashboard.errors import InputError
from dashboard.store.engine.batching import portions, rows_among
from dashboard.store.engine.driver import insert_many
from dashboard.store.engine.upsert import upsert_sums
from dashboard.store.schema import (
    cohorts,
    tracked_hashes,
    tracked_labels,
    tracked_tags,
    watched_cohorts,
)
from dashboard.store.schema.columns import escape, milliseconds_of
from dashboard.store.tracking.cohorts import (
    LARGEST_COHORT,
    age_starts_at,
    insert_cohort,
    renew,
    resize_cohort,
    restart_watch,
    watch_again,
    watch_on_networks,
)
from dashboard.store.tracking.poll_results import adopt_earlier_results, keep_results_of_removed

TEXTS: Final = ("label", "note", "case_id", "owner")
_COLUMNS: Final = ("tx_hash", "cohort_id", "attempted_at", *TEXTS, "tags")
_HASH: Final = attrgetter("tx_hash")
_FINEST_SHARE: Final = 6
"""Ages that differ by less than 2^-6 share a cohort: that changes no tick."""


@dataclass(frozen=True, slots=True)
class TrackedTransaction:
    """A tracked hash and its networks; its texts are as people wrote them.

    The tags of `remarks` are the words with # in the label, in the note and in the given tags,
    sorted: `#a #b`. `tracked_id` rises in the order of tracking; `born_at` is when its age began.
    """

    tx_hash: TxHash
    network_ids: tuple[NetworkId, ...]
    tracked_at: datetime
    remarks: Remarks
    tracked_id: int = field(default=0, compare=False)
    born_at: datetime | None = field(default=None, compare=False)

    @property
    def ends_at(self) -> datetime | None:
        """Return when it is asked about for the last time; None if it is watched on no network."""
        return None if self.born_at is None else self.born_at + WATCHED_FOR

    @property
    def filed(self) -> TrackRequest:
        """Return its row of a file."""
        return TrackRequest(self.tx_hash, self.network_ids, self.remarks)


_Known: TypeAlias = Mapping[TxHash, tuple[Row[Any], tuple[NetworkId, ...]]]
"""Rows of tracked hashes, each with the networks on which it is watched."""


def track(connection: Connection, request: TrackRequest, now: datetime) -> bool:
    """Track one as `track_all` does many; True if the hash, or one of its networks, is new."""
    return track_all(connection, [request], now) == [TrackResult.NEW]


def track_all(
    connection: Connection, requests: Sequence[TrackRequest], now: datetime
) -> list[TrackResult]:
    """Track hashes on the requested networks; return the result of each request.

    If a hash is tracked already, only missing remarks are filled in; the result is NEW if a network
    is added. A repeated request changes nothing, except that the hash is asked about as often as a
    new one.
    """
    known = _tracked_rows(connection, {each.tx_hash for each in requests})
    first: dict[TxHash, TrackRequest] = {}
    for each in requests:
        if each.tx_hash not in known:
            first.setdefault(each.tx_hash, each)
    _insert(connection, first.values(), now)
    results = []
    for each in requests:
        if first.get(each.tx_hash) is each:
            results.append(TrackResult.NEW)
        elif each.tx_hash in known and not _adds_something(each, *known[each.tx_hash]):
            results.append(TrackResult.KNOWN)
        else:
            results.append(_track_again(connection, each, now))
    again = [each.tx_hash for each in requests if each.tx_hash in known]
    watch_again(connection, again, now)
    renew(connection, again, now)
    return results


def tracked_among(
    connection: Connection, hashes: Sequence[TxHash]
) -> dict[TxHash, tuple[str, str]]:
    """Return the tracked ones of the hashes, each with its case id and its label."""
    column = tracked_hashes.c
    query = select(column.tx_hash, column.case_id, column.label).where(column.tx_hash.in_(hashes))
    return {row.tx_hash: (row.case_id, row.label) for row in connection.execute(query)}


def select_tracked() -> Select[Any]:
    """Select tracked transactions, the latest first, for `read_tracked`."""
    query = select(tracked_hashes, cohorts.c.tracked_at).join(cohorts)
    return query.order_by(tracked_hashes.c.tracked_id.desc())


def select_tracked_among(tracked_ids: Sequence[int]) -> Select[Any]:
    return select_tracked().where(tracked_hashes.c.tracked_id.in_(tracked_ids))


def read_tracked(connection: Connection, query: Select[Any]) -> list[TrackedTransaction]:
    """Read the rows of a `select_tracked`, each with the networks on which it is watched."""
    rows = connection.execute(query).all()
    networks = _networks_of(connection, sorted({row.cohort_id for row in rows}))
    return [
        TrackedTransaction(
            row.tx_hash,
            networks[row.cohort_id].network_ids,
            row.tracked_at,
            remarks_of(row),
            row.tracked_id,
            networks[row.cohort_id].born_at,
        )
        for row in rows
    ]


def remarks_of(row: Row[Any]) -> Remarks:
    return Remarks(row.attempted_at, row.label, row.note, row.case_id, row.owner, row.tags)


class _WatchedOn(NamedTuple):
    network_ids: tuple[NetworkId, ...]
    born_at: datetime | None


def _networks_of(connection: Connection, cohort_ids: Sequence[int]) -> dict[int, _WatchedOn]:
    """Return the networks on which each of some cohorts is watched, and when its age began."""
    column = watched_cohorts.c
    found = {each: _WatchedOn((), None) for each in cohort_ids}
    query = select(column.cohort_id, column.network_id, column.born_at).order_by(column.network_id)
    rows = rows_among(connection, query, column.cohort_id, cohort_ids)
    for cohort_id, network_id, born_at in rows:
        before, latest = found[cohort_id]
        latest = born_at if latest is None else max(latest, born_at)
        found[cohort_id] = _WatchedOn((*before, network_id), latest)
    return found


def _tracked_rows(connection: Connection, hashes: Collection[TxHash]) -> _Known:
    rows = rows_of(connection, hashes)
    networks = _networks_of(connection, sorted({row.cohort_id for row in rows}))
    return {row.tx_hash: (row, networks[row.cohort_id].network_ids) for row in rows}


def rows_of(connection: Connection, hashes: Collection[TxHash]) -> list[Row[Any]]:
    """Read the rows of tracked hashes; sorting them spares the index most of its reads."""
    column = tracked_hashes.c.tx_hash
    return list(rows_among(connection, select(tracked_hashes), column, sorted(hashes)))


def _insert(connection: Connection, requests: Collection[TrackRequest], now: datetime) -> None:
    """Insert hashes that are not tracked yet, in cohorts of one age."""
    cohort_ids: list[int] = []
    rows: list[tuple[Any, ...]] = []
    for network_ids, alike in _by_networks_and_age(requests, now):
        for some in portions(alike, LARGEST_COHORT):
            born_at = max(age_starts_at(each.remarks.attempted_at, now) for each in some)
            watched = _watched(network_ids, born_at, now)
            cohort_ids.append(insert_cohort(connection, now, len(some), watched))
            rows += (
                (
                    bytes(each.tx_hash),
                    cohort_ids[-1],
                    None if (at := each.remarks.attempted_at) is None else milliseconds_of(at),
                    *(escape(getattr(each.remarks, name)) for name in TEXTS),
                    written_tags(each.remarks.all_tags),
                )
                for each in some
            )
    insert_many(connection, tracked_hashes, rows, _COLUMNS)
    count_labels(connection, (each.remarks.label for each in requests))
    index_tags(connection, [each.tx_hash for each in requests if each.remarks.all_tags])
    adopt_earlier_results(connection, cohort_ids)


def _by_networks_and_age(
    requests: Iterable[TrackRequest], now: datetime
) -> Iterable[tuple[Sequence[NetworkId], Sequence[TrackRequest]]]:
    """Group requests by networks and nearly equal ages, sorted by hash.

    Sorted hashes save the index of a large store most of its reads and writes, and keep lists of
    the latest first sorted too.
    """
    alike: defaultdict[tuple[tuple[NetworkId, ...], tuple[int, int]], list[TrackRequest]]
    alike = defaultdict(list)
    for each in sorted(requests, key=_HASH, reverse=True):
        alike[each.network_ids, _shared_age(each.remarks.attempted_at, now)].append(each)
    return ((sorted(set(network_ids)), some) for (network_ids, _), some in alike.items())


def _shared_age(attempted_at: datetime | None, now: datetime) -> tuple[int, int]:
    if attempted_at is None:
        return 0, 0
    age = int((now - age_starts_at(attempted_at, now)).total_seconds())
    coarse = max(0, age.bit_length() - _FINEST_SHARE)
    return coarse, age >> coarse


def _adds_something(
    request: TrackRequest, row: Row[Any], network_ids: Collection[NetworkId]
) -> bool:
    return (
        bool(_missing_values(request, row))
        or len(_tags_with(request, row)) > MOST_TAGS
        or not set(request.network_ids).issubset(network_ids)
    )


def _missing_values(request: TrackRequest, row: Row[Any]) -> dict[str, Any]:
    """Return the values of the request that the row lacks."""
    held = row._mapping  # noqa: SLF001 - the public name of a row's columns
    names = ("attempted_at", *TEXTS)
    missing = {name: getattr(request.remarks, name) for name in names if not held[name]}
    filled = {name: value for name, value in missing.items() if value}
    tags = _tags_with(request, row)
    written = row.tags if len(tags) > MOST_TAGS else written_tags(tags)
    return filled if written == row.tags else filled | {"tags": written}


def _tags_with(request: TrackRequest, row: Row[Any]) -> frozenset[str]:
    """Return the tags of a row with those of the request, and of the texts that it fills in."""
    return remarks_of(row).completed_by(request.remarks).all_tags


def _track_again(connection: Connection, request: TrackRequest, now: datetime) -> TrackResult:
    """Fill in missing remarks, and watch the hash on further networks."""
    row, network_ids = _tracked_rows(connection, [request.tx_hash])[request.tx_hash]
    if filled := _missing_values(request, row):
        of_row = update(tracked_hashes).where(tracked_hashes.c.tracked_id == row.tracked_id)
        connection.execute(of_row.values(**filled))
        count_labels(connection, [filled.get("label", "")])
        if "tags" in filled:
            index_tags(connection, [request.tx_hash])
    further = sorted(set(request.network_ids).difference(network_ids))
    if further or "attempted_at" in filled:
        attempted_at = row.attempted_at or request.remarks.attempted_at
        cohort_id = restart_watch(connection, request.tx_hash, attempted_at, now)
        watch_on_networks(
            connection, cohort_id, _watched(further, age_starts_at(attempted_at, now), now)
        )
        adopt_earlier_results(connection, [cohort_id])
    if len(_tags_with(request, row)) > MOST_TAGS:
        return TrackResult.WITHOUT_TAGS
    if further:
        return TrackResult.NEW
    return TrackResult.FILLED_IN if filled else TrackResult.KNOWN


def _watched(
    network_ids: Iterable[NetworkId], born_at: datetime, now: datetime
) -> list[dict[str, Any]]:
    return [{"network_id": each, "watched_at": now, "born_at": born_at} for each in network_ids]


def edit_tracked(connection: Connection, tx_hash: TxHash, remarks: Remarks, now: datetime) -> bool:
    """Replace the remarks; False if the hash is no longer tracked.

    InputError if it would have more than `MOST_TAGS`.

    Another time of the attempt means another schedule: the hash gets a new cohort, which the poll
    loads, even if it had asked its last question about the hash.
    """
    of_hash = tracked_hashes.c.tx_hash == tx_hash
    before = connection.execute(select(tracked_hashes).where(of_hash)).one_or_none()
    if before is None:
        return False
    changed = asdict(remarks) | {"tags": bounded_tags(tx_hash, remarks)}
    connection.execute(update(tracked_hashes).where(of_hash).values(**changed))
    count_labels(connection, [remarks.label], [before.label])
    if before.tags != changed["tags"]:
        index_tags(connection, [tx_hash])
    if before.attempted_at != remarks.attempted_at:
        restart_watch(connection, tx_hash, remarks.attempted_at, now, before.attempted_at)
    return True


def untrack(connection: Connection, tx_hash: TxHash) -> bool:
    """Stop tracking a hash; False if it is not tracked.

    Its rejections, results and notifications stay.
    """
    leaving = delete(tracked_hashes).where(tracked_hashes.c.tx_hash == tx_hash)
    left = leaving.returning(*tracked_hashes.c["cohort_id", "label", "tags", "tracked_id"])
    row = connection.execute(left).one_or_none()
    if row is None:
        return False
    keep_results_of_removed(connection, tx_hash, row.cohort_id)
    resize_cohort(connection, row.cohort_id, -1)
    count_labels(connection, gone=[row.label])
    if row.tags:
        of_hash = tracked_tags.c.tracked_id == row.tracked_id
        connection.execute(delete(tracked_tags).where(of_hash))
    return True


def bounded_tags(tx_hash: TxHash, remarks: Remarks) -> str:
    """Return every tag of a hash; InputError names it if there are more than `MOST_TAGS`."""
    if (many := len(remarks.all_tags)) > MOST_TAGS:
        raise InputError(
            f"{tx_hash} would have {many:,} tags, of {MOST_TAGS} at most: remove some of it first"
        )
    return written_tags(remarks.all_tags)


def index_tags(connection: Connection, hashes: Sequence[TxHash]) -> None:
    """Update the index of tags for these hashes."""
    column = tracked_hashes.c
    for some in portions(sorted(hashes)):
        query = select(column.tracked_id, column.tags).where(column.tx_hash.in_(some))
        tagged = connection.execute(query).all()
        before = tracked_tags.c.tracked_id.in_([row.tracked_id for row in tagged])
        connection.execute(delete(tracked_tags).where(before))
        rows = [
            {"tag": tag, "tracked_id": row.tracked_id}
            for row in tagged
            for tag in tags_in(row.tags)
        ]
        if rows:
            connection.execute(insert(tracked_tags), rows)


def count_labels(
    connection: Connection, come: Iterable[str] = (), gone: Iterable[str] = ()
) -> None:
    """Update how many hashes have each label."""
    counts = Counter(come)
    counts.subtract(gone)
    changed = {label: many for label, many in counts.items() if label and many}
    rows = [{"label": label, "many": many} for label, many in changed.items()]
    upsert_sums(connection, tracked_labels, rows)
    if any(many < 0 for many in changed.values()):
        connection.execute(delete(tracked_labels).where(tracked_labels.c.many == 0))
