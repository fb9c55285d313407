"""A rule as a form: its fields, the mistakes at each, what it would have reported, and saving."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, TypeAlias

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.application.application import Application
from dashboard.application.rule_preview import firing_listing
from dashboard.application.rules import LATELY, zone_of
from dashboard.application.text import sentence
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_keys import write_recipients
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
from dashboard.domain.formatting import capitalized, span
from dashboard.domain.markup import breakable, element, join, visible
from dashboard.errors import InputError
from dashboard.show.parts.acting import act, forget_press, pressed, undone
from dashboard.show.parts.frame import section
from dashboard.show.parts.notices import notice
from dashboard.show.parts.rule_fields import (
    GROUPING,
    HOURS,
    LATER,
    MEASURES,
    PEOPLE,
    PLACE,
    SCOPE,
    Known,
    RuleField,
    ask,
)
from dashboard.show.parts.table import list_table

RULE: Final = "rule"
"""The parameter of the address with the rule in the form."""

LIKE: Final = "like"
"""The parameter with the rule of which a new one is a copy."""

NEW: Final = "*"
"""Its value for a rule that does not exist yet: no rule can have this name."""

_LEFT: Final = "rule_form_left"
_UNNAMED: Final = "new-rule"
"""The name in the preview of a rule that has none yet."""

_SENTENCE: Final = (*MEASURES, *PLACE, *PEOPLE)
_MORE: Final = (
    ("Scope", SCOPE),
    ("Reminders and escalation", LATER),
    ("Hours", HOURS),
    ("Incidents", GROUPING),
)
_FIELDS: Final = (*_SENTENCE, *(each for _, fields in _MORE for each in fields))
_LABELS: Final = {each.key: each.label for each in _FIELDS}
_MOST_FIRINGS: Final = 8
_LONGEST: Final = 600

Places: TypeAlias = dict[str, DeltaGenerator]
"""Where mistakes are shown: below the field of each key, and at the top under an empty key."""


def rule_form(queries: Application, name: str, like: str) -> None:
    try:
        before = None if name == NEW else _rule(queries, name)
        model = before or (_rule(queries, like) if like else None)
    except InputError as mistake:
        notice("busy", "No such rule.", sentence(visible(capitalized(str(mistake)))))
        return
    held: RuleTable = {} if model is None else write_rule(model)
    prefix = f"form-{name}-{like}"
    places: Places = {}
    form, beside = st.columns([3, 2], gap="small")
    with form, st.container(key="card-rule-form", gap="small"):
        section(f"Rule {name}" if before else "A new rule")
        places[""] = st.container()
        name, wanted = _asked(queries, before, held, prefix, places)
        found = queries.rules.read(name, wanted)
        is_tried = _buttons(queries, before, found, prefix)
        if not isinstance(found, Rule):
            _mistakes(places, [each for each in found if is_tried or each.key], is_tried=is_tried)
    with beside, st.container(key="card-rule-preview", gap="small"):
        section("Preview", f"Its effect on the last {LATELY.days} days.")
        shown = found if name else queries.rules.read(_UNNAMED, wanted)
        if isinstance(shown, Rule):
            _preview(queries, before, shown, prefix)
        else:
            st.html(element("p", _incomplete(shown), class_="lw-quiet"))


def _rule(queries: Application, name: str) -> Rule:
    return found_rule(tuple(each.rule for each in queries.rules.in_force()), name)


def _asked(
    queries: Application, before: Rule | None, held: RuleTable, prefix: str, places: Places
) -> tuple[str, RuleTable]:
    """Ask for everything that rules of the chosen kind have; return the name and the table."""
    known, wanted = _known(queries), RuleTable()
    with st.container(
        key="rule-sentence", horizontal=True, vertical_alignment="center", gap="xsmall"
    ):
        with _together():
            _word("When")
            kind = _kind(held, prefix)
        for each in _SENTENCE:
            if each.fits(kind):
                with _together():
                    _word(each.words)
                    wanted |= _answer(each, held, prefix, known, places)
    wanted |= {"kind": kind.value} | ({"enabled": False} if held.get("enabled") is False else {})
    shown = [(title, [each for each in fields if each.fits(kind)]) for title, fields in _MORE]
    is_open = any(each.key in held for _, fields in shown for each in fields)
    with st.expander("More: scope, reminders, hours, grouping", expanded=is_open):
        for title, fields in shown:
            if fields:
                st.html(element("h3", title, class_="lw-subhead"))
                with st.container(horizontal=True, gap="small"):
                    for each in fields:
                        wanted |= _answer(each, held, prefix, known, places)
    return before.name if before else _name(prefix), wanted


def _known(queries: Application) -> Known:
    """Return the networks, and everybody who is notified of anything, to choose from."""
    recipients = [each.recipient for each in queries.recipients.all()]
    channels = queries.context.settings.rule_names.channels or ()
    who = [*dict.fromkeys([*write_recipients(recipients), *channels])]
    networks = [each.network_id for each in queries.networks]
    return Known(
        {"networks": networks, "recipients": who, "escalate_to": who}, queries.network_name
    )


def _kind(held: RuleTable, prefix: str) -> RuleKind:
    kinds = [each.value for each in RuleKind]
    usual = kinds.index(held.get("kind", RuleKind.REJECTED))
    chosen = st.selectbox(
        *("What happens", kinds, usual),
        key=f"{prefix}-kind",
        format_func=lambda value: KINDS[RuleKind(value)].when,
        label_visibility="collapsed",
        width=340,
    )
    return RuleKind(chosen)


def _together() -> DeltaGenerator:
    """Return a container that keeps words beside their control where lines break."""
    return st.container(horizontal=True, vertical_alignment="center", gap="xsmall", width="content")


def _word(words: str) -> None:
    st.html(element("span", words, class_="lw-word"), width="content")


def _answer(
    each: RuleField, held: RuleTable, prefix: str, known: Known, places: Places
) -> RuleTable:
    """Ask for one key, with a place below for its mistake; nothing if it has the default."""
    with st.container(width="content", gap=None):
        in_sentence = each in _SENTENCE
        value = ask(each, held, f"{prefix}-{each.key}", known, in_sentence=in_sentence)
        places[each.key] = st.container()
    return {} if value is None else {each.key: value}


def _name(prefix: str) -> str:
    typed = st.text_input(
        "Name", key=f"{prefix}-name", placeholder="e.g. night-shift", max_chars=64, width=272
    )
    return (typed or "").strip()


def _mistakes(places: Places, found: Sequence[RuleRemark], *, is_tried: bool) -> None:
    """Show each mistake below its field, and after a try those of the whole rule at the top."""
    if is_tried:
        with places[""]:
            notice("bad", "This rule cannot be saved yet:", _incomplete(found))
    for each in found:
        if each.key and each.key in places:
            words = visible(f"{_LABELS[each.key]} {each.remark}", _LONGEST)
            with places[each.key]:
                st.html(element("p", words, class_="lw-mistake", role="alert"))


def _incomplete(found: Sequence[RuleRemark]) -> str:
    """Say what the whole rule lacks, and whether a field is wrong."""
    said = [f"it {each.remark}" for each in found if each.key not in _LABELS]
    if len(said) < len(found):
        said.append("look at the marked fields")
    return sentence(visible(capitalized("; ".join(said)), _LONGEST))


def _buttons(
    queries: Application, before: Rule | None, found: Rule | list[RuleRemark], prefix: str
) -> bool:
    """Offer to save and to remove the rule; return whether somebody tried to save it."""
    with st.container(key="rule-acts-form", horizontal=True, gap="small"):
        save = f"{prefix}-save"
        is_saved = pressed(queries, "Save", save, type="primary")
        if before is not None:
            _remove(queries, before, prefix)
    if is_saved and isinstance(found, Rule):
        edit = added(found) if before is None else changed(before.name, lambda _: found)
        change = partial(queries.rules.change, edit)
        act(queries, change, partial(undone, queries), button=save, then=_leave)
    elif is_saved:
        st.session_state[f"{prefix}-tried"] = True
        forget_press(save)
    return bool(st.session_state.get(f"{prefix}-tried"))


def _remove(queries: Application, before: Rule, prefix: str) -> None:
    popover = st.popover("Remove", key=f"{prefix}-removing", on_change="rerun")
    if not popover.open:
        return
    with popover:
        st.html(
            element("p", "Its open incidents end, and nobody is notified of such changes any more.")
        )
        remove = f"{prefix}-remove"
        if pressed(queries, "Remove this rule", remove):
            change = partial(queries.rules.change, removed([before.name]))
            act(queries, change, partial(undone, queries), button=remove, then=_leave)


def _leave() -> None:
    """Go back to the list in the next run."""
    st.session_state[_LEFT] = True


def leave_form() -> None:
    """Remove the closed form from the address, at the beginning of a run.

    The run that closes it is too early: a refresh that joins the next run brings its old address.
    """
    if st.session_state.pop(_LEFT, False):
        for each in {RULE, LIKE} & st.query_params.keys():
            del st.query_params[each]


def _preview(queries: Application, before: Rule | None, rule: Rule, prefix: str) -> None:
    old = None if before is None else write_rule(before)
    difference = RuleDifference(rule.name, old, write_rule(rule))
    lines: Iterable[str] = differences_in_words(difference) if any(difference.lines()) else ()
    st.html(
        join(
            element("p", visible(rule_in_words(rule, queries.network_name), _LONGEST)),
            *(element("div", visible(each, _LONGEST), class_="lw-quiet") for each in lines),
        )
    )
    found = _previewed(queries, rule, prefix)
    if isinstance(found, str):
        st.html(element("p", sentence(visible(capitalized(found))), class_="lw-quiet"))
        return
    st.html(element("p", element("b", preview_in_words(found, zone_of(rule)))))
    if found.firings:
        _firings(queries, found)


def _previewed(queries: Application, rule: Rule, prefix: str) -> RulePreview | str:
    """Return what a rule would have done, or why nobody knows; read again when the rule changes."""
    key = f"{prefix}-previewed"
    held: tuple[Rule, RulePreview | str] | None = st.session_state.get(key)
    if held is None or held[0] != rule:
        try:
            held = rule, queries.rules.preview(rule, LATELY)
        except InputError as error:
            held = rule, str(error)
        st.session_state[key] = held
    return held[1]


def _firings(queries: Application, found: RulePreview) -> None:
    latest = reversed(found.firings[-_MOST_FIRINGS:])
    drawn = {
        "at": lambda each: f"{each.at:%d %b %H:%M:%S} UTC",
        "until": _until,
        "what": lambda each: breakable(visible(group_in_words(each), _LONGEST)),
    }
    st.html(list_table(firing_listing(queries.context), latest, "Would have fired", drawn))
    if (earlier := len(found.firings) - _MOST_FIRINGS) > 0:
        st.html(element("p", f"… and {earlier:,} earlier.", class_="lw-quiet"))


def _until(each: Firing) -> str:
    """Say when it ended, and after how long."""
    if each.ends is None:
        return "ongoing"
    return f"{each.ends:%H:%M:%S} UTC, {span(each.ends - each.at)}"
