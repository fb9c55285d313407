"""The parameters of a node's methods, read strictly; what is wrong with them is a WireError."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Final

from dashboard.domain.quantity import (
    Address,
    TxHash,
    parse_hex_bytes,
    parse_hex_quantity,
    shorten,
)
from dashboard.errors import InputError, WireError

LARGEST_FEE_HISTORY: Final = 1024
LARGEST_PERCENTILES: Final = 100

_HEAD_TAGS: Final = frozenset({"latest", "safe", "finalized"})

Params = list[object]


def check_count(params: Params, least: int, most: int) -> None:
    """Refuse fewer or more than a method takes; absent optional ones may also be null."""
    if len(params) < least:
        raise WireError(f"missing value for required argument {len(params)}")
    if len(params) > most:
        raise WireError(f"too many arguments, want at most {most}")


def text(params: Params, place: int) -> str:
    """Return a text."""
    value = params[place]
    if not isinstance(value, str):
        raise WireError(f"invalid argument {place}: a text belongs there")
    return value


def tx_hash(params: Params, place: int) -> TxHash:
    """Return a transaction hash."""
    try:
        return TxHash.parse(text(params, place))
    except InputError as error:
        raise WireError(f"invalid argument {place}: {error}") from error


def address(params: Params, place: int) -> Address:
    """Return an address."""
    try:
        return Address.parse(text(params, place))
    except InputError as error:
        raise WireError(f"invalid argument {place}: {error}") from error


def raw_bytes(params: Params, place: int) -> bytes:
    """Return bytes from hexadecimal text."""
    try:
        return parse_hex_bytes(text(params, place))
    except WireError as error:
        raise WireError(f"invalid argument {place}: {error}") from error


def flag(params: Params, place: int) -> bool:
    """Return a truth value; absent or null is false."""
    value = params[place] if place < len(params) else None
    if value is not None and not isinstance(value, bool):
        raise WireError(f"invalid argument {place}: true or false belongs there")
    return bool(value)


def block_number(params: Params, place: int, head: int) -> int:
    """Return a block number; ``pending`` is the one after `head`, absent or null the head."""
    value = params[place] if place < len(params) else None
    if value is None or (isinstance(value, str) and value in _HEAD_TAGS):
        return head
    if value == "earliest":
        return 0
    if value == "pending":
        return head + 1
    return quantity([value], 0, f"invalid argument {place}")


def quantity(params: Params, place: int, subject: str = "") -> int:
    """Return a hex quantity or a plain number."""
    value = params[place]
    named = subject or f"invalid argument {place}"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if not isinstance(value, str):
        raise WireError(f"{named}: a hex quantity such as 0x1a belongs there")
    try:
        return parse_hex_quantity(value)
    except WireError as error:
        raise WireError(f"{named}: {error}") from error


def percentiles(params: Params, place: int) -> tuple[Fraction, ...] | None:
    """Return ascending percentiles of 0 to 100; None where none were asked."""
    value = params[place] if place < len(params) else None
    if not value:
        if value is not None and value != []:
            raise WireError(f"invalid argument {place}: a list of percentiles belongs there")
        return None
    if not isinstance(value, list) or len(value) > LARGEST_PERCENTILES:
        raise WireError(
            f"invalid argument {place}: a list of at most {LARGEST_PERCENTILES} percentiles "
            "belongs there"
        )
    shares = tuple(_percentile(each) for each in value)
    for before, after in pairwise(shares):
        if after < before:
            raise WireError(
                f"invalid reward percentile: {float(after):g} follows {float(before):g}; "
                "percentiles ascend"
            )
    return shares


def _percentile(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:  # noqa: PLR2004 - a percentile
        raise WireError(f"invalid reward percentile: {shorten(repr(value))} is not from 0 to 100")
    return Fraction(value)
