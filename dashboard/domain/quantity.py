"""Exact quantities and their texts on the wire: wei, hashes, addresses; and the type of clocks."""

from __future__ import annotations

import re
from binascii import unhexlify
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import ClassVar, NewType, Self, TypeAlias, overload

from dashboard.errors import InputError, WireError

Wei = NewType("Wei", int)
NetworkId = NewType("NetworkId", int)

WEI_PER_GWEI = 10**9
LARGEST_FEE = Wei(2**63 - 1)
"""The largest fee that the store's integers can hold, in wei (9.2 ether for one unit of gas)."""

_GWEI_TEXT = re.compile(r"(\d{1,10})(?:\.(\d{1,9}))?", re.ASCII)
_HEX_QUANTITY = re.compile(r"0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})", re.ASCII)
_HEX_BYTES = re.compile(r"(?:0[xX])?((?:[0-9a-fA-F]{2})*)", re.ASCII)
_SHOWN = 80


def shorten(text: str, limit: int = _SHOWN) -> str:
    """Quote hostile text for a message: printable ASCII only, at most `limit` characters."""
    quoted = ascii(text[: limit + 1])
    return quoted if len(text) <= limit else f"{text[:limit]!a}…"


def parse_gwei(text: str) -> Wei:
    """Parse plain decimal gwei text such as ``"11.234610275"`` as exact wei.

    Source: every fee of the gas API. Exponents, signs, blanks and more than nine decimals raise
    WireError, as does a fee above `LARGEST_FEE`.
    """
    match = _GWEI_TEXT.fullmatch(text)
    if match is None:
        msg = f"{shorten(text)} is not a plain decimal gwei amount with at most 9 decimals"
        raise WireError(msg)
    whole, decimals = match.groups(default="")
    wei = int(whole) * WEI_PER_GWEI + int(decimals.ljust(9, "0"))
    if wei > LARGEST_FEE:
        msg = f"{shorten(text)} gwei is above the largest fee that can be kept"
        raise WireError(msg)
    return Wei(wei)


def format_gwei(wei: Wei) -> str:
    """Format wei as plain decimal gwei: no exponent, no trailing zeros, at most nine decimals."""
    whole, decimals = divmod(wei, WEI_PER_GWEI)
    return f"{whole}.{decimals:09d}".rstrip("0").rstrip(".")


def parse_hex_quantity(text: str) -> int:
    """Parse a JSON-RPC quantity (``0x`` and minimal hex digits, at most 256 bits)."""
    match = _HEX_QUANTITY.fullmatch(text)
    if match is None:
        msg = f"{shorten(text)} is not a hex quantity such as 0x1a"
        raise WireError(msg)
    return int(match[1], 16)


def parse_hex_bytes(text: str) -> bytes:
    """Parse pairs of hex digits, with or without ``0x``, of any length."""
    match = _HEX_BYTES.fullmatch(text)
    if match is None:
        msg = f"{shorten(text)} is not hexadecimal with an even number of digits"
        raise WireError(msg)
    return bytes.fromhex(match[1])


class _FixedBytes(bytes):
    """Bytes of one fixed length that print as lower-case 0x hex."""

    __slots__ = ()
    LENGTH: ClassVar[int]
    NAME: ClassVar[str]

    def __new__(cls, raw: bytes) -> Self:
        """Raise InputError for any other length."""
        if len(raw) != cls.LENGTH:
            msg = f"{len(raw)} bytes are not a valid {cls.NAME}, which has {cls.LENGTH}"
            raise InputError(msg)
        return super().__new__(cls, raw)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse hex text in either case, ``0x`` optional; InputError gives text and remedy."""
        digits = text[2:] if text[:2] in {"0x", "0X"} else text
        if len(digits) == cls.LENGTH * 2:
            try:
                return cls(unhexlify(digits))
            except ValueError:
                pass  # as where there are more or fewer digits
        raise InputError(
            f"{shorten(text)} is not a valid {cls.NAME}: "
            f"give 0x and {cls.LENGTH * 2} hexadecimal digits"
        )

    def __str__(self) -> str:
        return f"0x{self.hex()}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


class TxHash(_FixedBytes):
    """The 32-byte hash that identifies a signed transaction."""

    __slots__ = ()
    LENGTH = 32
    NAME = "transaction hash"


class TxHashes(Sequence[TxHash]):
    """Hashes in one byte string, so that thousands can be read, stored and asked about cheaply."""

    __slots__ = ("packed",)

    def __init__(self, packed: bytes) -> None:
        self.packed = packed

    @classmethod
    def of(cls, parts: Iterable[Sequence[TxHash]]) -> Self:
        """Concatenate several sequences."""
        return cls(b"".join(map(pack, parts)))

    def __len__(self) -> int:
        return len(self.packed) // TxHash.LENGTH

    def __iter__(self) -> Iterator[TxHash]:
        ends = range(TxHash.LENGTH, len(self.packed) + 1, TxHash.LENGTH)
        return (TxHash(self.packed[end - TxHash.LENGTH : end]) for end in ends)

    @overload
    def __getitem__(self, place: int) -> TxHash: ...
    @overload
    def __getitem__(self, place: slice) -> TxHashes: ...
    def __getitem__(self, place: int | slice) -> TxHash | TxHashes:
        if isinstance(place, int):
            start = range(len(self))[place] * TxHash.LENGTH
            return TxHash(self.packed[start : start + TxHash.LENGTH])
        some = range(len(self))[place]
        if some.step == 1:
            return TxHashes(self.packed[some.start * TxHash.LENGTH : some.stop * TxHash.LENGTH])
        return TxHashes(pack([self[each] for each in some]))


def pack(hashes: Sequence[TxHash]) -> bytes:
    """Return the bytes of all hashes, concatenated."""
    return hashes.packed if isinstance(hashes, TxHashes) else b"".join(hashes)


class Address(_FixedBytes):
    """The 20-byte address of an account."""

    __slots__ = ()
    LENGTH = 20
    NAME = "address"


Clock: TypeAlias = Callable[[], datetime]
"""Returns the current time, aware, in UTC and in whole milliseconds, as the store keeps it. Code
that needs the time of day gets a clock as an argument."""
