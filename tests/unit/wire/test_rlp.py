"""RLP: canonical forms are read one level at a time, all others are refused."""

from __future__ import annotations

import pytest
import rlp  # type: ignore[import-untyped] # it has no types
from hypothesis import given
from hypothesis import strategies as st

from dashboard.errors import WireError
from dashboard.wire.transaction import Item, encode_integer, encode_list, items_of, whole_item

VALUES = st.recursive(
    st.binary(max_size=70), lambda inner: st.lists(inner, max_size=6), max_leaves=20
)


def tree_of(item: Item) -> object:
    return [tree_of(member) for member in items_of(item)] if item.is_list else item.content


@given(VALUES)
def test_item_is_read_as_an_independent_reader_reads_it(value: object) -> None:
    assert tree_of(whole_item(rlp.encode(value))) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_read_as_an_independent_reader_reads_them(text: bytes) -> None:
    try:
        expected = rlp.decode(text, strict=True)
    except rlp.DecodingError:
        with pytest.raises(WireError):
            tree_of(whole_item(text))
    else:
        assert tree_of(whole_item(text)) == _lists(expected)


def _lists(value: object) -> object:
    return [_lists(member) for member in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "the RLP is empty"),
        (b"\x83do", "1 bytes are missing"),
        (b"\xb8", "shortest form"),
        (b"\x81\x05", "must stand for itself"),
        (b"\xb8\x01a", "shortest form"),
        (b"\xb9\x00\x40" + bytes(64), "shortest form"),
        (b"\xf8\x01\x05", "shortest form"),
        (b"\xbf" + b"\xff" * 8, "bytes are missing"),
        (b"\x05\x05", "1 bytes follow the end"),
    ],
)
def test_form_that_is_not_canonical_is_refused(text: bytes, complaint: str) -> None:
    with pytest.raises(WireError, match=complaint):
        whole_item(text)


def test_members_of_a_string_are_refused() -> None:
    with pytest.raises(WireError, match="a string stands where a list belongs"):
        items_of(whole_item(b"\x83dog"))


def test_members_beyond_the_most_are_not_even_read() -> None:
    endless = whole_item(encode_list(b"\x80" * 2 + b"\xbf"))

    with pytest.raises(WireError, match="more than 2 members"):
        items_of(endless, most=2)


def test_members_know_where_they_end() -> None:
    members = items_of(whole_item(b"\xc4\x82ab\x07"))

    assert [member.end for member in members] == [3, 4]


@given(st.integers(0, 2**256))
def test_integer_is_encoded_as_others_encode_it(value: int) -> None:
    assert encode_integer(value) == rlp.encode(value)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 256**300 - 1])
def test_integer_at_the_edge_of_a_form_is_encoded_as_others_encode_it(value: int) -> None:
    assert encode_integer(value) == rlp.encode(value)


@given(st.lists(st.binary(max_size=40), max_size=12))
def test_list_is_encoded_as_others_encode_it(members: list[bytes]) -> None:
    content = b"".join(rlp.encode(member) for member in members)

    assert encode_list(content) == rlp.encode(members)
