"""Hexadecimal fields of a node's answers, kept inside what the store can hold."""

from __future__ import annotations

from typing import Final

from dashboard.domain.quantity import (
    LARGEST_FEE,
    Address,
    TxHash,
    Wei,
    parse_hex_bytes,
    parse_hex_quantity,
)
from dashboard.errors import InputError, WireError

_HASH_LENGTH: Final = 32
LARGEST_NUMBER: Final = 2**63 - 1
"""Block numbers, counts and amounts of gas above it are refused: the store's integers end here."""


def parse_bounded(text: str, largest: int) -> int:
    """Read a quantity of 0 to `largest`."""
    value = parse_hex_quantity(text)
    if value > largest:
        raise WireError(f"{text} is larger than 0x{largest:x}")
    return value


def parse_number(text: str) -> int:
    """Read a block number, a count or an amount of gas."""
    return parse_bounded(text, LARGEST_NUMBER)


def parse_fee(text: str) -> Wei:
    """Read a fee in wei."""
    return Wei(parse_bounded(text, LARGEST_FEE))


def parse_block_hash(text: str) -> bytes:
    """Read the 32 bytes that name a block."""
    raw = parse_hex_bytes(text)
    if len(raw) != _HASH_LENGTH:
        raise WireError(f"a block hash has {_HASH_LENGTH} bytes, not {len(raw)}")
    return raw


def parse_tx_hash(text: str) -> TxHash:
    """Read a transaction's hash."""
    try:
        return TxHash.parse(text)
    except InputError as error:
        raise WireError(str(error)) from error


def parse_address(text: str) -> Address:
    """Read an account's address."""
    try:
        return Address.parse(text)
    except InputError as error:
        raise WireError(str(error)) from error
