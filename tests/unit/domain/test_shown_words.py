"""The words of a page stand for the reasons that the page tells with them."""

from __future__ import annotations

import pytest

from dashboard.domain.rejections.node_rule_messages import NodeRule, beginnings_of, words_of
from dashboard.domain.rejections.reasons import KIND_NAMES, ReasonKind
from dashboard.domain.rejections.search import forms_shown_with, words_of_search


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Needs 2,710,676 lines", ("needs", "2710676", "lines")),
        ("(1.29 times the limit).", ("times", "the", "limit")),
        ("1.7× limit", ("limit",)),
        ("HUB hub …", ("hub",)),
        (" . ", ()),
    ],
)
def test_search_is_for_words_as_they_are_stored(text: str, words: tuple[str, ...]) -> None:
    assert words_of_search(text) == words


def test_search_takes_so_many_words_and_no_more() -> None:
    assert len(words_of_search(" ".join(f"word{number}" for number in range(100)))) == 40


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        *KIND_NAMES.items(),
        (ReasonKind.MODULE_UNDEFINED, "module"),
        (ReasonKind.UNPARSED, "not known to linewatch"),
        (ReasonKind.OVER_LIMIT, "cannot prove"),
    ],
)
def test_kind_is_found_by_the_words_of_its_page(kind: ReasonKind, word: str) -> None:
    assert kind in {form.kind for form in forms_shown_with(word)}


@pytest.mark.parametrize("rule", NodeRule)
def test_rule_is_found_by_what_it_means(rule: NodeRule) -> None:
    [form] = (
        each
        for each in forms_shown_with(words_of(rule).means.split(",")[0].lower())
        if each.beginnings == beginnings_of(rule)
    )

    assert form.kind is ReasonKind.OTHER_RULE


def test_operation_that_cannot_be_proven_is_told_by_its_limit_of_none() -> None:
    counted = [form for form in forms_shown_with("cannot prove") if form.ending]

    assert [form.is_barred for form in counted] == [False]


def test_word_of_no_page_stands_for_nothing() -> None:
    assert forms_shown_with("zebra") == ()
