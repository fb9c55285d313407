"""How the archive of rejections is read, each way beside what a plain model of it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import ArchivedRejection, RejectionStage, StoredRejection
from dashboard.domain.rejections.reasons import ReasonKind, parse_reason
from dashboard.domain.rejections.search import HashRange, RejectionFilter
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.archive import (
    PageRequest,
    all_arrivals,
    archive_page,
    archived_versions,
    last_rejection_id,
    queryable_record,
)
from dashboard.store.rejections.counts import (
    Grouping,
    count_by,
    count_causes,
    count_over_time,
    count_rejections,
)
from dashboard.store.rejections.known_hashes import RejectionReader
from dashboard.store.rejections.search import search, unparsed_reasons
from tests.model.kills import Turn
from tests.model.rejections import Archive
from tests.model.world import HASHES, NETWORKS, SENDERS
from tests.one_by_one import newest, versions

_ALL: Final = frozenset(NETWORKS)
_MANY: Final = 10_000
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


class Numbers:
    """The store's own numbers of arrivals, turned into places counted from one."""

    def __init__(self, arrivals: Sequence[ArchivedRejection]) -> None:
        """Learn the numbers, which must count up."""
        ids = [each.rejection.rejection_id for each in arrivals]
        assert ids == sorted(set(ids)), f"arrivals are numbered {ids}"
        self.ids = ids
        self._places = {each: place for place, each in enumerate(ids, start=1)}

    def of(self, rejection: StoredRejection) -> StoredRejection:
        return replace(rejection, rejection_id=self._places[rejection.rejection_id])

    def of_all(self, rejections: Sequence[StoredRejection]) -> list[StoredRejection]:
        return [self.of(each) for each in rejections]

    def of_archived(self, found: Sequence[ArchivedRejection]) -> list[ArchivedRejection]:
        return [replace(each, rejection=self.of(each.rejection)) for each in found]


def numbers_of(connection: Connection) -> Numbers:
    """Read the store's own numbers."""
    return Numbers(all_arrivals(connection, 0, _MANY))


def filters(now: datetime) -> tuple[RejectionFilter, ...]:
    """Return what people look for, one wish of each kind and a few together."""
    beginning = HASHES[2].hex()[:8]
    return (
        RejectionFilter(),
        RejectionFilter(network_id=NETWORKS[0], tx_rejection_stage=RejectionStage.RPC),
        RejectionFilter(module="ADD", until=now - _HOUR),
        RejectionFilter(module="", claimed_since=now - _DAY),
        RejectionFilter(reason_kind=ReasonKind.UNPARSED, network_ids=frozenset(NETWORKS[:1])),
        RejectionFilter(sender=SENDERS[1], since=now - _HOUR),
        RejectionFilter(text="\\U0000 _OR_", claimed_until=now - timedelta(minutes=1)),
        RejectionFilter(tx_hashes=HashRange.beginning_with(beginning)),
    )


def check_archive(connection: Connection, held: Archive, now: datetime, turn: Turn) -> None:
    """Read the archive in every way whose turn it is, and see that it is what is held."""
    arrived = all_arrivals(connection, 0, _MANY)
    numbers = Numbers(arrived)
    assert numbers.of_archived(arrived) == [held.archived(each) for each in held.rejections]
    assert last_rejection_id(connection) == max(numbers.ids, default=0)
    assert numbers.of_all(newest(connection, 3)) == _latest(held.rejections)[:3]
    for tx_hash in HASHES:
        _check_hash(connection, held, numbers, tx_hash, now)
    for number, wanted in enumerate(turn.some_of(filters(now)), start=len(arrived)):
        _check_search(connection, held, numbers, wanted)
        (grouping,) = Turn(number).some_of(tuple(Grouping))
        _check_counts(connection, held, wanted, grouping)
        _check_counters(connection, held, wanted)
    _check_reasons(connection, held)


def _check_hash(
    connection: Connection, held: Archive, numbers: Numbers, tx_hash: TxHash, now: datetime
) -> None:
    own = held.of_hash(tx_hash)
    best = held.visible(tx_hash, now)
    assert numbers.of_all(versions(connection, tx_hash)) == own
    archived = archived_versions(connection, tx_hash, _ALL, _MANY)
    assert numbers.of_archived(archived) == [held.archived(each) for each in own]
    assert queryable_record(connection, NETWORKS, tx_hash, now) == (best and best.record)


def _check_search(
    connection: Connection, held: Archive, numbers: Numbers, wanted: RejectionFilter
) -> None:
    fitting = [each for each in held.rejections if wanted.fits(each)]
    latest = _latest(fitting)
    assert numbers.of_all(search(connection, wanted, limit=2, skipped=1)) == latest[1:3]
    assert count_rejections(connection, wanted) == len(fitting)
    oldest = archive_page(
        connection, wanted, _ALL, PageRequest(2, after=None, is_newest_first=False)
    )
    assert numbers.of_archived(oldest) == [held.archived(each) for each in fitting[:2]]
    rest = (
        PageRequest(2, after=numbers.ids[-1], is_newest_first=True)
        if numbers.ids
        else PageRequest(2)
    )
    before_last = [each for each in fitting if each.rejection_id < len(held.rejections)]
    found = numbers.of_archived(archive_page(connection, wanted, _ALL, rest))
    assert found == [held.archived(each) for each in reversed(before_last[-2:])]


def _check_counts(
    connection: Connection, held: Archive, wanted: RejectionFilter, grouping: Grouping
) -> None:
    fitting = [each for each in held.rejections if wanted.fits(each)]
    counted = count_by(connection, grouping, wanted, _ALL, _MANY)
    expected = Counter(map(_KEYS[grouping], fitting))
    assert {each.key: each.count for each in counted.groups} == expected
    assert (counted.of, counted.total) == (len(expected), len(fitting))


def _check_counters(connection: Connection, held: Archive, wanted: RejectionFilter) -> None:
    fitting = [each for each in held.rejections if wanted.fits(each)]
    hours = Counter((_begins(each, _HOUR), each.record.tx_rejection_stage) for each in fitting)
    found = count_over_time(connection, wanted, _HOUR, Grouping.STAGE)
    assert {(each.since, each.key): each.count for each in found} == hours
    named = Counter(map(_cause, fitting))
    told = count_causes(connection, wanted)
    assert {(each.reason_kind, each.module): each.count for each in told} == named


def _check_reasons(connection: Connection, held: Archive) -> None:
    unread = [
        each
        for each in held.rejections
        if parse_reason(each.record.reason_message).kind is ReasonKind.UNPARSED
    ]
    found = {
        each.text: (each.count, each.first_seen_at, each.last_seen_at)
        for each in unparsed_reasons(connection, _MANY)
    }
    by_text: dict[str, list[datetime]] = {}
    for each in unread:
        by_text.setdefault(each.record.reason_message, []).append(each.first_seen_at)
    assert found == {text: (len(seen), min(seen), max(seen)) for text, seen in by_text.items()}


def check_reader(store: Store, held: Archive, now: datetime) -> None:
    """See that the fast way to single records tells the same."""
    reader = RejectionReader(store)
    try:
        assert sorted(reader.hashes()) == sorted(each.record.tx_hash for each in held.rejections)
        arrived = [tx_hash for _, tx_hash in reader.arrivals(0, _MANY)]
        assert arrived == [each.record.tx_hash for each in held.rejections]
        for tx_hash in HASHES:
            best = held.visible(tx_hash, now)
            assert reader.queryable_record(NETWORKS, tx_hash, now) == (best and best.record)
    finally:
        reader.close()


def _latest(rejections: Sequence[StoredRejection]) -> list[StoredRejection]:
    """Sort by arrival, the latest first."""
    return sorted(
        rejections, key=lambda each: (each.first_seen_at, each.rejection_id), reverse=True
    )


def _cause(rejection: StoredRejection) -> tuple[ReasonKind, str | None]:
    reason = parse_reason(rejection.record.reason_message)
    return reason.kind, reason.module


def _begins(rejection: StoredRejection, step: timedelta) -> datetime:
    since = rejection.first_seen_at
    return since - (since - datetime.fromtimestamp(0, since.tzinfo)) % step


_KEYS: Final[dict[Grouping, Any]] = {
    Grouping.MODULE: lambda each: parse_reason(each.record.reason_message).module,
    Grouping.STAGE: lambda each: each.record.tx_rejection_stage,
    Grouping.REASON_KIND: lambda each: parse_reason(each.record.reason_message).kind,
    Grouping.SENDER: lambda each: each.record.sender,
    Grouping.NETWORK: lambda each: each.network_id,
    Grouping.HOUR: lambda each: _begins(each, _HOUR),
    Grouping.DAY: lambda each: _begins(each, _DAY),
}
