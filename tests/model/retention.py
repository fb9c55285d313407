"""What is to be forgotten in time: nothing that is watched, pending, lasts or was seen since."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from dashboard.domain.alerts.condition import SubjectKind, Transition
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.rejections.exclusion import StoredRejection
from tests.model.alerting import Alerting
from tests.model.rejections import Archive
from tests.model.tracking import Tracking


def purge_notifications(
    archive: Archive, tracking: Tracking, alerting: Alerting, before: datetime
) -> None:
    """Forget what was told before, with its messages and every attempt to hand them over."""
    lasting = {each.opening for each in alerting.held.values() if each.opening is not None}
    pending = _pending(alerting)
    gone: set[UUID] = set()
    for transition, place, opening in alerting.told:
        is_old = place is None or _is_old(archive.rejections[place - 1], before)
        is_network = transition.subject.kind is not SubjectKind.TRANSACTION
        is_kept = opening in lasting if is_network else _is_watched(tracking, transition)
        if transition.at < before and is_old and not is_kept:
            gone.add(transition.transition_id)
    gone -= pending
    alerting.told = [each for each in alerting.told if each[0].transition_id not in gone]
    alerting.expanded -= gone
    alerting.messages = {
        notification_id: each
        for notification_id, each in alerting.messages.items()
        if each.notification.transition.transition_id not in gone
    }
    alerting.tries = [each for each in alerting.tries if each[0] in alerting.messages]


def purge_rejections(
    archive: Archive, tracking: Tracking, alerting: Alerting, before: datetime
) -> None:
    """Forget versions of what nobody tracks, and with them the conditions that rest on them."""
    pending = _pending(alerting)
    named = {place for told, place, _ in alerting.told if told.transition_id in pending}
    left = [
        each
        for each in archive.rejections
        if not (each.first_seen_at < before and _is_old(each, before))
        or each.record.tx_hash in tracking.transactions
        or each.rejection_id in named
    ]
    places = {each.rejection_id: place for place, each in enumerate(left, start=1)}
    archive.rejections = [replace(each, rejection_id=places[each.rejection_id]) for each in left]
    hashes = {each.record.tx_hash for each in left}
    archive.signed = {key: held for key, held in archive.signed.items() if key in hashes}
    _renumber(alerting, places)


def forget_answers(tracking: Tracking, before: datetime) -> None:
    """Purge the poll results of hashes that nobody watches."""
    tracking.checks = {
        place: check
        for place, check in tracking.checks.items()
        if place in tracking.watches or not check.last_asked_at or check.last_asked_at >= before
    }


def forget_ends(archive: Archive, tracking: Tracking, before: datetime) -> None:
    """Forget what nodes said of what nobody watches, unless a rejection of it is on record."""
    rejected = {each.record.tx_hash for each in archive.rejections}
    tracking.ends.forget(
        [
            place
            for place, asked_at in tracking.ends.asked.items()
            if asked_at < before and place not in tracking.watches and place[0] not in rejected
        ]
    )


def _renumber(alerting: Alerting, places: Mapping[int, int]) -> None:
    """Name the versions that are left by their new places, and the others not at all."""
    alerting.held = {
        subject: replace(each, rejection=each.rejection and places[each.rejection])
        for subject, each in alerting.held.items()
        if each.rejection is None or each.rejection in places
    }
    alerting.told = [
        (transition, place and places.get(place), opening)
        for transition, place, opening in alerting.told
    ]
    for message in alerting.messages.values():
        message.rejection = message.rejection and places.get(message.rejection)


def _pending(alerting: Alerting) -> AbstractSet[UUID]:
    """Return the changes of which somebody is still to be told."""
    waiting = {each.transition_id for each, _, _ in alerting.unexpanded()}
    return waiting | {
        each.notification.transition.transition_id
        for each in alerting.messages.values()
        if each.notification.state is NotificationState.PENDING
    }


def _is_old(rejection: StoredRejection, before: datetime) -> bool:
    return (rejection.seen_again_at or rejection.first_seen_at) < before


def _is_watched(tracking: Tracking, transition: Transition) -> bool:
    subject = transition.subject
    return (subject.tx_hash, subject.network_id) in tracking.watches
