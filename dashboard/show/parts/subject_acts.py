"""What a person can do about an incident, a module, a sender or a label where it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import NAMESPACE_OID, uuid5

import streamlit as st
from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.application import Application
from dashboard.application.text import moment_near
from dashboard.application.watches import watched_scope
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.silence import (
    LONGEST_REASON,
    Silence,
    SilenceKind,
    SilenceRequest,
    SilenceState,
    next_morning,
)
from dashboard.domain.markup import plain_label
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.quantity import Address, NetworkId
from dashboard.show.parts.acting import Done, act, act_button, first_name, may, pressed, undone
from dashboard.show.parts.fee_summary import zone_named
from dashboard.show.parts.frame import OPEN, link, popover

_LONGEST_TITLE: Final = 120
_MORNING: Final = "Until 07:00"
_OFFERED: Final = "Nobody is notified of this, or of anything like it, for as long as you choose."
_LENGTHS: Final = {"1 h": timedelta(hours=1), "8 h": timedelta(hours=8)}


class Subject(Struct, frozen=True):
    """The subject of an act: its name for people, which may be foreign text, and its matchers."""

    title: str
    matchers: tuple[Matcher, ...]


def subject_of(
    queries: Application, about: MatchedProperty, value: str, network_id: NetworkId | None
) -> Subject:
    """Return the changes of a module, a sender or a label, on one network or on all."""
    named = (Matcher(about, value),)
    if network_id is None:
        return Subject(f"{about} {value}", named)
    here = Matcher(MatchedProperty.NETWORK, str(network_id))
    return Subject(f"{about} {value} on {queries.network_name(network_id)}", (*named, here))


def subject_acts(queries: Application, key: str, *subjects: Subject) -> None:
    """Offer to silence and to watch one of these subjects."""
    silence_button(queries, key, *subjects)
    watch_button(queries, key, *subjects)


def silence_button(queries: Application, key: str, *subjects: Subject) -> None:
    """Offer to silence one of these subjects: two presses, once the name is known."""
    if not subjects or not may(queries, Action.SILENCE):
        return
    popover("Silence", f"silencing-{key}", partial(_silence_menu, queries, key, subjects))


def _silence_menu(queries: Application, key: str, subjects: Sequence[Subject]) -> None:
    subject = _chosen(f"silence-what-{key}", subjects)
    st.caption(_held(queries, subject) or _OFFERED)
    first_name(queries, f"silence-{key}")
    reason = st.text_input("Reason (optional)", key=f"reason-{key}", max_chars=LONGEST_REASON) or ""
    ends_at = _length(queries, f"silence-{key}")
    if ends_at is not None:
        _silence(queries, subject, ends_at, reason)


def _held(queries: Application, subject: Subject) -> str:
    """Say until when exactly this is silenced already; empty if it is not."""
    now, matchers = queries.now(), subject.matchers
    ends = [
        each.over_at
        for each in queries.silences.stored().unfinished
        if each.request.matchers == matchers
        and each.kind is SilenceKind.SILENCE
        and each.state(now) is SilenceState.ACTIVE
    ]
    if not ends:
        return ""
    until = end_in_words(max(ends), now, st.context.timezone)
    return f"It is silenced until {until}: nobody is notified."


def _chosen(key: str, subjects: Sequence[Subject]) -> Subject:
    """Ask which of several is meant."""
    if len(subjects) == 1:
        return subjects[0]
    names = [plain_label(each.title, _LONGEST_TITLE) for each in subjects]
    return subjects[st.radio("What", range(len(names)), format_func=names.__getitem__, key=key)]


def _length(queries: Application, key: str) -> datetime | None:
    """Offer how long it lasts; return the end that was chosen."""
    zone, zone_name = zone_named(st.context.timezone)
    now = queries.now()
    ends: dict[str, tuple[datetime, str | None]] = {
        **{name: (now + length, None) for name, length in _LENGTHS.items()},
        _MORNING: (next_morning(now, zone), f"In the time zone {zone_name}"),
    }
    pressed = None
    with st.container(horizontal=True, gap="small", width="content", key=f"lengths-{key}"):
        for name, (ends_at, note) in ends.items():
            if st.button(name, key=f"{key}-{name}", help=note):
                pressed = ends_at
    return pressed


def _silence(queries: Application, subject: Subject, ends_at: datetime, reason: str) -> None:
    def change(by: Actor) -> Silence:
        request = SilenceRequest(
            uuid5(NAMESPACE_OID, f"{subject.title} {by.name} {by.at}"),
            SilenceKind.SILENCE,
            subject.matchers,
            by.at,
            ends_at,
            reason or f"by {by.name} on a page",
        )
        return queries.silences.add(request, by)[0]

    def done(silence: Silence) -> Done:
        until = end_in_words(silence.over_at, queries.now(), st.context.timezone)
        undo = partial(queries.silences.end, silence.request.kind, silence.silence_id)
        return Done(f"“{subject.title}” is silenced until {until}", undo)

    act(queries, change, done)


def end_in_words(at: datetime, now: datetime, browser_zone: str | None) -> str:
    """Format when a silence ends in UTC and, if its clock differs, in the zone of the browser."""
    zone, name = zone_named(browser_zone)
    local = at.astimezone(zone)
    return moment_near(at, now) + (f" ({local:%H:%M} in {name})" if local.utcoffset() else "")


def watch_button(queries: Application, key: str, *subjects: Subject) -> None:
    """Offer to be notified of each rejection of one of these for a time, or to stop that.

    If it is watched already, it says so, and until when.
    """
    able = [each for each in subjects if watched_scope(each.matchers) is not None]
    if not able or not may(queries, Action.ADD_RULE):
        return
    rule = next(filter(None, (queries.watches.lasting(each.matchers) for each in able)), None)
    label = "Watch" if rule is None else "Watched"
    if rule is not None and rule.until is not None:
        label = f"Watched until {moment_near(rule.until, queries.now())}"
    popover(label, f"watching-{key}", partial(_watch_menu, queries, key, able))


def _watch_menu(queries: Application, key: str, subjects: Sequence[Subject]) -> None:
    subject = _chosen(f"watch-what-{key}", subjects)
    matchers = subject.matchers
    st.caption(
        "You are notified of each rejection like this for as long as you choose. If no recipient "
        "has your name, the default recipients are notified."
    )
    first_name(queries, f"watch-{key}")
    with st.container(horizontal=True, gap="small", key=f"lengths-of-{key}"):
        until = _length(queries, f"watch-{key}")
        is_for_good = st.button("For good", key=f"watch-{key}-good", help="Until somebody stops it")
    if is_for_good or until is not None:
        act(
            queries,
            lambda by: queries.watches.begin(matchers, until, by),
            lambda found: replace(undone(queries, found), said=_watched(queries, subject)),
        )
    rule = queries.watches.lasting(matchers)
    if rule is None:
        return
    if said := _silenced(queries, subject):
        st.caption(f"It is{said}.")
    link("alerts", f"{OPEN} its rule", {"section": "Rules", "rule": rule.name})
    button = f"watch-{key}-stop"
    if pressed(queries, "Stop watching", button):
        act(
            queries,
            partial(queries.watches.end, matchers),
            lambda found: replace(
                undone(queries, found), said=f"“{subject.title}” is no longer watched"
            ),
            button=button,
        )


def _watched(queries: Application, subject: Subject) -> str:
    """Say until when it is watched now: others may watch it for longer."""
    rule = queries.watches.lasting(subject.matchers)
    end = None if rule is None else rule.until
    until = "" if end is None else f" until {moment_near(end, queries.now())}"
    silenced = _silenced(queries, subject)
    return f"“{subject.title}” is watched{until}{', but' if silenced else ''}{silenced}"


def _silenced(queries: Application, subject: Subject) -> str:
    """Say until when a silence keeps the watch from notifying anybody; empty if none does."""
    silence = queries.watches.silence_of(subject.matchers)
    if silence is None:
        return ""
    return f" silenced until {moment_near(silence.over_at, queries.now())}: nobody is notified"


def watch_sender_button(queries: Application, sender: Address) -> None:
    """Offer to track each rejected transaction of an address, or to stop that."""
    ids = [each.network_id for each in queries.networks if each.sees_all_reports]
    unwatch = partial(queries.senders.unwatch, sender)
    held = next((each for each in queries.senders.watched() if each.sender == sender), None)
    if held is not None:
        label, key = "Stop tracking its rejections", f"unwatch-{sender}"
        watch = partial(queries.senders.watch, [sender], held.network_ids, held.label)
        done = Done(f"Rejections of the sender {sender} are no longer tracked", watch)
        act_button(queries, Action.UNWATCH_SENDER, label, key, unwatch, done)
    elif ids:
        label, key = "Track its rejections", f"watch-{sender}"
        watch = partial(queries.senders.watch, [sender], ids, "")
        done = Done(f"Rejections of the sender {sender} are tracked", unwatch)
        note = "Every rejection that nodes report"
        act_button(queries, Action.WATCH_SENDER, label, key, watch, done, note=note)
