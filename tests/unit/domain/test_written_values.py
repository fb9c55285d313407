"""Values as people write them in TOML, in spreadsheets and in templates."""

from __future__ import annotations

import csv
import tomllib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from datetime import timedelta
from io import StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashboard.domain.csv_tables import cell, read_spreadsheet, without_mark, write_csv
from dashboard.domain.formatting import read_duration, read_fee, write_duration, write_fee
from dashboard.domain.markup import visible
from dashboard.domain.quantity import LARGEST_FEE, Wei
from dashboard.domain.rejections.answer_template import (
    BUILT_IN,
    LONGEST_TEMPLATE,
    PLACEHOLDERS,
    AnswerFileState,
    AnswerTemplates,
    Voice,
    built_in_file,
    fill_in,
    parse_case_id,
    template_mistakes,
)
from dashboard.domain.toml_tables import write_toml
from dashboard.domain.tracking.remarks import LONGEST_CASE_ID
from dashboard.domain.tracking.verdict import VerdictKind
from dashboard.errors import InputError


@given(st.integers(0, 999_999_999))
def test_duration_is_read_back_as_it_was_written(milliseconds: int) -> None:
    length = timedelta(milliseconds=milliseconds)

    assert read_duration(write_duration(length)) == length


@given(st.integers(0, LARGEST_FEE))
def test_fee_is_read_back_as_it_was_written(fee: int) -> None:
    assert read_fee(write_fee(Wei(fee))) == fee


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(), "0s"),
        (timedelta(days=2), "2d"),
        (timedelta(hours=36), "36h"),
        (timedelta(seconds=90), "90s"),
        (timedelta(milliseconds=250), "250ms"),
    ],
)
def test_duration_is_written_in_the_largest_unit_that_holds_it(
    length: timedelta, text: str
) -> None:
    assert write_duration(length) == text


@pytest.mark.parametrize(
    ("fee", "text"),
    [(7, "7wei"), (999_999, "999999wei"), (1_000_000, "0.001gwei"), (1_500_000_000, "1.5gwei")],
)
def test_fee_is_written_in_the_unit_that_people_use(fee: int, text: str) -> None:
    assert write_fee(Wei(fee)) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("5 min", 300), ("5 minutes", 300), (" 5 Min ", 300), ("5m", 300), ("90 s", 90)),
        *(("1h 30m", 5_400), ("1h30m", 5_400), ("1 hour, 30 minutes", 5_400)),
        *(("1 day and 2 hours", 93_600), ("2 weeks", 1_209_600), ("1y", 31_536_000)),
        *(("250ms", 0.25), ("0s", 0)),
    ],
)
def test_duration_is_read_as_people_type_it(text: str, seconds: float) -> None:
    assert read_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    [
        *("", "5", "1.5h", "-1s", "5 months", "6M", "30m 1h", "1h 2h", "1h30", ", 5m", "5 and"),
        *("5 min ago", "\u0665m", "5\u212a", 4, None),
    ],
)
def test_what_has_another_form_is_no_duration(text: object) -> None:
    assert read_duration(text) is None


def test_duration_beyond_any_clock_is_refused() -> None:
    with pytest.raises(InputError, match="36501d is too long; write at most 36500d"):
        read_duration("36501d")
    with pytest.raises(InputError, match="1h 30m is too long; write at most 1h"):
        read_duration("1h 30m", timedelta(hours=1))
    assert read_duration("36500d") == timedelta(days=36_500)


@pytest.mark.parametrize(
    "text", ["1", "gwei", "1e9gwei", ".5gwei", "1.5wei", f"{2**63}wei", "1" * 31 + "wei", 7]
)
def test_what_is_no_fee_is_refused_with_the_form_to_write(text: object) -> None:
    with pytest.raises(InputError, match="write an amount and a unit"):
        read_fee(text)


texts = st.text(st.characters(codec="utf-8"), max_size=30)
plain = st.one_of(texts, st.booleans(), st.integers(-(2**63), 2**63 - 1))
values = st.one_of(plain, st.lists(plain, max_size=4))
within = st.one_of(values, st.dictionaries(texts, values, max_size=2))


@given(st.dictionaries(texts, st.dictionaries(texts, within, max_size=4), max_size=3))
@example({"busy": {"note": 'of "several"\nlines\n'}})
def test_tables_are_read_back_as_they_were_written(tables: dict[str, dict[str, object]]) -> None:
    assert tomllib.loads(write_toml("rules", tables)).get("rules", {}) == tables


def test_text_that_hides_or_turns_is_written_as_codes() -> None:
    text = write_toml("rules", {"a": {"label": "x\u202e\x7f\U000e0041"}})

    assert text == '[rules.a]\nlabel = "x\\u202e\\u007f\\U000e0041"\n'


_TEXT = "hash;Zürich\r\n"


@pytest.mark.parametrize(
    "octets",
    [
        _TEXT.encode(),
        _TEXT.encode("utf-8-sig"),
        BOM_UTF16_LE + _TEXT.encode("utf-16-le"),
        BOM_UTF16_BE + _TEXT.encode("utf-16-be"),
        _TEXT.encode("utf-16-le"),
        _TEXT.encode("utf-16-be"),
    ],
)
def test_text_is_read_as_spreadsheets_save_it(octets: bytes) -> None:
    assert read_spreadsheet(octets) == _TEXT


@pytest.mark.parametrize("octets", ["Zürich".encode("cp1252"), BOM_UTF16_LE + b"x"])
def test_text_in_another_encoding_is_refused_with_the_remedy(octets: bytes) -> None:
    with pytest.raises(InputError, match="save it as “CSV UTF-8”"):
        read_spreadsheet(octets)


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "  =1",
        "\uff1d1+1",
        "|cmd",
        "%0A=1",
        '=HYPERLINK("https://outside.invalid")',
    ],
)
def test_cell_that_could_compute_is_marked_as_text(text: str) -> None:
    assert cell(text)[0] in "'\\"


@pytest.mark.parametrize("text", ["", "HUB", "0x12", "a = b", "2026-11-20"])
def test_cell_that_cannot_compute_stays_as_it_is(text: str) -> None:
    assert cell(text) == text


def test_line_end_in_a_cell_begins_no_new_row() -> None:
    written = write_csv(["reason"], [["ADD\r\n=1+1\n@x"]])

    assert written == "reason\r\nADD\\u000d\\u000a=1+1\\u000a@x\r\n"


def test_numbers_stay_numbers_and_nothing_stays_empty() -> None:
    assert write_csv(["a", "b", "c"], [[-5, None, 'say "x", y']]) == (
        'a,b,c\r\n-5,,"say ""x"", y"\r\n'
    )


_TEXTS = st.text(st.sampled_from("ab =+-@;,|\t\n\"'%") | st.characters(), max_size=30)


@given(st.lists(_TEXTS, min_size=2, max_size=2))
def test_text_becomes_no_other_cell_and_is_read_again(texts: list[str]) -> None:
    rows = list(csv.reader(StringIO(write_csv(["a", "b"], [texts]), newline="")))

    assert rows[1] == [cell(text) for text in texts]
    assert [without_mark(each) for each in rows[1]] == [visible(text) for text in texts]


@given(st.lists(_TEXTS, min_size=2, max_size=2), st.sampled_from(",;|\t"), st.booleans())
@example(["pay;@SUM(1)", 'a;"=1+1"'], ";", False)  # noqa: FBT003 - each value is named below
def test_no_part_of_a_text_becomes_a_formula_whatever_separates_cells(
    texts: list[str],
    separator: str,
    is_skipping_blanks: bool,  # noqa: FBT001 - the case
) -> None:
    written = write_csv(["a", "b"], [texts])
    read = csv.reader(
        StringIO(written, newline=""), delimiter=separator, skipinitialspace=is_skipping_blanks
    )

    cells = [each.lstrip(' "') for row in read for each in row]

    assert [each for each in cells if each.startswith(("=", "+", "-", "@"))] == []


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


def test_line_is_written_for_each_network_that_answers_differently() -> None:
    template = "{hash}\nWhy: {cause}\nStage {stage}\nBlock {block}\n\nTo do:\n{next_steps}"
    first = {"cause": "gas", "stage": "RPC", "next_steps": "1. Wait\n2. Ask"}
    second = {"cause": "size", "stage": "RPC", "block": "7"}

    text = fill_in(template, {"hash": "0x1"}, [("A", first), ("B and C", second)])

    assert text == (
        "0x1\nA: Why: gas\nB and C: Why: size\nStage RPC\nB and C: Block 7\n\n"
        "To do:\nA:\n1. Wait\n2. Ask"
    )


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
    assert AnswerFileState("answers.toml").editable() == text
    assert AnswerFileState("answers.toml", "ours").editable() == "ours"


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
