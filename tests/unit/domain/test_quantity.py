"""Exact quantities: wei, hashes and addresses, and the texts that stand for them."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.quantity import (
    LARGEST_FEE,
    Address,
    TxHash,
    TxHashes,
    Wei,
    format_gwei,
    pack,
    parse_gwei,
    parse_hex_bytes,
    parse_hex_quantity,
    shorten,
)
from dashboard.errors import InputError, WireError

HASH: Final = TxHash(bytes(range(32)))


@pytest.mark.parametrize(
    ("text", "wei"),
    [
        ("0", 0),
        ("0.000000007", 7),
        ("0.1", 100_000_000),
        ("20", 20_000_000_000),
        ("11.234610275", 11_234_610_275),
        ("007.50", 7_500_000_000),
        ("9223372036.854775807", LARGEST_FEE),
    ],
)
def test_gwei_text_is_read_as_exact_wei(text: str, wei: int) -> None:
    assert parse_gwei(text) == wei


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".5",
        "5.",
        "-1",
        "+1",
        " 1",
        "1\n",
        "1e9",
        "7E-9",
        "1e400000",
        "NaN",
        "inf",
        "0x1",
        "1_000",
        "1,5",
        "0.0000000001",
        "12345678901",
        "\u0661",
        "9" * 1_000_000,
    ],
    ids=ascii,
)
def test_gwei_text_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(WireError, match="is not a plain decimal gwei amount"):
        parse_gwei(text)


def test_gwei_above_the_largest_fee_is_refused() -> None:
    with pytest.raises(WireError, match="above the largest fee"):
        parse_gwei("9223372036.854775808")


@pytest.mark.parametrize(
    ("wei", "text"),
    [(0, "0"), (7, "0.000000007"), (10**8, "0.1"), (10**10, "10"), (10**9 + 10, "1.00000001")],
)
def test_gwei_is_printed_without_exponent_and_trailing_zeros(wei: int, text: str) -> None:
    assert format_gwei(Wei(wei)) == text


@given(st.integers(0, LARGEST_FEE).map(Wei))
def test_gwei_round_trip_keeps_every_wei(wei: Wei) -> None:
    assert parse_gwei(format_gwei(wei)) == wei


@given(st.text() | st.decimals().map(str))
def test_any_text_is_gwei_or_a_wire_error(text: str) -> None:
    try:
        wei = parse_gwei(text)
    except WireError:
        return
    assert 0 <= wei <= LARGEST_FEE


@given(st.integers(0, 2**256 - 1))
def test_hex_quantity_is_read_as_it_is_printed(value: int) -> None:
    assert parse_hex_quantity(hex(value)) == value


@pytest.mark.parametrize(
    "text", ["", "0x", "0x00", "0x01", "1a", "0X1", "0x1g", "-0x1", "0x1 ", f"0x1{'0' * 64}"]
)
def test_hex_quantity_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(WireError, match="is not a hex quantity"):
        parse_hex_quantity(text)


@pytest.mark.parametrize(
    ("text", "raw"), [("", b""), ("0x", b""), ("0xAb", b"\xab"), ("0Xab", b"\xab"), ("00", b"\0")]
)
def test_hex_bytes_are_read_in_either_case(text: str, raw: bytes) -> None:
    assert parse_hex_bytes(text) == raw


@pytest.mark.parametrize("text", ["0", "0x0", "0xag", "0x0x00", "a b", "\uff10\uff10"], ids=ascii)
def test_hex_bytes_in_another_form_are_refused(text: str) -> None:
    with pytest.raises(WireError, match="is not hexadecimal"):
        parse_hex_bytes(text)


@pytest.mark.parametrize(
    "text", [str(HASH), HASH.hex(), HASH.hex().upper(), f"0X{HASH.hex().upper()}"]
)
def test_hash_is_read_in_either_case_with_or_without_prefix(text: str) -> None:
    assert TxHash.parse(text) == HASH


@pytest.mark.parametrize(
    "text", ["", "0x", str(HASH)[:-1], f"{HASH}0", str(HASH)[:-1] + "g", f" {HASH}", f"{HASH}\n"]
)
def test_hash_in_another_form_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(InputError, match="give 0x and 64 hexadecimal digits"):
        TxHash.parse(text)


def test_address_in_another_form_is_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match="is not a valid address: give 0x and 40 hex"):
        Address.parse(str(HASH))


@pytest.mark.parametrize("length", [0, 31, 33])
def test_hash_of_another_length_cannot_be_made(length: int) -> None:
    with pytest.raises(InputError, match=f"{length} bytes are not a valid transaction hash"):
        TxHash(bytes(length))


def test_hash_prints_in_lower_case_and_names_its_type() -> None:
    address = Address(b"\xab" * 20)

    assert str(address) == f"0x{'ab' * 20}"
    assert repr(address) == f"Address(0x{'ab' * 20})"


@given(st.binary(min_size=20, max_size=20).map(Address))
def test_address_round_trip_keeps_every_byte(address: Address) -> None:
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "''"),
        ("abc", "'abc'"),
        ("abcd", "'abc'…"),
        ("é\n", r"'\xe9\n'"),
        ("\u202e", r"'\u202e'"),
    ],
)
def test_hostile_text_is_quoted_short_and_in_ascii(text: str, shown: str) -> None:
    assert shorten(text, 3) == shown


def test_packed_hashes_are_the_sequence_of_them() -> None:
    hashes = [TxHash(bytes([number]) * 32) for number in range(5)]
    packed = TxHashes.of([hashes[:2], TxHashes(pack(hashes[2:]))])

    assert list(packed) == hashes
    assert len(packed) == len(hashes)
    assert (packed[1], packed[-1]) == (hashes[1], hashes[-1])
    assert [list(packed[some]) for some in (slice(1, 3), slice(9, 20), slice(None, None, -2))] == [
        hashes[1:3],
        [],
        hashes[::-2],
    ]
    assert pack(packed) == pack(hashes)
    with pytest.raises(IndexError):
        packed[5]
