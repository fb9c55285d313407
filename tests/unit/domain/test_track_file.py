"""Files and pasted text that name transactions."""

from __future__ import annotations

from datetime import datetime, timedelta
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.hashes_in_text import MOST_PIECES, read_lookup, read_paste
from dashboard.domain.tracking.remarks import Remarks, written_tags
from dashboard.domain.tracking.track_csv import ListedTransaction
from dashboard.domain.tracking.track_file import (
    TrackRequest,
    read_track_file,
    write_track_csv,
    write_track_json,
)
from dashboard.errors import InputError
from tests.builders import A_MOMENT, A_NETWORK, a_hash

WORDS = st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=20)
TAGS = st.frozensets(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,9}", fullmatch=True), max_size=3)
FILED = st.builds(
    TrackRequest,
    tx_hash=st.integers(1, 10**9).map(a_hash),
    network_ids=st.lists(st.integers(1, 10**6).map(NetworkId), max_size=2).map(tuple),
    remarks=st.builds(
        Remarks,
        attempted_at=st.none() | st.just(A_MOMENT - timedelta(milliseconds=1234)),
        label=WORDS,
        case_id=WORDS,
        owner=WORDS,
        tags=TAGS.map(written_tags),
        note=WORDS,
    ),
)


def as_listed(line: int, filed: TrackRequest) -> ListedTransaction:
    return ListedTransaction(line, filed.tx_hash, filed.remarks, filed.network_ids)


@settings(max_examples=40)
@given(st.lists(FILED, max_size=5, unique_by=lambda each: each.tx_hash))
def test_what_is_written_is_read_again_without_loss(filed: list[TrackRequest]) -> None:
    for write in (write_track_csv, write_track_json):
        listed = read_track_file(write(filed), A_MOMENT)

        expected = tuple(as_listed(line, each) for line, each in enumerate(filed, start=2))
        assert listed.transactions == expected
        assert (listed.wrong, listed.repeated, listed.unused_columns) == ((), (), ())


def test_hostile_texts_come_back_from_json() -> None:
    hostile = "=1+1\n<script>\u202e\ud800' \\"
    filed = TrackRequest(a_hash(), (A_NETWORK,), Remarks(label=hostile, owner="'=x"))

    [found] = read_track_file(write_track_json([filed]), A_MOMENT).transactions
    assert (found.remarks.label, found.remarks.owner) == (hostile, "'=x")


def test_one_bad_object_costs_no_other_and_names_its_line() -> None:
    text = "\n".join(
        [
            f'\ufeff[{{"txHash": "{a_hash(1)}", "tags": ["vip", 7], "caseId": 17}},',
            '{"txHash": "0x12"},',
            '{"txHash": ',
            f'{{"tx_hash": "{a_hash(2)}", "owner": null, "colour": "red"}},',
            f'{{"txHash": "{a_hash(1)}"}}',
            "{",
        ]
    )

    listed = read_track_file(text, A_MOMENT)

    first, second = listed.transactions
    assert (first.line, first.remarks.tags, first.remarks.case_id) == (1, "#7 #vip", "17")
    assert (second.line, second.remark) == (4, "its “colour” means nothing here")
    assert [each.line for each in listed.repeated] == [5]
    assert [each.line for each in listed.wrong] == [2, 3, 6]
    assert "write such as" in listed.wrong[0].why
    assert "is not a JSON object" in listed.wrong[1].why


@pytest.mark.parametrize("text", ["{" * 50_000, '{"a": ' + "[" * 1000, '{"a": ' + "9" * 5000 + "}"])
def test_what_nests_or_has_no_end_is_no_object(text: str) -> None:
    listed = read_track_file(text, A_MOMENT)

    assert [each.why for each in listed.wrong][:1] == [
        'is not a JSON object of texts: write such as {"txHash": "0x…", "label": "Case 17"}'
    ]


@pytest.mark.parametrize("text", [f"[{a_hash()}](https://x.example)", str(a_hash()), ""])
def test_other_text_is_read_as_a_list(text: str) -> None:
    listed = read_track_file(text, datetime(2026, 1, 1, tzinfo=A_MOMENT.tzinfo))

    assert len(listed.transactions) == bool(text)


@pytest.mark.parametrize("line", ['{\\"\n', '"{\\" "\n', '{"a": ["\n'])
def test_braces_without_end_are_not_read_again_and_again(line: str) -> None:
    began = process_time()

    listed = read_track_file("[{\n" + line * 20_000, A_MOMENT)

    assert len(listed.wrong) == 20_001
    assert process_time() - began < 5  # a second; it was minutes


@pytest.mark.parametrize("text", ["{\n", "a\n"])
def test_file_of_nothing_usable_is_refused_before_it_takes_memory(text: str) -> None:
    assert len(read_paste("a\n" * MOST_PIECES).wrong) == MOST_PIECES
    with pytest.raises(InputError, match="more than 100,000 hashes and other pieces"):
        read_track_file(text * (MOST_PIECES + 1), A_MOMENT)


def test_file_says_how_many_tags_are_too_many() -> None:
    tags = " ".join(f"t{number}" for number in range(301))

    [found] = read_track_file(
        f'[{{"txHash": "{a_hash()}", "tags": "{tags}"}}]', A_MOMENT
    ).transactions

    assert found.remarks.tags == ""
    assert found.remark == (
        "without its tags, since they are more than 300: keep those that people look for"
    )


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
        ("0x1", "has 1 hexadecimal digit; a transaction hash has 64"),
        ("0x", "has 0 hexadecimal digits; a transaction hash has 64"),
        (f"{ONE[:-1]}g", "holds a character that is not a hexadecimal digit (0 to 9, a to f)"),
        ("0x12…ab", "is part of a hash, and no known transaction has it; give all 64 digits"),
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


@pytest.mark.parametrize(
    ("line", "is_prose"),
    [
        ("Hi team,", True),
        ("Kind regards, Bob", True),
        (ONE.removeprefix("0x")[:-1], False),
        ("0x12", False),
        ("a0b1…c2d3", False),
    ],
)
def test_words_around_hashes_are_told_from_what_may_be_one(line: str, *, is_prose: bool) -> None:
    (wrong,) = read_paste(f"{ONE}\n{line}").wrong

    assert wrong.is_prose is is_prose


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
