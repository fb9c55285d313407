"""A rule as a form: its fields, the mistakes at each, what it would have reported, and saving."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.application.application import Application
from dashboard.application.rules import LATELY, firing_listing, zone_of
from dashboard.application.text import sentence, span
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_preview import Firing, RulePreview
from dashboard.domain.alerts.rule_table import (
    RuleDifference,
    RuleRemark,
    RuleTable,
    added,
    changed,
    found_rule,
    removed,
    write_rule,
)
from dashboard.domain.alerts.rule_text import (
    differences_in_words,
    group_in_words,
    preview_in_words,
    rule_in_words,
)
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import element, join, visible
from dashboard.domain.people.access import Actor
from dashboard.errors import InputError
from dashboard.show.parts.acting import Done, act, undone
from dashboard.show.parts.frame import section
from dashboard.show.parts.notices import notice
from dashboard.show.parts.rule_fields import (
    GROUPING,
    MEASURES,
    PEOPLE,
    SCOPE,
    URGENCY,
    RuleField,
    ask,
)
from dashboard.show.parts.table import list_table

RULE: Final = "rule"
"""The parameter of the address that names the rule in the form."""

LIKE: Final = "like"
"""The parameter that names the rule of which a new one is a copy."""

NEW: Final = "*"
"""What stands there for a rule that does not exist yet: no rule can be called so."""

_GROUPS: Final = (
    ("What it is about", MEASURES),
    ("Which of them", SCOPE),
    ("How urgent", URGENCY),
    ("Who and when", PEOPLE),
    ("Grouping", GROUPING),
)
_LABELS: Final = {each.key: each.label for _, fields in _GROUPS for each in fields}
_MOST_FIRINGS: Final = 50
_LONGEST: Final = 600

Places: TypeAlias = dict[str, DeltaGenerator]
"""Where mistakes are said: below the field of each key, and at the top under an empty key."""


def rule_form(queries: Application, name: str, like: str) -> None:
    """Show the form of a rule, or of a new one, which may be a copy."""
    try:
        before = None if name == NEW else _rule(queries, name)
        model = before or (_rule(queries, like) if like else None)
    except InputError as mistake:
        notice("busy", "No such rule.", sentence(visible(capitalized(str(mistake)))))
        return
    held: RuleTable = {} if model is None else write_rule(model)
    prefix = f"form-{name}-{like}"
    with st.container(key="card-rule-form", gap="small"):
        note = (
            "Lengths of time need a unit: 30s, 15m, 12h, 7d. An empty field means its grey text; "
            "what follows “such as” there is only an example."
        )
        section(f"Rule {name}" if before else "A new rule", note)
        places = {"": st.container()}
        name, wanted = _asked(queries, before, held, prefix, places)
        found = queries.rules.read(name, wanted)
        _buttons(queries, before, found, prefix)
        if st.session_state.get(f"{prefix}-tried") and not isinstance(found, Rule):
            _mistakes(places, found)


def _rule(queries: Application, name: str) -> Rule:
    return found_rule(tuple(each.rule for each in queries.rules.in_force()), name)


def _asked(
    queries: Application, before: Rule | None, held: RuleTable, prefix: str, places: Places
) -> tuple[str, RuleTable]:
    """Ask for everything that rules of the chosen kind have; return the name and the table."""
    with st.container(horizontal=True, gap="small"):
        name = before.name if before else _name(prefix)
        kinds = [each.value for each in RuleKind]
        usual = kinds.index(held.get("kind", RuleKind.REJECTED))
        kind = RuleKind(st.selectbox("Kind", kinds, usual, key=f"{prefix}-kind", width=260))
    wanted: RuleTable = {"kind": kind.value}
    if held.get("enabled") is False:
        wanted["enabled"] = False
    for title, fields in _GROUPS:
        fitting = [each for each in fields if each.fits(kind)]
        if fitting:
            st.html(element("h3", title, class_="lw-subhead"))
            wanted |= _group(queries, fitting, held, prefix, places)
    return name, wanted


def _name(prefix: str) -> str:
    return (
        st.text_input("Name", key=f"{prefix}-name", placeholder="such as night-shift", width=260)
        or ""
    )


def _group(
    queries: Application,
    fields: Sequence[RuleField],
    held: RuleTable,
    prefix: str,
    places: Places,
) -> RuleTable:
    """Ask for some fields, three beside each other, with a place below each for its mistake."""
    networks = [each.network_id for each in queries.networks]
    said: RuleTable = {}
    columns = st.columns(3, gap="small")
    for number, field in enumerate(fields):
        with columns[number % len(columns)]:
            value = ask(field, held, prefix, networks, queries.network_name)
            places[field.key] = st.container()
        if value is not None:
            said[field.key] = value
    return said


def _mistakes(places: Places, found: Sequence[RuleRemark]) -> None:
    """Say each mistake below its field, and what is about the whole rule at the top."""
    of_rule = [f"it {each.remark}" for each in found if each.key not in places or not each.key]
    with places[""]:
        words = visible("; ".join(of_rule) or "look at the fields below", _LONGEST)
        notice("bad", "This rule cannot be saved yet:", sentence(words))
    for each in found:
        if each.key and each.key in places:
            words = visible(f"{_LABELS[each.key]} {each.remark}", _LONGEST)
            with places[each.key]:
                st.html(element("p", words, class_="lw-mistake", role="alert"))


def _tried(prefix: str, *, shows: bool) -> None:
    st.session_state[f"{prefix}-tried"] = True
    st.session_state[f"{prefix}-preview"] = shows


def _buttons(
    queries: Application, before: Rule | None, found: Rule | list[RuleRemark], prefix: str
) -> None:
    with st.container(key="rule-acts-form", horizontal=True, gap="small"):
        st.button(
            "Preview", key=f"{prefix}-see", on_click=_tried, args=(prefix,), kwargs={"shows": True}
        )
        is_saved = st.button(
            *("Save", f"{prefix}-save"),
            type="primary",
            on_click=_tried,
            args=(prefix,),
            kwargs={"shows": False},
        )
        if before is not None:
            _remove(queries, before, prefix)
    if not isinstance(found, Rule):
        return
    if st.session_state.get(f"{prefix}-preview"):
        _preview(queries, before, found)
    if is_saved:
        edit = added(found) if before is None else changed(before.name, lambda _: found)

        def save(by: Actor) -> list[RuleDifference]:
            differences = queries.rules.change(edit, by)
            _leave()
            return differences

        act(save, queries, "Nothing was saved.", lambda each: undone(queries, each))


def _remove(queries: Application, before: Rule, prefix: str) -> None:
    popover = st.popover("Remove", key=f"{prefix}-removing", on_change="rerun")
    if not popover.open:
        return
    with popover:
        st.html(
            element("p", "Its open incidents end, and nobody is notified of such changes again.")
        )
        if st.button("Remove this rule", key=f"{prefix}-remove"):

            def remove(by: Actor) -> list[RuleDifference]:
                differences = queries.rules.change(removed([before.name]), by)
                _leave()
                return differences

            act(remove, queries, "Nothing was removed.", lambda each: undone(queries, each))


def _leave() -> Done | None:
    for each in (RULE, LIKE):
        if each in st.query_params:
            del st.query_params[each]
    return None


def _preview(queries: Application, before: Rule | None, rule: Rule) -> None:
    """Show the rule as a sentence, what would change, and when it would have fired."""
    old = None if before is None else write_rule(before)
    difference = RuleDifference(rule.name, old, write_rule(rule))
    lines: Iterable[str] = differences_in_words(difference) if any(difference.lines()) else ()
    st.html(
        join(
            element("p", visible(rule_in_words(rule, queries.network_name), _LONGEST)),
            *(element("div", visible(each, _LONGEST), class_="lw-quiet") for each in lines),
        )
    )
    try:
        found = queries.rules.preview(rule, LATELY)
    except InputError as error:
        st.html(element("p", sentence(visible(capitalized(str(error)))), class_="lw-quiet"))
        return
    st.html(element("p", element("b", preview_in_words(found, zone_of(rule)))))
    if found.firings:
        _firings(queries, found)


def _firings(queries: Application, found: RulePreview) -> None:
    latest = reversed(found.firings[-_MOST_FIRINGS:])
    drawn = {
        "at": lambda each: f"{each.at:%d %b %H:%M:%S} UTC",
        "until": _until,
        "what": lambda each: visible(group_in_words(each), _LONGEST),
    }
    st.html(list_table(firing_listing(queries.context), latest, "It would have fired", drawn))


def _until(each: Firing) -> str:
    """Say when it ended, and after how long."""
    return "lasts" if each.ends is None else f"{each.ends:%H:%M:%S}, {span(each.ends - each.at)}"
