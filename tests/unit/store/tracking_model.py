"""A model of what is tracked: one record for each hash, which nobody can get wrong."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.track_list import TrackResult
from dashboard.domain.tracking.verdict import Evidence
from dashboard.store.tracking.search import RecordStatus
from tests.builders import A_NETWORK, ANOTHER_NETWORK

NETWORKS: Final = (ANOTHER_NETWORK, A_NETWORK)


@dataclass(frozen=True)
class Wish:
    """What people said of a hash."""

    networks: frozenset[NetworkId]
    attempted_at: datetime | None
    label: str


@dataclass
class Model:
    """What people track, and the poll results of each hash on each network."""

    wishes: dict[TxHash, Wish] = field(default_factory=dict)
    seen: dict[tuple[TxHash, NetworkId], Evidence] = field(default_factory=dict)

    def track(self, request: TrackRequest) -> TrackResult:
        """Take a wish in."""
        asked = frozenset(request.network_ids)
        held, said = self.wishes.get(request.tx_hash), request.remarks
        if held is None:
            self.wishes[request.tx_hash] = Wish(asked, said.attempted_at, said.label)
            return TrackResult.NEW
        filled = Wish(
            held.networks | asked,
            held.attempted_at or said.attempted_at,
            held.label or said.label,
        )
        self.wishes[request.tx_hash] = filled
        if filled.networks != held.networks:
            return TrackResult.NEW
        return TrackResult.KNOWN if filled == held else TrackResult.FILLED_IN

    def answer(self, network_id: NetworkId, at: datetime, answer: ExclusionAnswer) -> None:
        """Take one answer in, or that there was none."""
        known = self._seen(answer.tx_hash, network_id)
        if answer.failure is not None:
            since = known.failing_since or at
            known = replace(known, failing_since=since, failure=answer.failure)
        else:
            first = known.first_answered_at or at
            known = replace(known, first_answered_at=first, last_answered_at=at)
            known = replace(known, failing_since=None, failure=None)
        self.seen[answer.tx_hash, network_id] = known
        if answer.record is not None:
            self.record(network_id, answer)

    def record(self, network_id: NetworkId, answer: ExclusionAnswer) -> None:
        """Take a record in, whoever brought it."""
        assert answer.record is not None
        known = self._seen(answer.tx_hash, network_id)
        self.seen[answer.tx_hash, network_id] = replace(known, records=(answer.record,))

    def evidence(self, tx_hash: TxHash) -> list[Evidence]:
        """Return what the store must tell of a hash."""
        wish = self.wishes.get(tx_hash, Wish(frozenset(), None, ""))
        return [
            replace(self._seen(tx_hash, each), attempted_at=wish.attempted_at)
            for each in NETWORKS
            if each in wish.networks or (tx_hash, each) in self.seen
        ]

    def record_status(self, tx_hash: TxHash) -> RecordStatus:
        """Return what is on record of a tracked hash: answers where it is watched, any record."""
        if any(self._seen(tx_hash, each).records for each in NETWORKS):
            return RecordStatus.REJECTED
        seen = [self._seen(tx_hash, each) for each in self.wishes[tx_hash].networks]
        if any(each.last_answered_at for each in seen):
            return RecordStatus.UNREPORTED
        return RecordStatus.UNANSWERED

    def hashes_with(self, record_status: RecordStatus) -> Collection[TxHash]:
        """Return the tracked hashes of which this is on record."""
        return {each for each in self.wishes if self.record_status(each) is record_status}

    def _seen(self, tx_hash: TxHash, network_id: NetworkId) -> Evidence:
        return self.seen.get((tx_hash, network_id)) or Evidence(network_id, tx_hash)
