"""What is purged in time: nothing that is watched, pending, lasts or was seen since."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import rule
from msgspec.structs import replace

from dashboard.domain.alerts.condition import SubjectKind, Transition
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.store.engine.batching import AdaptiveBatches
from dashboard.store.maintenance.purge import apply_retention
from tests.model.machine import Memory, StoreMachine
from tests.model.tracking import Tracking

_MANY: Final = 1000
"""Rows of a step: all there are of a kind, so that a kill comes between kinds."""

_AN_HOUR: Final = timedelta(hours=1)
_KINDS: Final = ("notifications", "rejections", "untracked_answers", "coverage_gaps")
_LAST_OF: Final = {
    "notifications": "notifications",
    "rejections": "rejections",
    "untracked_answers": "follow-ups",
    "coverage_gaps": "coverage gaps",
}
"""The last that goes of each kind; answers go before follow-ups."""

ages = st.dictionaries(
    st.sampled_from(_KINDS),
    st.sampled_from([timedelta(seconds=1), _AN_HOUR, timedelta(days=1)]),
)


class PurgingMachine(StoreMachine):
    """Rules of retention; each step is a transaction of its own."""

    @rule(steps=st.integers(1, 5))
    def everything_is_long_past(self, steps: int) -> None:
        self.time_passes(timedelta(days=2))
        self.old_data_is_purged(dict.fromkeys(_KINDS, _AN_HOUR), steps)

    @rule(ages=ages, steps=st.integers(1, 5))
    def old_data_is_purged(self, ages: dict[str, timedelta], steps: int) -> None:
        """Purge kind by kind, to the end or until the process is killed after so many steps."""
        before: dict[str, datetime] = {
            kind: self.now - ages[kind] for kind in _KINDS if kind in ages
        }
        unhurried = AdaptiveBatches(lambda: 0.0, _MANY)
        taken = list(islice(apply_retention(self.store, before, unhurried), steps))
        if len(taken) < steps:
            _purge(self.held, before, "")
        else:
            _purge(self.held, before, taken[-1].kind)
            self.begin_a_life()
        self.check(self.held)


def _purge(held: Memory, before: Mapping[str, datetime], last: str) -> None:
    """Purge likewise, up to and including the kind `last`."""
    for kind, moment in before.items():
        if kind == "notifications":
            _purge_changes(held, moment)
        elif kind == "rejections":
            _purge_rejections(held, moment)
        elif kind == "untracked_answers":
            _purge_answers(held.tracking, moment)
            if last == "answers":
                return
            _purge_follow_ups(held, moment)
        else:
            held.coverage.purge(moment)
        if last == _LAST_OF[kind]:
            return


def _purge_changes(held: Memory, before: datetime) -> None:
    lasting = {each.opening for each in held.conditions.held.values() if each.opening is not None}
    pending = {each.transition.transition_id for each in held.conditions.unexpanded()}
    gone = set()
    for transition, place, opening in held.conditions.changes:
        is_old = place is None or _is_old(held.archive.rejections[place - 1], before)
        is_network = transition.subject.kind is not SubjectKind.TRANSACTION
        is_kept = opening in lasting if is_network else _is_watched(held.tracking, transition)
        if transition.at < before and is_old and not is_kept:
            gone.add(transition.transition_id)
    held.conditions.purge(gone - pending)


def _purge_rejections(held: Memory, before: datetime) -> None:
    """Forget versions of what nobody tracks, and with them the conditions that rest on them."""
    archive = held.archive
    named = {each.rejection for each in held.conditions.unexpanded()}
    left = [
        each
        for each in archive.rejections
        if not (each.first_seen_at < before and _is_old(each, before))
        or each.record.tx_hash in held.tracking.transactions
        or each.rejection_id in named
    ]
    places = {each.rejection_id: place for place, each in enumerate(left, start=1)}
    archive.rejections = [replace(each, rejection_id=places[each.rejection_id]) for each in left]
    hashes = {each.record.tx_hash for each in left}
    archive.signed = {key: kept for key, kept in archive.signed.items() if key in hashes}
    held.conditions.renumber(places)


def _purge_answers(tracking: Tracking, before: datetime) -> None:
    """Forget the answers about hashes that nobody watches."""
    tracking.checks = {
        place: check
        for place, check in tracking.checks.items()
        if place in tracking.watches or not check.last_asked_at or check.last_asked_at >= before
    }


def _purge_follow_ups(held: Memory, before: datetime) -> None:
    """Forget what nodes said of what nobody watches, unless a rejection of it is on record."""
    rejected = {each.record.tx_hash for each in held.archive.rejections}
    ends = held.tracking.ends
    ends.forget(
        [
            place
            for place, asked_at in ends.asked.items()
            if asked_at < before and place not in held.tracking.watches and place[0] not in rejected
        ]
    )


def _is_old(rejection: StoredRejection, before: datetime) -> bool:
    return (rejection.seen_again_at or rejection.first_seen_at) < before


def _is_watched(tracking: Tracking, transition: Transition) -> bool:
    subject = transition.subject
    return (subject.tx_hash, subject.network_id) in tracking.watches
