"""The fields of the form of a rule: label and control of each key, and which kinds have it.

A field that shows its default, or nothing, means the same as a key that a file leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import streamlit as st
from msgspec import Struct, field

from dashboard.domain.alerts.kinds.kind import Dimension, Figure, RuleKind
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.rule import DEFAULT_GROUP, DEFAULT_SEVERITY, Severity
from dashboard.domain.alerts.rule_table import RuleTable
from dashboard.domain.rejections.exclusion import RejectionStage

_LONGEST: Final = 200
_NARROW: Final = 104
_WIDE: Final = 272


class Input(Enum):
    """How a value is asked for: a line, a number, one or several choices, several words, a tick."""

    TEXT = 1
    NUMBER = 2
    ONE = 3
    SOME = 4
    WORDS = 5
    YES = 6


class RuleField(Struct, frozen=True):
    """One key of a rule.

    `default` is the value that the field shows if the rule does not have the key, and that is left
    out again; with several choices, an empty field means it. `example` helps in an empty field.
    `fits` says which kinds of rules have the key. `usual` is chosen if the rule does not have the
    key, `named` are the names of choices, and `lead` is the text before the field in the sentence.
    """

    key: str
    label: str
    control: Input
    default: str = ""
    example: str = ""
    choices: Sequence[str] = ()
    fits: Callable[[RuleKind], bool] = lambda _: True
    usual: Sequence[str] = ()
    named: Mapping[str, str] = field(default_factory=dict)
    lead: str = ""

    @property
    def words(self) -> str:
        """Return the text before it in a sentence."""
        return self.lead or self.label[0].lower() + self.label[1:]


def _of_rejections(kind: RuleKind) -> bool:
    return KINDS[kind].is_of_rejections


def _lasting(kind: RuleKind) -> bool:
    return KINDS[kind].is_lasting


def _keeps_firing(kind: RuleKind) -> bool:
    return KINDS[kind].is_measured or not KINDS[kind].is_lasting


def _measured(figure: Figure) -> RuleField:
    """Return the field of a figure, which only one kind of rules has."""
    typed = Input.NUMBER if figure.is_number else Input.TEXT
    return RuleField(
        figure.key,
        figure.label,
        Input.ONE if figure.choices else typed,
        figure.default,
        figure.example,
        figure.choices,
        fits=lambda kind: figure in KINDS[kind].figures,
    )


MEASURES: Final = tuple(_measured(each) for kind in KINDS.values() for each in kind.figures)
PLACE: Final = (
    RuleField(
        *("networks", "Networks", Input.SOME, "all networks"),
        lead="on",
        fits=lambda kind: KINDS[kind].is_of_networks,
    ),
    RuleField(
        *("reports", "Transactions", Input.ONE, "tracked transactions"),
        lead="among",
        choices=("tracked", "all"),
        fits=_of_rejections,
        named={"tracked": "tracked transactions", "all": "all that nodes report"},
    ),
    RuleField(
        *("pending", "At least", Input.TEXT, "0s", "5 min"), lead="for at least", fits=_lasting
    ),
)
PEOPLE: Final = (
    RuleField("recipients", "Recipients", Input.WORDS, "default recipients", lead="notify"),
    RuleField(
        *("severity", "Severity", Input.ONE),
        lead="as",
        choices=[each.value for each in Severity],
        usual=[DEFAULT_SEVERITY.value],
    ),
)
"""The fields of the sentence of a rule, in order."""

SCOPE: Final = (
    RuleField("modules", "Modules", Input.WORDS, "all", "HUB", fits=_of_rejections),
    RuleField(
        *("stages", "Stages", Input.SOME, "all"),
        choices=[each.value for each in RejectionStage],
        fits=_of_rejections,
    ),
    RuleField("senders", "Senders", Input.WORDS, "all", "0x5f3c…", fits=_of_rejections),
    RuleField("labels", "Labels", Input.WORDS, "all", "Case 1742", fits=_of_rejections),
    RuleField("tags", "Tags", Input.WORDS, "all", "vip", fits=_of_rejections),
)
LATER: Final = (
    RuleField("remind_every", "Remind every", Input.TEXT, "never", "30 min"),
    RuleField("escalate_after", "Escalate after", Input.TEXT, "never", "1 h"),
    RuleField("escalate_to", "Escalate to", Input.WORDS, "nobody", "name@example.org"),
)
HOURS: Final = (
    RuleField("active", "Hours", Input.WORDS, "at any hour", "mon-fri 08:00-18:00"),
    RuleField("time_zone", "Time zone of the hours", Input.TEXT, "UTC", "Europe/Berlin"),
    RuleField("pierces", "Even in quiet hours", Input.YES),
    RuleField(
        *("until", "Until", Input.TEXT, "for good", "2026-12-01T07:00:00Z"),
        fits=lambda kind: not _lasting(kind),
    ),
)
GROUPING: Final = (
    RuleField(
        *("group_by", "One incident for each", Input.SOME, "rule"),
        choices=[each.value for each in Dimension],
        usual=[each.value for each in DEFAULT_GROUP],
    ),
    RuleField("group_wait", "Group changes for", Input.TEXT, "30s", "5 min"),
    RuleField(
        *("keep_firing", "Keep open after it clears", Input.TEXT, "0s", "15 min"),
        fits=_keeps_firing,
    ),
)


class Known(Struct, frozen=True):
    """What can be chosen besides the rule's own values: values by key, and their names."""

    choices: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    name_of: Callable[[Any], str] = str


def ask(each: RuleField, table: RuleTable, key: str, known: Known, *, in_sentence: bool) -> Any:  # noqa: ANN401 - a plain value of a rule's table, None for the default
    """Draw one field, filled from `table`, and return its present value."""
    given = table.get(each.key)
    label = "collapsed" if in_sentence else "visible"
    match each.control:
        case Input.ONE:
            return _one(each, given, key, label)
        case Input.SOME | Input.WORDS:
            return _several(each, given, key, known, label)
        case Input.YES:
            return st.checkbox(each.label, bool(given), key=key) or None
        case Input.TEXT | Input.NUMBER:
            return _typed(each, given, key, label)


def _one(each: RuleField, given: object, key: str, label: Any) -> str | None:  # noqa: ANN401 - of Streamlit
    """Ask for one choice; the default is one that the rule leaves out."""
    is_named = each.default in each.named.values()
    options = [*([each.default] if each.default and not is_named else []), *each.choices]
    held = given if given in options else next(iter(each.usual), options[0])
    chosen = st.selectbox(
        *(each.label, options, options.index(str(held))),
        key=key,
        format_func=lambda value: each.named.get(value, value),
        label_visibility=label,
        width=_WIDE if each.named else 150,
    )
    return None if each.named.get(chosen, chosen) == each.default else chosen


def _several(
    each: RuleField,
    given: Any,  # noqa: ANN401 - a list of the table
    key: str,
    known: Known,
    label: Any,  # noqa: ANN401 - of Streamlit
) -> list[Any] | None:
    """Ask for several values; an empty field says what none means."""
    held = list(given or each.usual)
    offered = [*each.choices, *known.choices.get(each.key, ())]
    example = f", e.g. {each.example}" if each.example and each.default == "all" else ""
    chosen = st.multiselect(
        *(each.label, [*dict.fromkeys([*offered, *held])], held),
        key=key,
        format_func=known.name_of if each.key == "networks" else str,
        placeholder=f"{each.default}{example}",
        accept_new_options=each.control is Input.WORDS,
        label_visibility=label,
        width=_WIDE,
    )
    return [value.strip() if isinstance(value, str) else value for value in chosen] or None


def _typed(each: RuleField, given: object, key: str, label: Any) -> str | int | None:  # noqa: ANN401 - of Streamlit
    typed = st.text_input(
        *(each.label, each.default if given is None else str(given)),
        key=key,
        max_chars=_LONGEST,
        placeholder=f"e.g. {each.example}" if each.example else "",
        label_visibility=label,
        width=_NARROW if label == "collapsed" else 180,
    )
    text = (typed or "").strip()
    if text.casefold() == each.default.casefold():
        return None
    return int(text) if each.control is Input.NUMBER and text.isdecimal() else text or None
