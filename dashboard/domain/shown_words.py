"""The words that pages show for a reason, so that a search finds what people read there.

The store holds the reason as it was sent, and pages derive their sentence from its form. So a word
that only pages use is looked up as the forms whose sentence contains it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from dashboard.domain.node_rule_messages import NodeRule, beginnings_of
from dashboard.domain.reason_explanation import explain
from dashboard.domain.reason_labels import KIND_NAMES
from dashboard.domain.reason_parser import Reason, ReasonKind

_MOST_WORDS: Final = 40
_AROUND: Final = ".,;:()[]“”\"'…×?!"
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+", re.ASCII)
_FACTOR: Final = re.compile(r"\d+\.\d{1,2}", re.ASCII)
_COUNTED: Final = ("Transaction ",)
_UNCOUNTED: Final = ("TX_MODULE_LINE_COUNT_OVERFLOW",)
_NO_LINE: Final = " above the limit 0"


@dataclass(frozen=True, slots=True)
class ReasonForm:
    """Reasons that pages show with the same sentence: `words` are those, in lower case.

    A reason is of the form that has this kind and names a module as `has_module` says, begins
    with one of `beginnings`, if there are any, and ends with `ending` or, where that `is_barred`,
    does not.
    """

    kind: ReasonKind
    words: str
    has_module: bool = False
    beginnings: tuple[str, ...] = ()
    ending: str = ""
    is_barred: bool = False


def words_of_search(text: str) -> tuple[str, ...]:
    """Return the words to look for, all of them: in lower case, numbers without separators.

    How many times the limit was exceeded is stored nowhere, so it is passed over.
    """
    words = [_GROUPED.sub(_ungrouped, word.strip(_AROUND)).lower() for word in text.split()]
    wanted = [word for word in words if word and not _FACTOR.fullmatch(word)]
    return tuple(dict.fromkeys(wanted))[:_MOST_WORDS]


def forms_shown_with(word: str) -> tuple[ReasonForm, ...]:
    """Return the forms of reasons whose sentence contains this word, or part of a word."""
    return tuple(form for form in _forms() if word in form.words)


def _ungrouped(match: re.Match[str]) -> str:
    return match[0].replace(",", "")


@cache
def _forms() -> tuple[ReasonForm, ...]:
    return (*_line_limit_forms(), *_rule_forms(), *_other_forms())


def _line_limit_forms() -> Iterator[ReasonForm]:
    over = ReasonKind.OVER_LIMIT
    yield ReasonForm(over, _page_words(Reason(over, "")))
    counted = _page_words(Reason(over, "", "", 1, 1))
    unprovable = _page_words(Reason(over, "", "", 1, 0))
    yield ReasonForm(over, counted, True, _COUNTED, _NO_LINE, is_barred=True)  # noqa: FBT003 - the record's own order
    yield ReasonForm(over, unprovable, True, _COUNTED, _NO_LINE)  # noqa: FBT003 - the record's own order
    # Limits come from the network's table here, so any of the sentences may be shown.
    limited, unlimited = Reason(over, "", "", limit=1), Reason(over, "", "")
    words = f"{_page_words(limited)} {_page_words(unlimited)} {unprovable}"
    yield ReasonForm(over, words, True, _UNCOUNTED)  # noqa: FBT003 - the record's own order


def _rule_forms() -> Iterator[ReasonForm]:
    for rule in NodeRule:
        words = _page_words(Reason(ReasonKind.OTHER_RULE, "", rule=rule))
        yield ReasonForm(ReasonKind.OTHER_RULE, words, beginnings=beginnings_of(rule))


def _other_forms() -> Iterator[ReasonForm]:
    undefined = Reason(ReasonKind.MODULE_UNDEFINED, "", "")
    yield ReasonForm(undefined.kind, _page_words(undefined), has_module=True)
    for kind in (ReasonKind.INVALID_COUNT, ReasonKind.UNPARSED):
        yield ReasonForm(kind, _page_words(Reason(kind, "")))


def _page_words(reason: Reason) -> str:
    """Return the words that pages add to a reason, without those of the reason itself."""
    name = KIND_NAMES.get(reason.kind, "") if reason.module is None else "module"
    quoted = "reason not known to linewatch" if reason.kind is ReasonKind.UNPARSED else ""
    ours = re.sub(r"[\d,.;:()]+", " ", explain(reason))
    return f"{ours} {name} {quoted}".lower()
