"""Hexadecimal fields of a node's answers, kept inside what the store can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from dashboard.domain.quantity import (
    LARGEST_FEE,
    Address,
    TxHash,
    Wei,
    parse_hex_bytes,
    parse_hex_quantity,
)
from dashboard.errors import InputError, WireError

Given = TypeVar("Given")
Read = TypeVar("Read")

LARGEST_NUMBER: Final = 2**63 - 1
"""Block numbers, counts and amounts of gas above it are refused: the store's integers end here."""


def named(subject: str, decode: Callable[[Given], Read], given: Given) -> Read:
    """Decode `given`, and begin the message of a WireError with `subject`."""
    try:
        return decode(given)
    except WireError as error:
        raise WireError(f"{subject}: {error}") from error


def bounded(text: str, largest: int) -> int:
    """Read a quantity of 0 to `largest`."""
    value = parse_hex_quantity(text)
    if value > largest:
        raise WireError(f"{text} is larger than 0x{largest:x}")
    return value


def number(text: str) -> int:
    """Read a block number, a count or an amount of gas."""
    return bounded(text, LARGEST_NUMBER)


def fee(text: str) -> Wei:
    """Read a fee in wei."""
    return Wei(bounded(text, LARGEST_FEE))


def hash_bytes(text: str) -> bytes:
    """Read the 32 bytes of a block's hash."""
    raw = parse_hex_bytes(text)
    if len(raw) != TxHash.LENGTH:
        raise WireError(f"a hash has {TxHash.LENGTH} bytes, not {len(raw)}")
    return raw


def tx_hash(text: str) -> TxHash:
    """Read a transaction's hash."""
    return TxHash(hash_bytes(text))


def address(text: str) -> Address:
    """Read an account's address."""
    try:
        return Address.parse(text)
    except InputError as error:
        raise WireError(str(error)) from error
