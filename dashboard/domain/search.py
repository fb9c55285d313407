"""What people type into a search box: a hash or how it begins, a link, an address, or words."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from dashboard.domain.paste import read_paste
from dashboard.domain.quantity import Address
from dashboard.domain.rejection_filter import HashRange
from dashboard.errors import InputError

LONGEST_SEARCH: Final = 200
"""Characters."""

_IN_LINK: Final = re.compile(
    r"\S+/(?:address|account)s?/(0x[0-9a-fA-F]{40})(?:[/?#]\S*)?", re.ASCII
)
_DIGITS: Final = re.compile(r"([0-9a-fA-F]{4,64})(?:(?:…|\.\.\.)((?:[0-9a-fA-F]{2}){0,30}))?")


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for: a hash, a sender, how either begins, or else `words`."""

    tx_hashes: HashRange | None = None
    sender: Address | None = None
    beginning: HashRange | None = None
    words: str = ""

    @property
    def named(self) -> HashRange | None:
        """How the hash or the sender begins, whole ones included; None for words."""
        whole = None if self.sender is None else HashRange.beginning_with(self.sender.hex())
        return self.tx_hashes or self.beginning or whole


def parse_search(text: str) -> Search:
    """Tell hashes and addresses, in links too, from words."""
    text = text.strip()
    hashes = read_paste(text).hashes
    if len(hashes) == 1 and " " not in text:
        return Search(HashRange.of(hashes[0]))
    with suppress(InputError):
        return Search(sender=Address.parse(text))
    with suppress(InputError):
        return Search(beginning=HashRange.parse(text))
    in_link = _IN_LINK.fullmatch(text)
    if in_link is not None:
        return Search(sender=Address.parse(in_link[1]))
    return Search(words=text)


def bare_beginning(text: str) -> HashRange | None:
    """Return the hashes that begin with these digits; they may as well be a number or a word."""
    match = _DIGITS.fullmatch(text.strip())
    return None if match is None else HashRange.parse(f"0x{match[0]}")
