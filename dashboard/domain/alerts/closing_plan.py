"""Closings: which waiting notifications of a recipient are sent now, and which are merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from dashboard.domain.alerts.hourly_cap import (
    HOUR,
    LATE_AFTER,
    Closing,
    HourlyCap,
    OpenNotification,
    RecipientTraffic,
)
from dashboard.domain.alerts.notification import Delay, NotificationKind, Precedence
from dashboard.domain.alerts.rule_keys import MAIL


def plan_closings(
    due: Sequence[OpenNotification],
    traffic: RecipientTraffic,
    now: datetime,
    cap: HourlyCap,
    *,
    is_back: bool = False,
) -> list[Closing]:
    """Return which due notifications of one recipient are sent now, and which are merged.

    `due` is in order of position. Urgent notifications are sent one by one, as many an hour as the
    cap allows in all, and beyond that one a minute. The others follow by precedence, one by one as
    long as there is room, first messages about incidents counted apart from the rest; the last one
    that has room takes in all others of its kind. If two or more are late, the first one already
    takes in the others. Reminders become one message; a digest is sent alone, and only when nothing
    else is. A recipient of mail gets everything in one message if two or more notifications waited
    for the end of quiet hours or maintenance, or for a server that `is_back` or is being retried.
    Nothing is sent while enough messages wait to be delivered.
    """
    if traffic.is_stuck(now):
        return []
    late = {each.notification_id: each for each in due if now - each.release_at > LATE_AFTER}
    is_waiting = traffic.waiting > 0
    return [
        replace(
            each,
            delay=_why_late(late[each.notification_id], is_back=is_back, is_waiting=is_waiting),
        )
        if each.notification_id in late
        else each
        for each in _planned(due, traffic, now, cap, is_back=is_back)
    ]


def passed_over(
    due: Sequence[OpenNotification],
    closings: Sequence[Closing],
    traffic: RecipientTraffic,
    now: datetime,
    cap: HourlyCap,
) -> list[UUID]:
    """Return the due notifications of one recipient that the cap holds back now.

    `closings` are those that are sent. A notification that waits for deliveries is not held by the
    cap.
    """
    if traffic.is_stuck(now):
        return []
    traffic, waiting = _after(due, closings, traffic, now)

    def has_room(each: OpenNotification, rank: Precedence) -> bool:
        if each.is_urgent:
            return cap.urgent_room(traffic, now) > 0
        return cap.room(traffic, now, rank) > 0

    ranked = _ranked([each for each in waiting if not each.is_digest])
    return [each.notification_id for rank, each in ranked if not has_room(each, rank)]


def expected_at(
    due: Sequence[OpenNotification], traffic: RecipientTraffic, now: datetime, cap: HourlyCap
) -> dict[UUID, datetime]:
    """Return when each due notification of one recipient is sent if none is added meanwhile.

    A notification is missing if its time is unknown, or more than an hour away.
    """
    found: dict[UUID, datetime] = {}
    waiting, at = list(due), now
    while waiting and at <= now + HOUR:
        closings = plan_closings(waiting, traffic, at, cap)
        gone = [id_ for each in closings for id_ in (each.notification_id, *each.merged)]
        traffic, waiting = _after(waiting, closings, traffic, at)
        found |= dict.fromkeys(gone, at)
        opens = [cap.opens_at(traffic, at, rank) for rank, _ in _ranked(waiting)]
        later = [each for each in opens if each > at]
        if not (gone or later):
            break
        at = min(later, default=at)
    return found


def _after(
    due: Sequence[OpenNotification],
    closings: Sequence[Closing],
    traffic: RecipientTraffic,
    now: datetime,
) -> tuple[RecipientTraffic, list[OpenNotification]]:
    """Return a recipient's traffic after these closings, and the notifications that still wait."""
    heads = {each.notification_id for each in closings}
    gone = {*heads, *(id_ for each in closings for id_ in each.merged)}
    went = [each for each in due if each.notification_id in heads]
    waiting = [each for each in due if each.notification_id not in gone]
    return traffic.with_gone(went, now), waiting


def _why_late(late: OpenNotification, *, is_back: bool, is_waiting: bool) -> Delay:
    """Return the reason: messages that are on their way say nothing about what the cap held."""
    if is_back:
        return Delay.SERVER
    if late.was_capped:
        return Delay.CAP
    return Delay.SERVER if is_waiting else Delay.WORKER


def _planned(
    due: Sequence[OpenNotification],
    traffic: RecipientTraffic,
    now: datetime,
    cap: HourlyCap,
    *,
    is_back: bool,
) -> list[Closing]:
    urgent = [each for each in due if each.is_urgent]
    closings = _fitted(urgent, cap.urgent_room(traffic, now), cap)
    ranked = _ranked([each for each in due if not (each.is_urgent or each.is_digest)])
    usual = [each for _, each in ranked]
    rest = [each for each in usual if not each.is_reminder]
    first = [each for rank, each in ranked if rank <= Precedence.OPENING]
    traffic, _ = _after(urgent, closings, traffic, now)
    room = cap.room(traffic, now, Precedence.OPENING if first else Precedence.CHANGE)
    waited = sum(is_back or each.was_held for each in usual)
    if rest and waited > 1 and rest[0].recipient.channel == MAIL:
        return closings + (_summary(usual, cap) if room else [])
    late = sum(is_back or each.was_held or now - each.release_at > LATE_AFTER for each in rest)
    if late > 1:
        going = _fitted(rest, min(room, 1), cap)
        traffic, _ = _after(rest, going, traffic, now)
    else:
        going = _fitted(first, room, cap)
        traffic, _ = _after(first, going, traffic, now)
        others = rest[len(first) :]
        following = _fitted(others, cap.room(traffic, now, Precedence.CHANGE), cap)
        traffic, _ = _after(others, following, traffic, now)
        going += following
    closings += going
    reminders = [each for each in usual if each.is_reminder]
    if reminders:
        closings += _fitted(reminders, cap.room(traffic, now, Precedence.REMINDER), cap)
    digests = [each for each in due if each.is_digest]
    if digests and not closings and cap.room(traffic, now, Precedence.CHANGE):
        closings = [Closing(digests[0].notification_id)]
    return closings


def _ranked(due: Sequence[OpenNotification]) -> list[tuple[Precedence, OpenNotification]]:
    """Sort notifications by precedence, each with its own.

    An earlier notification of an incident goes before later ones, whatever these are; within a
    precedence, changes of networks go first.
    """
    soonest: dict[UUID | None, Precedence] = {}
    ranked: list[tuple[Precedence, OpenNotification]] = []
    for each in reversed(due):
        rank = min(each.precedence, soonest.get(each.incident_id, each.precedence))
        if each.incident_id is not None:
            soonest[each.incident_id] = rank
        ranked.append((rank, each))
    ranked.sort(key=lambda pair: (pair[0], not pair[1].is_of_network, pair[1].position))
    return ranked


def _summary(due: Sequence[OpenNotification], cap: HourlyCap) -> list[Closing]:
    """Merge everything into one mail, led by the first change; messages about incidents join it.

    Only mail is merged like this: programs behind other channels expect messages of one kind.
    """
    ordered = sorted(due, key=lambda each: each.kind is not NotificationKind.CHANGE)
    first, *others = _within(ordered, cap.largest_members)
    return [Closing(first, tuple(others))]


def _fitted(due: Sequence[OpenNotification], room: int, cap: HourlyCap) -> list[Closing]:
    """Send as many one by one as there is room for; the last one takes in all others of its kind.

    A message about rejections names no change of a network, nor the other way round.
    """
    if room == 0 or not due:
        return []
    alone, rest = due[: room - 1], due[room - 1 :]
    closings = [Closing(each.notification_id) for each in alone]
    if rest:
        last = rest[0]
        alike = [
            each
            for each in rest
            if each.kind is last.kind and each.is_of_network is last.is_of_network
        ]
        first, *others = _within(alike, cap.largest_members)
        closings.append(Closing(first, tuple(others)))
    return closings


def _within(notifications: Iterable[OpenNotification], most: int) -> list[UUID]:
    """Return the first notifications that together have at most `most` members, at least one."""
    taken: list[UUID] = []
    members = 0
    for each in notifications:
        members += each.members
        if taken and members > most:
            break
        taken.append(each.notification_id)
    return taken
