"""Foreign text that tries to hide something."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.foreign_text import unlinked, visible


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("a\r\nBcc: b", "a\\u000d\\u000aBcc: b"),
        ("\x1b[31mred", "\\u001b[31mred"),
        ("abc\u202ecba", "abc\\u202ecba"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("line\u2028break", "line\\u2028break"),
        ("\ud800", "\\ud800"),
    ],
)
def test_unseen_character_shows_as_its_code(hostile: str, shown: str) -> None:
    assert visible(hostile) == shown


def test_plain_text_of_any_script_stays_as_it_is() -> None:
    assert visible("Grüße 你好 🙂 <b>") == "Grüße 你好 🙂 <b>"


def test_long_text_is_cut_and_says_so() -> None:
    assert visible("abcdef", limit=3) == "abc…"


@given(st.text(alphabet=st.characters()))
def test_shown_text_holds_no_control_or_format_character(text: str) -> None:
    assert {unicodedata.category(character)[0] for character in visible(text)} & {"C"} == set()


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("go to https://evil.example/login", "go to https[:]//evil[.]example/login"),
        ("www.evil.example", "www[.]evil[.]example"),
        (
            "to a@evil.example/x or x@a.b.evil.example",
            "to a@evil[.]example/x or x@a.b.evil.example",
        ),
        ("http://127.0.0.1/", "http[:]//127.0.0.1/"),
        ("bücher.рф/", "bücher[.]рф/"),
        ("evil\u3002example", "evil[.]example"),
        ("Case 17.5 of v1.2. Next", "Case 17.5 of v1.2. Next"),
        ("a\u202eb", "a\\u202eb"),
    ],
)
def test_mail_program_finds_no_link_in_foreign_text(foreign: str, shown: str) -> None:
    assert unlinked(foreign) == shown
