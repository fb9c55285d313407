"""What is typed into a search box is a hash, a part of one, a link, an address, or words."""

from __future__ import annotations

import pytest

from dashboard.domain.quantity import Address, TxHash
from dashboard.domain.rejections.search import HashRange, Search, bare_beginning, parse_search

DIGITS = "348e063007d4a029b4c3845c4e78a3f3fd82284b692556d5dfc5209fb0d4a388"
SENDER = "0x79900286d34f6453c226c8894b1aaf6b74fb2d63"
WHOLE = Search(HashRange.of(TxHash.parse(DIGITS)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"0x{DIGITS}", WHOLE),
        (f" {DIGITS}\n", WHOLE),
        (f"https://explorer.example/tx/0x{DIGITS}#logs", WHOLE),
        (f"http://127.0.0.1:8501/lookup?tx=0x{DIGITS}", WHOLE),
        ("0x348e0630…d4a388", Search(beginning=HashRange.parse("0x348e0630…d4a388"))),
        ("0x348e0630", Search(beginning=HashRange.parse("0x348e0630"))),
        (SENDER, Search(sender=Address.parse(SENDER))),
        (f"https://explorer.example/address/{SENDER}?a", Search(sender=Address.parse(SENDER))),
        ("348e0630", Search(words="348e0630")),
        ("line count", Search(words="line count")),
        (f"paid 0x{DIGITS} twice", Search(words=f"paid 0x{DIGITS} twice")),
        ("", Search()),
    ],
)
def test_search_is_read_as_what_it_is(text: str, found: Search) -> None:
    assert parse_search(text) == found


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("0x79900286…2d63", "79900286" + "0" * 32, "79900286" + "f" * 32),
        (SENDER, SENDER, SENDER),
    ],
)
def test_beginning_is_that_of_a_sender_too(text: str, first: str, last: str) -> None:
    named = parse_search(text).named

    assert named is not None
    assert named.senders == (Address.parse(first), Address.parse(last))


@pytest.mark.parametrize("text", [f"0x{DIGITS}", f"0x{DIGITS[:41]}"])
def test_what_is_longer_than_a_sender_is_none(text: str) -> None:
    named = parse_search(text).named

    assert named is not None
    assert named.senders is None


@pytest.mark.parametrize(
    ("text", "begins"), [("348e0630", "0x348e0630"), ("348E…d4a388", "0x348e…d4a388")]
)
def test_digits_may_be_how_a_hash_begins(text: str, begins: str) -> None:
    assert bare_beginning(text) == HashRange.parse(begins)


@pytest.mark.parametrize("text", ["", "348", "case", "0x348e", DIGITS + "0"])
def test_other_texts_are_no_beginning(text: str) -> None:
    assert bare_beginning(text) is None
