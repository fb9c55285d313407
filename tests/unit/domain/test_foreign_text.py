"""Foreign text that tries to hide something."""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashboard.domain.markup import unlinked, unlinked_name, visible


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
    assert visible("abc", limit=3) == "abc"
    assert visible("x" * 2001) == f"{'x' * 2000}…"


@given(st.text(alphabet=st.characters()))
def test_shown_text_holds_no_control_or_format_character(text: str) -> None:
    assert {unicodedata.category(character)[0] for character in visible(text)} & {"C"} == set()


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("go to https://evil.example/login", "go to https[:]//evil[.]example/login"),
        ("www.evil.example", "www[.]evil[.]example"),
        ("write to help@evil.example", "write to help[@]evil[.]example"),
        ("http://127.0.0.1/", "http[:]//127[.]0[.]0[.]1/"),
        ("bücher.рф/", "bücher[.]рф/"),
        ("evil\u3002example", "evil[\u3002]example"),
        ("cafe\u0301.example", "cafe\u0301[.]example"),
        ("😀.ws and evil\u2024example", "😀[.]ws and evil[\u2024]example"),
        (r"\\host\share", r"[\\]host\share"),
        ("file:///etc tel:112", "file[:]///etc tel[:]112"),
        ("evil.com, t.co (x.io) e.g.evil.com", "evil[.]com, t[.]co (x[.]io) e[.]g[.]evil[.]com"),
        ("x.y/path e.g:80 e.g.\u200bevil.co", "x[.]y/path e[.]g[:]80 e[.]g[.]\\u200bevil[.]co"),
        ("evil.com.5 and 1.2.3.4", "evil[.]com[.]5 and 1[.]2[.]3[.]4"),
        ("a\u202eb", "a\\u202eb"),
    ],
)
def test_mail_program_finds_no_link_in_foreign_text(foreign: str, shown: str) -> None:
    assert unlinked(foreign) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Case 17.5 of v1.2. Next, at 12:30 ...",
        "too many calls, e.g., “a.k.a.” of geth 1.14.2 (i.e. 1,234.5 lines; over the limit.)",
        "more than one word …”, so it was cut…",
    ],
)
def test_text_in_which_no_program_finds_a_link_stays_as_it_is(text: str) -> None:
    assert unlinked(text) == text


_LINK: Final = re.compile(r"[a-z][a-z0-9+.-]*:\S|[^\s\[\]\"]@+[^\s\]]|\\\\[^\s\]\\]", re.IGNORECASE)
"""More than any program takes for a link: what joins protocols, mailboxes and shares."""

_AT_AN_END: Final = re.compile(r"(?<![^\s\[\"])[.:@]+|[.:@]+(?![^\s)\"”])")
"""Marks that join nothing: they begin or end a word."""

_NO_PART_OF_A_HOST: Final = re.compile(r"[a-z]?|\d+", re.ASCII | re.IGNORECASE)
"""What stands behind no dot of a host: one letter, or a number unless all parts are numbers."""


def _is_host(word: str) -> bool:
    first, *parts = re.split(r"\.+", word)
    is_number = first.isdecimal() and len(parts) > 2
    return is_number or not all(map(_NO_PART_OF_A_HOST.fullmatch, parts))


def _has_link(text: str) -> bool:
    seen = unicodedata.normalize("NFKC", text).replace("\u3002", ".")
    seen = re.sub(r"\[[ap]\.m\.\]", "", _AT_AN_END.sub("", seen))  # of one sign: \u33c2
    has_host = any(map(_is_host, re.split(r"[\s\[\]()\"“”,;!?/:@]+", seen)))
    return has_host or _LINK.search(seen) is not None


@example("0@: a:. b.@ :@a")
@given(
    st.text(
        st.sampled_from('ax5é\u0301😀 .\u2024\uff61:\uff1a@/\\\uff3c"[]\t\u00a0') | st.characters()
    )
)
def test_no_text_keeps_a_link(text: str) -> None:
    shown = unlinked(text)

    assert not _has_link(shown)
    assert unlinked(shown) == shown


def test_backslashes_take_no_longer_than_their_number() -> None:
    text = "\\" * 200_000

    assert unlinked(text, len(text)) == text


def test_no_character_that_becomes_a_joint_keeps_a_link() -> None:
    signs = map(chr, range(sys.maxunicode + 1))
    joints = [
        each
        for each in signs
        if {*unicodedata.normalize("NFKC", each)} & {*".\u3002:@\\"}
        and _has_link(f"evil{each}example")
    ]

    assert len(joints) > 40
    assert [each for each in joints if _has_link(unlinked(f"evil{each}example"))] == []


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("bob.b+x@ops.example", "bob.b+x@ops.example"),
        ("Bob bob@ops.example", "Bob bob[@]ops[.]example"),
        ("WWW.bob@evil.example", "WWW[.]bob[@]evil[.]example"),  # some take it for a web site
        ("https://evil.example/@a.b", "https[:]//evil[.]example/[@]a[.]b"),
        (f"{'b' * 64}@ops7.example", f"{'b' * 64}@ops7.example"),
        (f"{'b' * 64}@{'c' * 7}.example", f"{'b' * 64}@{'c' * 7}.example"),  # 80 characters
        (f"{'b' * 64}@{'c' * 8}.example", f"{'b' * 64}[@]{'c' * 8}[.]exampl…"),
    ],
)
def test_person_whose_name_is_a_mail_address_is_called_so(name: str, shown: str) -> None:
    assert unlinked_name(name) == shown
