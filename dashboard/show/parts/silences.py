"""Silences and maintenance windows on a page: active ones, a form that makes one, and the end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, Literal
from uuid import uuid4

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.text import moment_near
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher, split_matchers
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.alerts.silence import (
    LONGEST_REASON,
    Silence,
    SilenceKind,
    SilenceRequest,
    SilenceState,
)
from dashboard.domain.formatting import moment, span
from dashboard.domain.markup import Markup, element, visible
from dashboard.domain.people.access import LONGEST_NAME, Action, Actor
from dashboard.domain.people.active_hours import WeeklyHours
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.errors import InputError
from dashboard.show.parts.acting import Done, act, act_button, may, trouble_shown
from dashboard.show.parts.badges import badge
from dashboard.show.parts.frame import card, quiet
from dashboard.show.parts.notices import notice
from dashboard.show.parts.table import entry, entry_markup

_ANY: Final = "Any"
_LENGTHS: Final = {
    "30 min": timedelta(minutes=30),
    "1 h": timedelta(hours=1),
    "8 h": timedelta(hours=8),
    "24 h": timedelta(hours=24),
    "7 days": timedelta(days=7),
}
_BADGES: Final = {
    (SilenceKind.SILENCE, SilenceState.ACTIVE): ("mute", "‖", "Silenced"),
    (SilenceKind.SILENCE, SilenceState.PLANNED): ("stale", "…", "Silence planned"),
    (SilenceKind.MAINTENANCE, SilenceState.ACTIVE): ("simulated", "‖", "Maintenance"),
    (SilenceKind.MAINTENANCE, SilenceState.PLANNED): ("stale", "…", "Maintenance planned"),
}
_OVER: Final = ("mute", "·", "Expired")
_KIND_WORDS: Final = {
    SilenceKind.SILENCE: "None (silence)",
    SilenceKind.MAINTENANCE: "Held until it ends (maintenance)",
}
_KINDS: Final[tuple[SilenceKind, ...]] = tuple(SilenceKind)
_NAMES: Final = {
    SilenceKind.SILENCE: "Silence",
    SilenceKind.MAINTENANCE: "Maintenance window",
}
_REQUEST: Final = "silence_request"
_LONGEST_LIST: Final = 600
_LONGEST_HOURS: Final = 400
_NARROW: Final = 230
"""Pixels of a field, so that several fit side by side."""


def silences_part(queries: Application) -> None:
    """Show what is silenced or held now and what is planned, and offer to add to it."""
    stored, now = queries.silences.stored(), queries.now()
    with card(
        "silences",
        "Silences and maintenance",
        "Nobody is notified of what is silenced; during maintenance notifications are held "
        "and sent in one summary when it ends. Everything is still stored and shown.",
    ):
        for each in stored.unfinished:
            _row(queries, each, now)
        if not stored.unfinished:
            quiet("Nothing is silenced and no work is planned.")
        if may(queries, Action.SILENCE):
            with st.expander("Silence something, or plan work"):
                _form(queries)
        if stored.finished:
            st.html(_finished(queries, stored.finished))


def _row(queries: Application, silence: Silence, now: datetime) -> None:
    with entry(f"silence-{silence.silence_id}", silence_markup(queries, silence, now)):
        key, note = f"end-{silence.silence_id}", "End it now; it stays on record"
        end = partial(queries.silences.end, silence.kind, silence.silence_id)
        done = Done(f"{_NAMES[silence.kind]} {silence.silence_id} is over")
        act_button(queries, Action.END_SILENCE, "End", key, end, done, note=note)


def silence_markup(queries: Application, silence: Silence, now: datetime) -> Markup:
    """Build the entry of one: its state, what it covers, until when, by whom and why."""
    return entry_markup(
        badge(*_BADGES.get((silence.kind, silence.state(now)), _OVER)),
        visible(queries.silences.scope_of(silence), _LONGEST_LIST),
        _times(silence, now),
        element("b", visible(silence.request.reason, LONGEST_REASON)),
        f"number {silence.silence_id}, by {visible(silence.author, LONGEST_NAME)}",
    )


def _times(silence: Silence, now: datetime) -> str:
    part = silence.occurrence(now) or silence
    start, end = part.request.starts_at, part.over_at
    match silence.state(now):
        case SilenceState.PLANNED:
            return f"from {moment_near(start, now)} for {span(end - start)}{_weekly(silence)}"
        case SilenceState.ACTIVE:
            left = span(end - now)
            return f"until {moment_near(end, now)}, {left} left{_weekly(silence)}"
        case SilenceState.EXPIRED:
            by = f" by {visible(silence.ended_by, LONGEST_NAME)}" if silence.ended_by else ""
            if silence.never_began:
                planned = f"{moment(start)} to {moment(silence.request.ends_at)}"
                return f"{planned}, cancelled at {moment(end)}{by}"
            ended = by and f", ended{by}"
            return f"{moment(start)} to {moment(end)}{_weekly(silence)}{ended}"


def _weekly(silence: Silence) -> str:
    if silence.request.weekly is None:
        return ""
    return f"; every week {silence.request.weekly} until {moment(silence.over_at)}"


def _finished(queries: Application, silences: tuple[Silence, ...]) -> Markup:
    now = queries.now()
    rows = (element("div", silence_markup(queries, each, now)) for each in silences)
    return element("details", element("summary", "Expired"), *rows, class_="lw-more")


def _form(queries: Application) -> None:
    st.session_state.setdefault(_REQUEST, uuid4())  # pressed twice, it is stored once
    with st.form("silence", border=False):
        read, covers_all = _inputs(queries)
        with st.container(horizontal=True, gap="small"):
            is_pressed = st.form_submit_button("Save", type="primary")
            is_previewed = st.form_submit_button("Preview", help="Changes it would have matched")

    def save(by: Actor) -> Silence:
        silence, _ = queries.silences.add(read(by.at), by, covers_all=covers_all)
        del st.session_state[_REQUEST]
        return silence

    if is_previewed:
        with trouble_shown("No preview."):
            wanted = read(queries.now())
            found = queries.silences.preview(wanted.matchers, wanted.weekly)
            notice("empty", "Preview.", str(found))
    if is_pressed:
        act(queries, save, _saved(queries))


def _inputs(queries: Application) -> tuple[Callable[[datetime], SilenceRequest], bool]:
    """Ask for all of it; return a reader, which raises InputError, and whether it may cover all."""
    kind = st.radio(
        "Notifications",
        _KINDS,
        format_func=lambda each: _KIND_WORDS[each],
        horizontal=True,
        key="silence_kind",
    )
    matchers = _matcher_inputs(queries)
    starts_at = _moment_input("From, in UTC (empty: now)", "silence_from")
    length = st.segmented_control(
        "For", list(_LENGTHS), default="1 h", required=True, key="silence_for"
    )
    weekly = _weekly_inputs(queries)
    reason = st.text_input("Reason", max_chars=LONGEST_REASON, key="silence_reason")

    def read(now: datetime) -> SilenceRequest:
        begins = now if starts_at is None else starts_at.replace(tzinfo=UTC)
        (hours, last), request_id = weekly(), st.session_state[_REQUEST]
        ends = begins + _LENGTHS[length] if last is None else last
        return SilenceRequest(request_id, kind, matchers(), begins, ends, reason.strip(), hours)

    return read, st.checkbox("Match every change", key="silence_all")


def _moment_input(
    label: str, key: str, width: int | Literal["stretch"] = "stretch"
) -> datetime | None:
    """Ask for a moment to the minute; it has no time zone, None while none is chosen."""
    return st.datetime_input(
        label, None, step=timedelta(minutes=1), format="YYYY-MM-DD", key=key, width=width
    )


def _weekly_inputs(
    queries: Application,
) -> Callable[[], tuple[WeeklyHours | None, datetime | None]]:
    """Ask for weekly hours instead of one length, and until when they recur."""
    with st.container(horizontal=True, gap="small"):
        hours = st.text_input(
            "Or every week, in these hours",
            key="silence_weekly",
            max_chars=_LONGEST_HOURS,
            placeholder="e.g. sun 02:00-04:00",
            help="Several are separated by semicolons.",
            width=_NARROW,
        )
        zone = st.text_input(
            "Time zone",
            key="silence_zone",
            max_chars=64,
            placeholder="as in [mail]",
            help="For these hours; empty: as in [mail].",
            width=_NARROW,
        )
        until = _moment_input("Until, in UTC", "silence_until", _NARROW)

    def read() -> tuple[WeeklyHours | None, datetime | None]:
        spans = [each for each in (hours or "").split(";") if each.strip()]
        weekly = queries.silences.weekly(spans, (zone or "").strip())
        if weekly is None:
            return None, None
        if until is None:
            raise InputError("the weekly hours have no end: fill in Until")
        return weekly, until.replace(tzinfo=UTC)

    return read


def _matcher_inputs(queries: Application) -> Callable[[], tuple[Matcher, ...]]:
    """Ask for the value of each property, and for more in one field; return a reader of these."""
    known = {
        MatchedProperty.NETWORK: [each.name for each in queries.networks],
        MatchedProperty.STAGE: [each.value for each in RejectionStage],
        MatchedProperty.SEVERITY: [each.value for each in Severity],
    }
    given: list[str] = []
    with st.container(horizontal=True, gap="small"):
        for about in (each for each in MatchedProperty if each is not MatchedProperty.CAUSE):
            label, key = about.capitalize(), f"silence_{about}"
            if about in known:
                value = st.selectbox(label, [_ANY, *known[about]], key=key, width=_NARROW)
                given += [] if value == _ANY else [f"{about}={value}"]
            else:
                text = st.text_input(label, key=key, placeholder=_ANY, width=_NARROW)
                given += [f"{about}={text}"] if text else []
    more = st.text_input(
        "Other matchers",
        key="silence_more",
        placeholder="e.g. module!=HUB, label=~payroll*",
        help="With = or !=, separated by commas; with =~ or !~ each * is any text.",
    )
    return lambda: queries.silences.read_matchers([*given, *split_matchers(more or "")])


def _saved(queries: Application) -> Callable[[Silence], Done]:
    """Say what was made; Undo ends it at once."""

    def said(silence: Silence) -> Done:
        kind, number = silence.kind, silence.silence_id
        until = moment_near(silence.over_at, queries.now())
        return Done(
            f"{_NAMES[kind]} {number} of {queries.silences.scope_of(silence)} lasts until {until}",
            partial(queries.silences.end, kind, number),
        )

    return said
