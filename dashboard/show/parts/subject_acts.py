"""What a person does about an incident, a module, a sender or a label where it is shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import NAMESPACE_OID, uuid5

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.text import moment_near
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.rule import Rule, RuleScope
from dashboard.domain.alerts.rule_table import Rules
from dashboard.domain.alerts.silence import (
    LONGEST_REASON,
    Silence,
    SilenceKind,
    SilenceRequest,
    next_morning,
)
from dashboard.domain.markup import plain_label
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.quantity import Address, NetworkId
from dashboard.errors import InputError
from dashboard.show.parts.acting import Done, act, first_name, may, undone
from dashboard.show.parts.fee_summary import zone_named
from dashboard.show.parts.frame import OPEN, link

_LONGEST_TITLE: Final = 120
_MORNING: Final = "Until 07:00"
_LENGTHS: Final = {"1 h": timedelta(hours=1), "8 h": timedelta(hours=8)}
_NO_NAME: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_RULE: Final = 64
_FAILED: Final = "Nothing was changed."


@dataclass(frozen=True, slots=True)
class Subject:
    """What an act is about: as people call it, which may be foreign text, and its matchers."""

    title: str
    matchers: tuple[Matcher, ...]


def subject_of(about: MatchedProperty, value: str, network_id: NetworkId | None = None) -> Subject:
    """Return the changes of a module, a sender or a label, on one network or on all."""
    named = (Matcher(about, value),)
    if network_id is None:
        return Subject(f"{about} {value}", named)
    here = Matcher(MatchedProperty.NETWORK, str(network_id))
    return Subject(f"{about} {value}", (*named, here))


def silence_button(queries: Application, key: str, *subjects: Subject) -> None:
    """Offer to silence one of these subjects: two presses, once the name is known."""
    if not subjects or not may(queries, Action.SILENCE):
        return
    popover = st.popover("Silence", key=f"silencing-{key}", on_change="rerun")
    if popover.open:
        with popover:
            _silence_menu(queries, key, subjects)


def _silence_menu(queries: Application, key: str, subjects: Sequence[Subject]) -> None:
    number = 0
    if len(subjects) > 1:
        names = [plain_label(each.title, _LONGEST_TITLE) for each in subjects]
        places = range(len(names))
        number = st.radio("What", places, format_func=names.__getitem__, key=f"silence-what-{key}")
    st.caption("Nobody is notified of it, or of more like it, for this long.")
    first_name(queries, f"silence-{key}")
    reason = st.text_input("Reason (optional)", key=f"reason-{key}", max_chars=LONGEST_REASON) or ""
    zone, zone_name = zone_named(st.context.timezone)
    now = queries.now()
    ends = {name: (now + length, None) for name, length in _LENGTHS.items()}
    offered: dict[str, tuple[datetime, str | None]] = {
        **ends,
        _MORNING: (next_morning(now, zone), f"In the time zone {zone_name}"),
    }
    with st.container(horizontal=True, gap="small", key=f"lengths-{key}"):
        for name, (ends_at, note) in offered.items():
            if st.button(name, key=f"silence-{key}-{name}", help=note):
                _silence(queries, subjects[number], ends_at, reason)


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
        until = moment_near(silence.over_at, queries.now())
        undo = partial(queries.silences.end, silence.request.kind, silence.silence_id)
        return Done(f"“{subject.title}” is silenced until {until}", undo)

    act(change, queries, "Nothing was silenced.", done)


def watch_sender_button(queries: Application, sender: Address) -> None:
    """Offer to track each rejected transaction of an address, or to stop that."""
    ids = [each.network_id for each in queries.networks if each.sees_all_reports]
    ask = queries.senders
    if any(each.sender == sender for each in ask.watched()):
        if may(queries, Action.UNWATCH_SENDER) and st.button(
            "Stop watching", key=f"unwatch-{sender}"
        ):
            undo = partial(ask.watch, [sender], ids, "")
            said = f"The sender {sender} is not watched any more"
            act(partial(ask.unwatch, sender), queries, _FAILED, lambda _: Done(said, undo))
        return
    if not ids or not may(queries, Action.WATCH_SENDER):
        return
    if st.button("Watch", key=f"watch-{sender}", help="Track each rejected transaction of it"):
        act(
            lambda by: ask.watch([sender], ids, "", by),
            queries,
            _FAILED,
            lambda _: Done(f"The sender {sender} is watched", partial(ask.unwatch, sender)),
        )


def watch_button(queries: Application, about: MatchedProperty, value: str) -> None:
    """Offer a rule that notifies of each rejection by a module or with a label."""
    if not may(queries, Action.CHANGE_RULE):
        return
    name = f"watch-{_NO_NAME.sub('-', value.lower()).strip('-')}"[:_LONGEST_RULE]
    if any(each.rule.name == name for each in queries.rules.in_force()):
        link("alerts", f"{OPEN} the rule that watches it", {"section": "Rules", "rule": name})
        return
    if st.button("Watch", key=f"watch-{name}", help="Notify of each rejection, by a new rule"):
        is_module = about is MatchedProperty.MODULE
        scope = (
            RuleScope(modules=(value,), takes_all_reports=True)
            if is_module
            else RuleScope(labels=(value,))
        )

        def edit(held: Rules) -> Rules:
            if any(each.name == name for each in held):
                raise InputError(f"a rule {name} exists already: open it")
            return (*held, Rule(name, RuleKind.REJECTED, scope=scope))

        act(
            lambda by: queries.rules.change(edit, by),
            queries,
            _FAILED,
            lambda found: undone(queries, found),
        )
