"""What the archive of rejections is to remember, in plain Python; the store is read beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import (
    QUERYABLE_WINDOW,
    ArchivedRejection,
    LocatedReport,
    RejectedTransaction,
    RejectionReport,
    RejectionSource,
    RejectionStage,
    SaveStatus,
    SignedTransaction,
    StoredRejection,
)
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.archive import (
    all_arrivals,
    archived_versions,
    last_rejection_id,
    queryable_record,
)
from dashboard.store.rejections.known_hashes import RejectionReader
from tests.model.world import HASHES, NETWORKS
from tests.one_by_one import versions

_HOUR: Final = timedelta(hours=1)
_MANY: Final = 10_000


@dataclass
class Archive:
    """Every version in the order of arrival, where its number is its place, counted from one."""

    rejections: list[StoredRejection] = field(default_factory=list)
    signed: dict[TxHash, SignedTransaction] = field(default_factory=dict)

    def poll(self, network_id: NetworkId, record: RejectedTransaction, now: datetime) -> int:
        """Keep a version that upstream showed, to the hour of its last time; return its number."""
        found = self._same_version(network_id, record)
        if found is None:
            return self._append(network_id, record, now, RejectionSource.POLLED)
        if now - found.last_seen_at >= _HOUR:
            self.rejections[found.rejection_id - 1] = replace(found, seen_again_at=now)
        return found.rejection_id

    def report(self, located: LocatedReport, now: datetime) -> SaveStatus:
        """Keep what a node reports, unless it reported the same reason or version before."""
        report, network_id = located.report, located.network_id
        record = report.record()
        if self._is_reported(network_id, record):
            return SaveStatus.DUPLICATE
        found = self._same_version(network_id, record)
        if found is not None and found.reported_at is not None:
            return SaveStatus.DUPLICATE
        if found is None:
            number = self._append(network_id, record, now, RejectionSource.REPORTED)
        else:
            number = found.rejection_id
        self._mark(number, report, now)
        self.signed.setdefault(report.transaction.tx_hash, report.transaction)
        return SaveStatus.SAVED

    def of_hash(self, tx_hash: TxHash) -> list[StoredRejection]:
        """Return the versions of a hash, newest claimed time first."""
        found = [each for each in self.rejections if each.record.tx_hash == tx_hash]
        return sorted(found, key=_rank, reverse=True)

    def records(self, tx_hash: TxHash, network_id: NetworkId) -> tuple[RejectedTransaction, ...]:
        """Return what evidence of a hash on a network there is, newest claimed time first."""
        found = self.of_hash(tx_hash)
        return tuple(each.record for each in found if each.network_id == network_id)

    def seen_at(self, tx_hash: TxHash, network_id: NetworkId) -> datetime | None:
        """Return when the first of these records was first seen; None if there is none."""
        found = (each for each in self.of_hash(tx_hash) if each.network_id == network_id)
        return next((each.first_seen_at for each in found), None)

    def is_dated_ahead(self, tx_hash: TxHash, network_id: NetworkId) -> bool:
        """Whether there is evidence, and no clock that can be right claims its time."""
        found = [each for each in self.of_hash(tx_hash) if each.network_id == network_id]
        return bool(found) and not any(_rank(each)[0] for each in found)

    def visible(self, tx_hash: TxHash, now: datetime) -> StoredRejection | None:
        """Return the version that readers of all networks get."""
        recent = (
            each for each in self.of_hash(tx_hash) if _believed(each) >= now - QUERYABLE_WINDOW
        )
        return next(recent, None)

    def archived(self, rejection: StoredRejection) -> ArchivedRejection:
        """Return a version with what its signed transaction tells."""
        held = self.signed.get(rejection.record.tx_hash)
        return ArchivedRejection(rejection, held is not None, held.recipient if held else None)

    def _append(
        self,
        network_id: NetworkId,
        record: RejectedTransaction,
        now: datetime,
        source: RejectionSource,
    ) -> int:
        number = len(self.rejections) + 1
        kept = StoredRejection(number, network_id, record, now, source=source)
        self.rejections.append(kept)
        return number

    def _mark(self, number: int, report: RejectionReport, now: datetime) -> None:
        before = self.rejections[number - 1]
        marked = replace(before, reported_at=now, overflows=report.overflows)
        self.rejections[number - 1] = marked

    def _same_version(
        self, network_id: NetworkId, record: RejectedTransaction
    ) -> StoredRejection | None:
        same = (
            each
            for each in self.rejections
            if each.network_id == network_id and shown(each.record) == shown(record)
        )
        return next(same, None)

    def _is_reported(self, network_id: NetworkId, record: RejectedTransaction) -> bool:
        return any(
            each.network_id == network_id
            and each.reported_at is not None
            and each.record.tx_hash == record.tx_hash
            and each.record.reason_message == record.reason_message
            for each in self.rejections
        )


def shown(record: RejectedTransaction) -> RejectedTransaction:
    """Return what readers get of a record: the block only from the sequencer."""
    if record.tx_rejection_stage is RejectionStage.SEQUENCER:
        return record
    return dataclasses.replace(record, block_number=None)


def _rank(rejection: StoredRejection) -> tuple[bool, datetime, int]:
    claimed = rejection.record.timestamp
    return _believed(rejection) == claimed, _believed(rejection), rejection.rejection_id


def _believed(rejection: StoredRejection) -> datetime:
    """Return the claimed time, or when it arrived where the claim was too far ahead of that."""
    claimed, arrived = rejection.record.timestamp, rejection.first_seen_at
    if claimed is None:
        return arrived
    return claimed if claimed <= arrived + timedelta(minutes=5) else arrived


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


def check_archive(connection: Connection, held: Archive, now: datetime) -> None:
    """Read the archive, and see that it is what is held."""
    arrived = all_arrivals(connection, 0, _MANY)
    numbers = Numbers(arrived)
    assert numbers.of_archived(arrived) == [held.archived(each) for each in held.rejections]
    assert last_rejection_id(connection) == max(numbers.ids, default=0)
    for tx_hash in HASHES:
        own = held.of_hash(tx_hash)
        best = held.visible(tx_hash, now)
        assert numbers.of_all(versions(connection, tx_hash)) == own
        archived = archived_versions(connection, tx_hash, frozenset(NETWORKS), _MANY)
        assert numbers.of_archived(archived) == [held.archived(each) for each in own]
        assert queryable_record(connection, NETWORKS, tx_hash, now) == (best and best.record)


def check_reader(store: Store, held: Archive, now: datetime) -> None:
    """See that the fast way to single records tells the same."""
    reader = RejectionReader(store)
    try:
        arrived = [tx_hash for _, tx_hash in reader.arrivals(0, _MANY)]
        assert arrived == [each.record.tx_hash for each in held.rejections]
        for tx_hash in HASHES:
            best = held.visible(tx_hash, now)
            assert reader.queryable_record(NETWORKS, tx_hash, now) == (best and best.record)
    finally:
        reader.close()
