"""Rules on a page: which are in force, turned on and off, tried on the past, changed as a file."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from zoneinfo import ZoneInfo

import streamlit as st

from dashboard.domain.audit import LONGEST_NAME, Actor
from dashboard.domain.foreign_text import visible
from dashboard.domain.rule import Rule, Severity
from dashboard.domain.rule_changes import RuleDifference, replaced_by, turned
from dashboard.domain.rule_text import (
    differences_in_words,
    preview_in_words,
    recipients_in_words,
    scope_in_words,
)
from dashboard.errors import InputError, StoreError
from dashboard.show.parts.acting import act
from dashboard.show.parts.badges import badge
from dashboard.show.parts.heading import section
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.parts.notices import notice
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.text import moment, sentence
from dashboard.store.alerts.rules import StoredRule

_BADGES: Final = {
    Severity.INFO: ("mute", "i", "Info"),
    Severity.WARNING: ("busy", "!", "Warning"),
    Severity.CRITICAL: ("bad", "!", "Critical"),
}
_OFF: Final = ("mute", "·", "Off")
_WITHIN: Final = timedelta(days=7)
_LONGEST_SCOPE: Final = 600
_LONGEST_FILE: Final = 100_000
_TRIED: Final = "rule_tried"
_FILE: Final = "rule_file"


def rules_part(queries: PageQueries) -> None:
    """Show the rules in force, and offer to turn them on and off, to try and to change them."""
    stored = queries.rules.in_force()
    with st.container(key="card-rules", gap="small"):
        section("Rules", "They say which changes people hear of, who gets them and how urgent.")
        for each in stored:
            _row(queries, each)
        with st.expander("Change the rules as a file"):
            _file(queries)


def _row(queries: PageQueries, stored: StoredRule) -> None:
    rule = stored.rule
    with st.container(
        key=f"rule-{rule.name}", horizontal=True, vertical_alignment="top", gap="small"
    ):
        with st.container(gap=None):
            st.html(rule_markup(queries, stored))
        if st.button("Try", key=f"try-{rule.name}", help="How often in the last seven days?"):
            st.session_state[_TRIED] = (rule.name, _tried(queries, rule))
        label, wanted = ("Turn off", False) if rule.is_enabled else ("Turn on", True)
        if st.button(label, key=f"turn-{rule.name}"):
            act(
                lambda by: queries.rules.change(turned(rule.name, is_enabled=wanted), by),
                queries,
                "Nothing was changed.",
            )
    name, said = st.session_state.get(_TRIED, ("", ""))
    if name == rule.name:
        st.html(element("p", said, class_="lw-quiet"))


def rule_markup(queries: PageQueries, stored: StoredRule) -> Markup:
    """Build what is said of a rule: how urgent, what it takes, whom it notifies, who changed it."""
    rule = stored.rule
    mark = badge(*(_BADGES[rule.severity] if rule.is_enabled else _OFF))
    takes = visible(scope_in_words(rule, queries.network_name), _LONGEST_SCOPE)
    about = element("span", f"{rule.kind.value}: {takes}")
    head = element("div", mark, element("b", rule.name), about, class_="lw-row")
    said = f"Notifies {visible(recipients_in_words(rule.recipients), _LONGEST_SCOPE)}"
    if stored.changed_at is not None:
        who = visible(stored.changed_by or "", LONGEST_NAME)
        said += f"; changed on {moment(stored.changed_at)} by {who}"
    return join(head, element("div", element("span", said), class_="lw-row lw-remarks"))


def _tried(queries: PageQueries, rule: Rule) -> str:
    """Say how often a rule would have fired, or why that is not known."""
    zone = ZoneInfo("UTC" if rule.active_hours is None else rule.active_hours.zone)
    try:
        return preview_in_words(queries.rules.preview(rule, _WITHIN), zone)
    except (InputError, StoreError) as error:
        return sentence(visible(str(error)))


def _file(queries: PageQueries) -> None:
    with st.form("rules", border=False):
        text = st.text_area(
            "Rules, as `linewatch rules export` writes them",
            queries.rules.as_file(),
            key=_FILE,
            height=320,
            max_chars=_LONGEST_FILE,
        )
        with st.container(horizontal=True, gap="small"):
            is_shown = st.form_submit_button("Show what changes")
            is_saved = st.form_submit_button("Save rules", type="primary")
    if is_shown:
        _show_changes(queries, text or "")
    if is_saved:
        act(lambda by: _save(queries, text or "", by), queries, "Nothing was saved.")


def _show_changes(queries: PageQueries, text: str) -> None:
    try:
        found = queries.rules.plan(replaced_by(queries.rules.read_file(text)))
    except InputError as mistake:
        notice("bad", "The file has mistakes.", sentence(visible(str(mistake))))
        return
    lines = [line for each in found for line in differences_in_words(each)]
    st.html(join(*(element("div", visible(line)) for line in lines or ["Nothing changes."])))


def _save(queries: PageQueries, text: str, by: Actor) -> list[RuleDifference]:
    found = queries.rules.change(replaced_by(queries.rules.read_file(text)), by)
    st.session_state.pop(_FILE, None)
    return found
