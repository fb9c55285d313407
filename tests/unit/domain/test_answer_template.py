"""Templates of answers: what they may name, how they are filled in, and what is wrong with them."""

from __future__ import annotations

import pytest

from dashboard.domain.rejections.answer_template import (
    BUILT_IN,
    LONGEST_TEMPLATE,
    PLACEHOLDERS,
    AnswerTemplates,
    Voice,
    built_in_file,
    fill_in,
    parse_case_id,
    template_mistakes,
)
from dashboard.domain.tracking.paste import LONGEST_CASE_ID
from dashboard.domain.tracking.verdict import VerdictKind
from dashboard.errors import InputError


@pytest.mark.parametrize(
    ("template", "values", "filled"),
    [
        ("Case {case_id}: {hash}", {"case_id": "7", "hash": "0x1"}, "Case 7: 0x1"),
        ("Case {case_id}\n{hash}", {"hash": "0x1"}, "0x1"),
        ("Hello\n\nTo do:\n{next_steps}\n\nBye", {}, "Hello\n\nBye"),
        ("To do:\n{next_steps}", {"next_steps": "1. Wait\n2. Ask"}, "To do:\n1. Wait\n2. Ask"),
        ("{{case_id}} {hash}", {"hash": "0x1"}, "{case_id} 0x1"),
        ("{reason}", {"reason": "{case_id} {{ \\1"}, "{case_id} {{ \\1"),
    ],
)
def test_template_is_filled_in_line_by_line(
    template: str, values: dict[str, str], filled: str
) -> None:
    assert fill_in(template, values) == filled


@pytest.mark.parametrize(
    ("template", "line", "said"),
    [
        ("Hi\n{hsah}", 2, "names {hsah}, which stands for nothing: write one of hash, case_id"),
        ("{", 1, "a lone {: write {{"),
        ("a }\n", 1, "a lone }: write }}"),
        ("{a{hash}", 1, "a lone {"),
        (" \n", 1, "holds no text"),
        ("x" * (LONGEST_TEMPLATE + 1), 1, "4,001 characters: write 4,000 at most"),
    ],
)
def test_mistake_in_a_template_is_named_with_its_line_and_remedy(
    template: str, line: int, said: str
) -> None:
    [(found_line, remark), *_] = template_mistakes(template)

    assert found_line == line
    assert said in remark


def test_built_in_templates_have_no_mistake() -> None:
    assert [list(template_mistakes(each)) for each in BUILT_IN.usual.values()] == [[], []]


def test_built_in_file_says_what_a_template_may_name() -> None:
    text = built_in_file()

    assert all(f"{{{name}}}" in text for name in PLACEHOLDERS)
    assert all(usual in text for usual in BUILT_IN.usual.values())


def test_placeholder_that_a_template_may_name_is_no_mistake() -> None:
    assert list(template_mistakes("{{x}} ".join(f"{{{each}}}" for each in PLACEHOLDERS))) == []


def test_template_of_a_verdict_takes_the_place_of_the_usual_one() -> None:
    own = AnswerTemplates(BUILT_IN.usual, {(Voice.CUSTOMER, VerdictKind.INCLUDED): "Good news"})

    assert own.choose(Voice.CUSTOMER, VerdictKind.INCLUDED) == "Good news"
    assert own.choose(Voice.CUSTOMER, VerdictKind.REJECTED) == BUILT_IN.usual[Voice.CUSTOMER]


def test_case_id_is_one_line_of_bounded_length() -> None:
    assert parse_case_id("  A\n17 ") == "A 17"
    with pytest.raises(InputError, match="81 characters: give at most 80"):
        parse_case_id("x" * (LONGEST_CASE_ID + 1))


def test_text_that_names_a_long_reason_many_times_is_cut() -> None:
    text = fill_in("{reason}" * 400, {"reason": "r" * 2000})

    assert text == "r" * 10_000 + "…"
