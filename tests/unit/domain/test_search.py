"""Searches: words of a page, hashes that begin alike, and filters of rejections."""

from __future__ import annotations

from collections.abc import Container

import pytest

from dashboard.domain.quantity import Address, TxHash
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.node_rule_messages import NodeRule, beginnings_of, words_of
from dashboard.domain.rejections.reasons import KIND_NAMES, ReasonKind, parse_reason
from dashboard.domain.rejections.search import (
    HashRange,
    RejectionFilter,
    Search,
    bare_beginning,
    forms_shown_with,
    label_in,
    parse_search,
    words_of_search,
)
from dashboard.domain.tracking.remarks import Remarks, tags_in, tidy_tags, typed_tags
from dashboard.errors import InputError
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    a_rejection,
    an_address,
    seconds,
)

DIGITS = "348e063007d4a029b4c3845c4e78a3f3fd82284b692556d5dfc5209fb0d4a388"
SENDER = "0x79900286d34f6453c226c8894b1aaf6b74fb2d63"
WHOLE = Search(HashRange.of(TxHash.parse(DIGITS)))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("label:Payouts", "Payouts"),
        (" label: Case 1742 ", "Case 1742"),
        ("label:a label:b", "a label:b"),
        ("label:", ""),
        ("a label:b", ""),
        ("Payouts", ""),
    ],
)
def test_label_is_asked_for_by_its_name(text: str, label: str) -> None:
    assert label_in(text) == label


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
    ("text", "begins"),
    [
        ("348e0630", HashRange.parse("0x348e0630")),
        ("348E…d4a388", HashRange.parse("0x348e…d4a388")),
        *((text, None) for text in ("", "348", "case", "0x348e", DIGITS + "0")),
    ],
)
def test_digits_may_be_how_a_hash_begins(text: str, begins: HashRange | None) -> None:
    assert bare_beginning(text) == begins


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Needs 2,710,676 lines", ("needs", "2710676", "lines")),
        ("(1.29 times the limit).", ("times", "the", "limit")),
        ("1.7× limit", ("limit",)),
        ("2.97×", ("times", "limit")),
        ("HUB hub …", ("hub",)),
        (" . ", ()),
    ],
)
def test_search_is_for_words_as_they_are_stored(text: str, words: tuple[str, ...]) -> None:
    assert words_of_search(text) == words


def test_search_takes_so_many_words_and_no_more() -> None:
    assert len(words_of_search(" ".join(f"word{number}" for number in range(100)))) == 40


@pytest.mark.parametrize(
    ("kind", "word", "has_module"),
    [
        *((kind, name, False) for kind, name in KIND_NAMES.items()),
        (ReasonKind.MODULE_UNDEFINED, "missing from the limits file", True),
        (ReasonKind.UNPARSED, "no reason given", False),
        (ReasonKind.OVER_LIMIT, "cannot prove", True),
    ],
)
def test_kind_is_found_by_the_words_of_its_page(
    kind: ReasonKind, word: str, *, has_module: bool
) -> None:
    assert (kind, has_module) in {(form.kind, form.has_module) for form in forms_shown_with(word)}


@pytest.mark.parametrize("rule", NodeRule)
def test_rule_is_found_by_what_it_means(rule: NodeRule) -> None:
    [form] = (
        each
        for each in forms_shown_with(words_of(rule).means.split(",")[0].lower())
        if each.beginnings == beginnings_of(rule)
    )

    assert form.kind is ReasonKind.OTHER_RULE


def test_operation_that_cannot_be_proven_is_told_by_its_limit_of_none() -> None:
    def counted(words: str) -> list[bool]:
        return [form.is_barred for form in forms_shown_with(words) if form.ending]

    assert counted("cannot prove") == [False]
    assert counted("times the limit") == [True]


def test_word_of_no_page_stands_for_nothing() -> None:
    assert forms_shown_with("zebra") == ()


WHOLE_HASH = "0x" + "ab" * 32


@pytest.mark.parametrize("text", ["0xAB12", "0Xab12", "0xab12…", "0xab12..."])
def test_beginning_is_read_as_it_is_written(text: str) -> None:
    found = HashRange.parse(text)

    assert str(found.lowest) == "0xab12" + "0" * 60
    assert str(found.highest) == "0xab12" + "f" * 60


def test_whole_hash_is_a_range_of_one() -> None:
    assert HashRange.parse(WHOLE_HASH) == HashRange.of(TxHash.parse(WHOLE_HASH))
    assert HashRange.parse(WHOLE_HASH).only == TxHash.parse(WHOLE_HASH)


def test_beginning_with_an_end_stands_for_the_hashes_that_have_both() -> None:
    found = HashRange.parse(f"{WHOLE_HASH[:10]}…{WHOLE_HASH[-6:]}")

    assert found.only is None
    assert TxHash.parse(WHOLE_HASH) in found
    assert TxHash.parse(WHOLE_HASH[:-2] + "ff") not in found


@pytest.mark.parametrize("text", ["", "0x", "0xabc", "ab12", "0xab1g", WHOLE_HASH + "0", "0x²²²²"])
def test_what_is_no_beginning_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="give 0x and at least four"):
        HashRange.parse(text)


def test_what_is_no_hash_is_in_no_range() -> None:
    found: Container[object] = HashRange.parse(WHOLE_HASH)

    assert WHOLE_HASH not in found


MESSAGE = "Transaction line count for module ADD=600000 is above the limit 524288"
KIND = parse_reason(MESSAGE).kind
OTHER_KIND = next(kind for kind in ReasonKind if kind is not KIND)
SEEN = A_MOMENT + seconds(60)
REJECTION = a_rejection(
    record=a_record(reason_message=MESSAGE, timestamp=A_MOMENT), first_seen_at=SEEN
)
AFTER, BEFORE = seconds(1), -seconds(1)


@pytest.mark.parametrize(
    "wanted",
    [
        RejectionFilter(),
        RejectionFilter(A_NETWORK, RejectionStage.RPC, "ADD", KIND, an_address(), a_hash()),
        RejectionFilter(since=SEEN, until=SEEN, claimed_since=A_MOMENT, claimed_until=A_MOMENT),
        RejectionFilter(text="MODULE add=6"),
        RejectionFilter(network_ids=frozenset({A_NETWORK, ANOTHER_NETWORK})),
        RejectionFilter(tx_hashes=HashRange.parse(str(a_hash())[:10])),
        RejectionFilter(label="only the store knows labels"),
    ],
)
def test_rejection_that_agrees_in_all_that_is_asked_fits(wanted: RejectionFilter) -> None:
    assert wanted.fits(REJECTION)


@pytest.mark.parametrize(
    "wanted",
    [
        RejectionFilter(ANOTHER_NETWORK),
        RejectionFilter(tx_rejection_stage=RejectionStage.P2P),
        RejectionFilter(module="MUL"),
        RejectionFilter(module=""),
        RejectionFilter(reason_kind=OTHER_KIND),
        RejectionFilter(sender=an_address(9)),
        RejectionFilter(tx_hash=a_hash(9)),
        RejectionFilter(since=SEEN + AFTER),
        RejectionFilter(until=SEEN + BEFORE),
        RejectionFilter(claimed_since=A_MOMENT + AFTER),
        RejectionFilter(claimed_until=A_MOMENT + BEFORE),
        RejectionFilter(text="module mul"),
        RejectionFilter(network_ids=frozenset({ANOTHER_NETWORK})),
        RejectionFilter(tx_hashes=HashRange(a_hash(7), a_hash(9))),
    ],
)
def test_one_thing_that_differs_is_enough_not_to_fit(wanted: RejectionFilter) -> None:
    assert not wanted.fits(REJECTION)


def test_claimed_time_that_is_unknown_is_in_no_period() -> None:
    undated = a_rejection(record=a_record(timestamp=None))

    assert RejectionFilter().fits(undated)
    assert not RejectionFilter(claimed_since=A_MOMENT).fits(undated)
    assert not RejectionFilter(claimed_until=A_MOMENT).fits(undated)


def test_letters_beyond_ascii_are_told_apart_by_their_case() -> None:
    shouting = a_rejection(record=a_record(reason_message="ÄRGER \ud800"))

    assert RejectionFilter(text="Ärger \ud800").fits(shouting)
    assert not RejectionFilter(text="ärger").fits(shouting)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("", set()),
        ("#vip", {"vip"}),
        ("a #One,#two-b #3", {"one", "two-b", "3"}),
        ("no#tag ##neither # nor", set()),
        ("#Büro", {"büro"}),
        ("#İade", {"iade"}),
    ],
)
def test_tag_is_a_word_after_a_hash_sign(text: str, tags: set[str]) -> None:
    assert tags_in(text) == tags


def test_typed_tags_need_no_sign_and_are_written_in_one_form() -> None:
    assert tidy_tags(" vip, #Payout;vip\n#a-b ") == "#a-b #payout #vip"
    assert typed_tags("") == frozenset()
    assert typed_tags("İade") == {"iade"}


def test_own_tags_are_those_of_no_text() -> None:
    assert Remarks(label="a #b", note="#D #A", tags="#a #b #c").own_tags == {"c"}


@pytest.mark.parametrize("text", ["a b!c", "<b>", "#" * 3, "x" * 41])
def test_what_is_no_tag_is_named_with_the_remedy(text: str) -> None:
    with pytest.raises(InputError, match="is not a tag: write letters, digits, - and _"):
        typed_tags(text)
