"""What is to be remembered of the ends of transactions, in plain Python: all that nodes said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final, TypeAlias

from dashboard.domain.health.observation import Failure
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.inclusion import (
    FollowUp,
    Inclusion,
    InclusionAnswer,
    InclusionQuestion,
)
from dashboard.store.rejections.save import HashOnNetwork
from tests.model.rejections import Archive
from tests.model.world import NETWORKS

_FINAL_AFTER: Final = timedelta(minutes=15)
_USED: Final = "the nonce was used"

Outcome: TypeAlias = Inclusion | str | None
"""What became of a transaction by one answer; None where nothing did."""


@dataclass(frozen=True)
class Said:
    """An answer: when it was asked for, and what became of the transaction by it."""

    at: datetime
    outcome: Outcome
    next_nonce: int | None


@dataclass
class Ends:
    """What nodes said of each hash in turn, and when they were asked last, answered or not.

    `failing` says since when nodes do not answer about a hash, and why they did not the last time.
    `fresh` are watches that pollers have not taken up; `taken_up` is the last id of theirs.
    """

    said: dict[HashOnNetwork, list[Said]] = field(default_factory=dict)
    asked: dict[HashOnNetwork, datetime] = field(default_factory=dict)
    failing: dict[HashOnNetwork, tuple[datetime, Failure]] = field(default_factory=dict)
    fresh: set[HashOnNetwork] = field(default_factory=set)
    taken_up: dict[NetworkId, int] = field(default_factory=lambda: dict.fromkeys(NETWORKS, 0))

    def tell(
        self,
        network_id: NetworkId,
        at: datetime,
        told: Iterable[tuple[InclusionQuestion, InclusionAnswer]],
    ) -> None:
        """Take what a node said; of a final block it may know nothing any more."""
        for question, answer in told:
            place = question.tx_hash, network_id
            self.asked[place] = at
            if answer.failure is not None:
                since, _ = self.failing.get(place, (at, None))
                self.failing[place] = since, answer.failure
                continue
            self.failing.pop(place, None)
            if answer.inclusion or not self._is_in_final_block(place):
                said = Said(at, _outcome(question, answer), answer.next_nonce)
                self.said.setdefault(place, []).append(said)

    def held(self, place: HashOnNetwork) -> FollowUp | None:
        """Return what follows from all answers: the last, and since when all were like it."""
        if not (said := self.said.get(place)):
            return None
        last = said[-1]
        alike = list(takewhile(lambda each: each.outcome == last.outcome, reversed(said)))
        since = alike[-1].at if last.outcome is not None else None
        is_final = since is not None and last.at - since >= _FINAL_AFTER
        inclusion = last.outcome if isinstance(last.outcome, Inclusion) else None
        return FollowUp(
            last.at,
            inclusion,
            since if inclusion is not None else None,
            since if inclusion is None else None,
            last.next_nonce,
            last.at if is_final else None,
        )

    def is_open(self, place: HashOnNetwork) -> bool:
        """Whether the end may still change."""
        held = self.held(place)
        return held is None or held.settled_at is None

    def asked_at(self, place: HashOnNetwork) -> datetime | None:
        """Return when a node was last asked, with an answer or without."""
        return self.asked.get(place)

    def forget(self, places: Iterable[HashOnNetwork]) -> None:
        """Forget what nodes said."""
        for place in places:
            self.asked.pop(place, None)
            self.said.pop(place, None)
            self.failing.pop(place, None)

    def _is_in_final_block(self, place: HashOnNetwork) -> bool:
        held = self.held(place)
        return held is not None and held.inclusion is not None and held.settled_at is not None


def question_of(archive: Archive, tx_hash: TxHash, network_id: NetworkId) -> InclusionQuestion:
    """Return what there is to ask: the nonce is known where a record names it."""
    records = archive.records(tx_hash, network_id)
    if not records:
        return InclusionQuestion(tx_hash)
    return InclusionQuestion(tx_hash, records[0].sender, records[0].nonce)


def _outcome(question: InclusionQuestion, answer: InclusionAnswer) -> Outcome:
    if answer.inclusion is not None:
        return answer.inclusion
    if question.nonce is None or answer.next_nonce is None:
        return None
    return _USED if answer.next_nonce > question.nonce else None
