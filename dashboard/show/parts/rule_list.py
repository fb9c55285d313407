"""Rules on a page: sentences with their state, turned on and off, changed by form or as a file."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Final

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.rules import ENDED, ListedRule, changed_in_words
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.rule_table import RuleDifference, replaced_by, turned
from dashboard.domain.alerts.rule_text import differences_in_words, rule_in_words
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.people.access import Action, Actor
from dashboard.show.parts.acting import act, act_button, may, trouble_shown, undone
from dashboard.show.parts.badges import badge, incident_badge, severity_badge
from dashboard.show.parts.frame import card, link
from dashboard.show.parts.list_page import file_button
from dashboard.show.parts.notices import notice
from dashboard.show.parts.rule_form import LIKE, NEW, RULE, rule_form
from dashboard.show.parts.table import entry, entry_markup

_OFF: Final = ("mute", "·", "Off")
_ENDED: Final = ("mute", "·", "Ended")
_RULES: Final = {"section": "Rules"}
_LONGEST_SCOPE: Final = 600
_LONGEST_FILE: Final = 100_000
_FILE: Final = "rule_file"


def rules_part(queries: Application) -> None:
    """Show the rules in force as sentences, or the form of the one in the address."""
    name = st.query_params.get(RULE, "")
    may_change = may(queries, Action.CHANGE_RULE)
    if name and may_change:
        with st.container(key="links-back"):
            link("alerts", "← All rules", _RULES)
        rule_form(queries, name, st.query_params.get(LIKE, ""))
        return
    states = queries.incidents.count_by_rule()
    with card("rules", "Rules", "A rule says which changes notify whom, and how urgent they are."):
        if may_change:
            with st.container(key="links-rules", horizontal=True):
                link("alerts", "New rule", _RULES | {RULE: NEW})
        for each in queries.rules.listed():
            _row(queries, each, states.get(each.rule.name, Counter()))
        if may_change:
            with st.expander("All rules as a file: export and import"):
                _file(queries)
                _edited(queries)


def _row(queries: Application, each: ListedRule, states: Counter[IncidentState]) -> None:
    rule = each.rule
    with entry(f"rule-{rule.name}", rule_markup(queries, each, states)):
        if not may(queries, Action.CHANGE_RULE):
            return
        label, wanted = ("Turn off", False) if rule.is_enabled else ("Turn on", True)
        turn = partial(queries.rules.change, turned(rule.name, is_enabled=wanted))
        done = partial(undone, queries)
        act_button(queries, Action.CHANGE_RULE, label, f"turn-{rule.name}", turn, done)
        link("alerts", "Edit", _RULES | {RULE: rule.name})
        link("alerts", "Copy", _RULES | {RULE: NEW, LIKE: rule.name})


def rule_markup(queries: Application, each: ListedRule, states: Counter[IncidentState]) -> Markup:
    """Build the entry of a rule: its state, a sentence, how often it would have fired."""
    rule, (word, why) = each.rule, each.state
    lately = visible(queries.rules.lately(rule)).removeprefix(f"{rule.name} ")
    is_said = word in {IncidentState.PENDING, IncidentState.NO_DATA, ENDED}
    off = _ENDED if word == ENDED else _OFF
    is_on = rule.is_enabled and word != ENDED
    return entry_markup(
        severity_badge(rule.severity) if is_on else badge(*off),
        rule.name,
        capitalized(lately),
        why if is_said else "",
        visible(changed_in_words(each.stored)),
        also=[_standing(state, many, rule.severity) for state, many in states.items()],
        rest=visible(rule_in_words(rule, queries.network_name), _LONGEST_SCOPE),
    )


def _standing(state: IncidentState, many: int, severity: str) -> Markup:
    count = element("span", f"× {many:,}") if many > 1 else Markup()
    return join(incident_badge(state, severity), count)


def _file(queries: Application) -> None:
    file = queries.rules.as_file()
    if len(file) > _LONGEST_FILE:  # a field would cut it off, and saving it would remove rules
        said = f"They are {len(file):,} characters: use `linewatch rules export` and `import`."
        notice("busy", "The rules are too long to edit as a file here.", said)
        return
    with st.form("rules", border=False):
        text = st.text_area(
            "Rules, as `linewatch rules export` writes them",
            file,
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
        act(queries, partial(_save, queries, text or ""), partial(undone, queries))


def _edited(queries: Application) -> None:
    """Offer what people changed, for somebody who keeps the rules in a file of their own."""
    if queries.rules.edited_as_file():
        file_button(
            queries.rules.edited_as_file,
            "edited-rules.toml",
            "edited-rules",
            label="Edited rules",
            note="Rules that people edited since the last import, or since the first start.",
        )


def _show_changes(queries: Application, text: str) -> None:
    with trouble_shown("The file has mistakes."):
        found = queries.rules.plan(replaced_by(queries.rules.read_file(text)))
        lines = [line for each in found for line in differences_in_words(each)]
        st.html(join(*(element("div", visible(line)) for line in lines or ["Nothing changes."])))


def _save(queries: Application, text: str, by: Actor) -> list[RuleDifference]:
    found = queries.rules.change(replaced_by(queries.rules.read_file(text)), by)
    st.session_state.pop(_FILE, None)
    return found
