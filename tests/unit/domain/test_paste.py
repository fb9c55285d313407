"""Messy pastes: every hash found once, everything else named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.paste import read_lookup, read_paste
from dashboard.errors import InputError

ONE, TWO = "0x" + "1f" * 32, "0x" + "2e" * 32
ADDRESS = "0x" + "ab" * 20


@pytest.mark.parametrize(
    "text",
    [
        f"{ONE}\n{TWO}",
        f"{ONE},{TWO}",
        f"  {ONE} ;\t{TWO}  ",
        f"\"{ONE}\",'{TWO}'",
        f"https://explorer.example/tx/{ONE}?a=b#c\r\n<https://explorer.example/tx/{TWO}>",
        f"{ONE.upper().replace('0X', '0x')} {TWO.removeprefix('0x')}",
        f"customer 17: {ONE} and {TWO}, since Monday",
        f"{ONE},{ADDRESS},12.5\n{TWO},{ADDRESS},0",
    ],
)
def test_paste_gives_hashes_however_they_are_separated(text: str) -> None:
    paste = read_paste(text)

    assert paste.hashes == (TxHash.parse(ONE), TxHash.parse(TWO))
    assert paste.wrong == ()


def test_repeated_hash_is_taken_once_and_counted() -> None:
    paste = read_paste(f"{ONE} {TWO} {ONE}\n{ONE.removeprefix('0x')}")

    assert paste.hashes == (TxHash.parse(ONE), TxHash.parse(TWO))
    assert paste.repeated == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ONE[:-1], "has 63 hexadecimal digits; a transaction hash has 64"),
        (f"{ONE}a", "has 65 hexadecimal digits; a transaction hash has 64"),
        ("0x", "has 0 hexadecimal digits; a transaction hash has 64"),
        (f"{ONE[:-1]}g", "holds a character that is no hexadecimal digit (0 to 9, a to f)"),
        (ADDRESS, "is an address; give the transaction's hash, 0x and 64 hexadecimal digits"),
        ("my transaction", "holds no transaction hash"),
    ],
)
def test_text_that_is_no_hash_is_named_with_its_line_and_the_reason(text: str, why: str) -> None:
    paste = read_paste(f"{ONE}\n{text}")

    (wrong,) = paste.wrong
    assert (wrong.line, wrong.text, wrong.why) == (2, text, why)


def test_malformed_hash_beside_a_good_one_is_named() -> None:
    paste = read_paste(f"{ONE}, {TWO[:-4]}")

    assert [wrong.text for wrong in paste.wrong] == [TWO[:-4]]


@pytest.mark.parametrize("separator", ["\n", " "])
def test_paste_of_ten_thousand_links_is_taken_whole(separator: str) -> None:
    links = [f"https://explorer.example/tx/0x{number:064x}" for number in range(10_000)]

    paste = read_lookup(separator.join(links))

    assert len(paste.hashes) == len(links)
    assert (paste.repeated, paste.wrong) == (0, ())


def test_paste_of_more_than_one_lookup_takes_is_refused_with_its_size() -> None:
    hashes = "\n".join(f"{number:064x}" for number in range(10_001))

    with pytest.raises(InputError, match="holds 10,001 transaction hashes: give at most 10,000"):
        read_lookup(hashes)
    with pytest.raises(InputError, match="has 4,000,001 characters: give at most 4,000,000"):
        read_lookup("x" * 4_000_001)


@pytest.mark.parametrize("text", ["", "\n \n", " , ;\n"])
def test_paste_without_content_is_neither_hash_nor_mistake(text: str) -> None:
    paste = read_paste(text)

    assert (paste.hashes, paste.wrong) == ((), ())


@given(st.text())
def test_any_text_at_all_is_read_without_failing(text: str) -> None:
    paste = read_paste(text)

    assert len(set(paste.hashes)) == len(paste.hashes)


@pytest.mark.parametrize("piece", ["a\n", "0x1 ", "0x" + "12" * 32 + "\n"])
def test_paste_of_too_many_pieces_is_refused_before_it_takes_memory(piece: str) -> None:
    with pytest.raises(InputError, match="more than 100,000 hashes and other pieces"):
        read_paste(piece * 100_001)
