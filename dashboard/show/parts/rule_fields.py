"""The fields of the form of a rule: label, unit and control of each key, and which kinds have it.

A field that is left empty says what the key says where it is left out of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import streamlit as st

from dashboard.domain.alerts.kinds.kind import Dimension, Figure, RuleKind
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.rule import DEFAULT_GROUP, DEFAULT_SEVERITY, Severity
from dashboard.domain.alerts.rule_table import RuleTable
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import RejectionStage

_LONGEST: Final = 2_000


class Input(Enum):
    """How a value is asked: a line, a number, several lines, one or several choices, a tick."""

    TEXT = 1
    NUMBER = 2
    LINES = 3
    ONE = 4
    SOME = 5
    YES = 6


@dataclass(frozen=True, slots=True)
class RuleField:
    """One key of a rule.

    `hint` stands in the empty field: what that means, and after "such as" an example. `fits` says
    which kinds of rules have the key. `usual` is what is chosen where the rule does not say it.
    """

    key: str
    label: str
    control: Input
    hint: str = ""
    choices: Sequence[str] = ()
    fits: Callable[[RuleKind], bool] = lambda _: True
    usual: Sequence[str] = ()


def _of_rejections(kind: RuleKind) -> bool:
    return KINDS[kind].is_of_rejections


def _of_networks(kind: RuleKind) -> bool:
    return KINDS[kind].is_of_networks


def _lasting(kind: RuleKind) -> bool:
    return KINDS[kind].is_lasting


def _keeps_firing(kind: RuleKind) -> bool:
    return KINDS[kind].is_measured or not KINDS[kind].is_lasting


def _measured(figure: Figure) -> RuleField:
    """Return the field of a figure, which one kind of rules has."""
    typed = Input.NUMBER if figure.is_number else Input.TEXT
    return RuleField(
        figure.key,
        figure.label,
        Input.ONE if figure.choices else typed,
        figure.hint,
        figure.choices,
        fits=lambda kind: figure in KINDS[kind].figures,
    )


MEASURES: Final = tuple(_measured(each) for kind in KINDS.values() for each in kind.figures)
SCOPE: Final = (
    RuleField(
        "networks", "Networks", Input.SOME, "all", fits=lambda kind: KINDS[kind].is_of_networks
    ),
    RuleField(
        *("reports", "Transactions", Input.ONE, "tracked only"),
        choices=("tracked", "all"),
        fits=_of_rejections,
    ),
    RuleField(
        *("stages", "Stages", Input.SOME, "all"),
        choices=[each.value for each in RejectionStage],
        fits=_of_rejections,
    ),
    RuleField("modules", "Modules, one per line", Input.LINES, "all", fits=_of_rejections),
    RuleField("senders", "Senders, one per line", Input.LINES, "all", fits=_of_rejections),
    RuleField("labels", "Labels, one per line", Input.LINES, "all", fits=_of_rejections),
    RuleField("tags", "Tags, one per line", Input.LINES, "all", fits=_of_rejections),
)
URGENCY: Final = (
    RuleField(
        *("severity", "Severity", Input.ONE),
        choices=[each.value for each in Severity],
        usual=[DEFAULT_SEVERITY.value],
    ),
    RuleField("pending", "Only if it lasts", Input.TEXT, "at once, or such as 5m", fits=_lasting),
    RuleField(
        "keep_firing",
        "Stays open after its end for",
        Input.TEXT,
        "0s, or such as 15m",
        fits=_keeps_firing,
    ),
    RuleField("pierces", "Even in quiet hours", Input.YES),
)
PEOPLE: Final = (
    RuleField("recipients", "Recipients, one per line", Input.LINES, "those of [mail]"),
    RuleField("remind_every", "Remind every", Input.TEXT, "never, or such as 30m"),
    RuleField("escalate_after", "Escalate after", Input.TEXT, "never, or such as 1h"),
    RuleField("escalate_to", "Escalate to, one per line", Input.LINES, "nobody"),
    RuleField(
        "active",
        "Active hours, one span per line",
        Input.LINES,
        "at any hour, or such as mon-fri 08:00-18:00",
    ),
    RuleField("time_zone", "Time zone of the active hours", Input.TEXT, "UTC"),
)
GROUPING: Final = (
    RuleField(
        *("group_by", "One incident for each", Input.SOME),
        choices=[each.value for each in Dimension],
        usual=[each.value for each in DEFAULT_GROUP],
    ),
    RuleField("group_wait", "Group followers for", Input.TEXT, "30s"),
)


def ask(
    field: RuleField,
    table: RuleTable,
    prefix: str,
    networks: Sequence[NetworkId],
    name_of: Callable[[NetworkId], str],
) -> Any:  # noqa: ANN401 - a plain value of a rule's table, None for none
    """Draw one field, filled from `table`, and return what it says now; None where it is empty."""
    key, given = f"{prefix}-{field.key}", table.get(field.key)
    match field.control:
        case Input.ONE:
            return _one(field, given, key)
        case Input.SOME if field.key == "networks":
            known = [*dict.fromkeys([*networks, *(given or ())])]
            chosen = st.multiselect(
                field.label, known, given or [], format_func=name_of, key=key, placeholder="All"
            )
            return list(chosen) or None
        case Input.SOME:
            usual = list(given or field.usual)
            return (
                list(
                    st.multiselect(
                        field.label, field.choices, usual, key=key, placeholder=field.hint or "None"
                    )
                )
                or None
            )
        case Input.LINES:
            text = st.text_area(
                *(field.label, "\n".join(map(str, given or ()))),
                key=key,
                height=96,
                max_chars=_LONGEST,
                placeholder=field.hint,
            )
            return [each.strip() for each in (text or "").splitlines() if each.strip()] or None
        case Input.YES:
            return st.checkbox(field.label, bool(given), key=key) or None
        case Input.TEXT | Input.NUMBER:
            return _typed(field, given, key)


def _one(field: RuleField, given: object, key: str) -> str | None:
    empty = [field.hint] if field.hint else []
    options = [*empty, *field.choices]
    held = given if given in field.choices else next(iter(field.usual), options[0])
    chosen = st.selectbox(field.label, options, options.index(str(held)), key=key)
    return None if chosen == field.hint and empty else chosen


def _typed(field: RuleField, given: object, key: str) -> str | int | None:
    held = "" if given is None else str(given)
    typed = st.text_input(field.label, held, key=key, max_chars=200, placeholder=field.hint)
    text = (typed or "").strip()
    if field.control is Input.NUMBER and text.isdecimal():
        return int(text)
    return text or None
