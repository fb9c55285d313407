"""Canaries: secrets that are recognised wherever they turn up, also in other forms and cut in half.

Whatever tests use as a secret begins with MARK, and so does its second half. Secrets that the
product makes are searched for by their halves.
"""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from typing import Final

MARK: Final = "c4nary"
_HALF: Final = 12
_AROUND: Final = 60


def canary(name: str) -> str:
    """Return the secret of this name: 24 letters and digits, the same in every run."""
    digest = sha256(name.encode()).hexdigest()
    return f"{MARK}{digest[:6]}{MARK}{digest[6:12]}"


def _forms(text: str) -> Iterator[bytes]:
    """Yield a text as it is, and what base64 makes of it wherever it stands in what is encoded.

    Percent-encoding leaves letters and digits as they are.
    """
    yield text.encode()
    for before in range(3):
        whole = b"-" * before + text.encode()
        inner = slice(-(-before * 8 // 6), len(whole) * 8 // 6)
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(whole)[inner]


_MARKS: Final = frozenset(_forms(MARK))


def canaries_in(content: bytes | str, made: Mapping[str, str] | None = None) -> list[str]:
    """Return what is around each canary in a content, and around each secret that was `made`."""
    found = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    leaks = [f"…{around}…" for around in _around(found, _MARKS)]
    for name, secret in (made or {}).items():
        halves = {secret[:_HALF], secret[-_HALF:]}
        needles = {form for half in halves for form in _forms(half)}
        leaks += [f"{name}: …{around}…" for around in _around(found, needles)]
    return leaks


def _around(content: bytes, needles: Collection[bytes]) -> Iterator[str]:
    for needle in needles:
        place = content.find(needle)
        if place >= 0:
            part = content[max(0, place - _AROUND) : place + _AROUND]
            yield re.sub(r"\s+", " ", part.decode("utf-8", "replace"))
