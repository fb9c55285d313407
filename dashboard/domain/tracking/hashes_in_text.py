"""Transaction hashes in any text that people paste: in lists, mails and explorer links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from dashboard.domain.formatting import counted
from dashboard.domain.quantity import TxHash
from dashboard.errors import InputError

MOST_LOOKED_UP: Final = 10_000
"""The most transactions in one look-up."""

LONGEST_PASTE: Final = 4_000_000
"""Characters of one look-up: 400 for each transaction."""

MOST_PIECES: Final = 100_000
"""Hashes and other pieces of one text; a text with more is not a list of transactions."""

_FILLING: Final = " \t,;\"'"
"""Characters that a line may consist of without any content."""

_HASH: Final = re.compile(r"(?<![0-9a-zA-Z])(?:0[xX])?([0-9a-fA-F]{64})(?![0-9a-zA-Z])", re.ASCII)
_ADDRESS: Final = re.compile(r"(?:0[xX])?[0-9a-fA-F]{40}", re.ASCII)
_ATTEMPT: Final = re.compile(
    r"(?<![0-9a-zA-Z])0[xX][0-9a-zA-Z]*(?:(?:…|\.\.\.)[0-9a-fA-F]*)?", re.ASCII
)
_NO_HASH: Final = "holds no transaction hash"
_LIKE_A_HASH: Final = re.compile(r"0[xX]|[0-9a-fA-F]{6}|…|\.\.\.", re.ASCII)
_PART: Final = re.compile(r"[0-9a-fA-F]*(?:…|\.\.\.)[0-9a-fA-F]*", re.ASCII)


class WrongText(Struct, frozen=True):
    """A piece of a paste without a hash; `line` counts from 1, `text` is the piece as given."""

    line: int
    text: str
    why: str

    @property
    def is_prose(self) -> bool:
        """Whether nothing in it resembles a hash or part of one, as in a greeting."""
        return self.why == _NO_HASH and not _LIKE_A_HASH.search(self.text)


class Paste(Struct, frozen=True):
    """The content of a paste: each hash once in the order given, and what could not be used.

    `left_out` says that words refer to more transactions; empty if `hashes` are all.
    """

    hashes: tuple[TxHash, ...] = ()
    repeated: int = 0
    wrong: tuple[WrongText, ...] = ()
    left_out: str = ""


def read_lookup(text: str) -> Paste:
    """Read the hashes to look up; InputError, with the number, if there are too many at once."""
    if len(text) > LONGEST_PASTE:
        raise InputError(
            f"the text has {len(text):,} characters: give at most {LONGEST_PASTE:,} at once"
        )
    paste = read_paste(text)
    if len(paste.hashes) > MOST_LOOKED_UP:
        raise InputError(
            f"the text holds {len(paste.hashes):,} transaction hashes: "
            f"give at most {MOST_LOOKED_UP:,} at once"
        )
    return paste


def read_paste(text: str) -> Paste:
    """Find hashes between commas, blanks, quotes and inside explorer links.

    Other columns of a line with a hash (an address, an amount, a name) are ignored. Text that only
    begins like a hash is reported, and so is a line without any hash. InputError beyond
    `MOST_PIECES`, since each reported piece takes memory.
    """
    found: list[TxHash] = []
    wrong: list[WrongText] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip(_FILLING):
            continue
        hashes = [TxHash(bytes.fromhex(match[1])) for match in _HASH.finditer(line)]
        found += hashes
        room = MOST_PIECES - len(found) - len(wrong)
        wrong += islice(_wrong_pieces(number, line, has_hash=bool(hashes)), max(room, 0) + 1)
        if len(found) + len(wrong) > MOST_PIECES:
            raise InputError(too_many_pieces())
    hashes_once = tuple(dict.fromkeys(found))
    return Paste(hashes_once, len(found) - len(hashes_once), tuple(wrong))


def too_many_pieces() -> str:
    """Say that a text has too many pieces."""
    return (
        f"the text has more than {MOST_PIECES:,} hashes and other pieces: "
        f"give at most {MOST_LOOKED_UP:,} transactions at once"
    )


def _wrong_pieces(number: int, line: str, *, has_hash: bool) -> Iterator[WrongText]:
    found = _ATTEMPT.finditer(_HASH.sub(" ", line))
    attempts = [match[0] for match in islice(found, MOST_PIECES + 1)]
    attempts = [text for text in attempts if not (has_hash and _ADDRESS.fullmatch(text))]
    for text in attempts:
        yield WrongText(number, text, _why_no_hash(text))
    if not has_hash and not attempts:
        yield WrongText(number, line.strip(), _NO_HASH)


def _why_no_hash(text: str) -> str:
    if _ADDRESS.fullmatch(text):
        return "is an address; give the transaction's hash, 0x and 64 hexadecimal digits"
    digits = text[2:]
    if _PART.fullmatch(digits):
        return "is part of a hash, and no known transaction has it; give all 64 digits"
    if not re.fullmatch(r"[0-9a-fA-F]*", digits, re.ASCII):
        return "holds a character that is not a hexadecimal digit (0 to 9, a to f)"
    return f"has {counted(len(digits), 'hexadecimal digit')}; a transaction hash has 64"
