"""Random bytes from a seed: the same seed always simulates the same chain."""

from __future__ import annotations

import hashlib
from typing import Final

_KEY_BYTES: Final = 32


class SeededRandom:
    """An endless supply of numbered draws; the same seed always gives the same bytes."""

    def __init__(self, seed: int) -> None:
        """Take any whole number as `seed`."""
        self._key = hashlib.blake2b(str(seed).encode(), digest_size=_KEY_BYTES).digest()

    def draw(self, purpose: str, number: int, size: int = 32) -> bytes:
        """Return the bytes of `purpose` (at most 16 letters) and `number`, at most 64."""
        text = str(number).encode()
        return hashlib.blake2b(
            text, digest_size=size, key=self._key, person=purpose.encode()
        ).digest()

    def stream(self, purpose: str, number: int, size: int) -> bytes:
        """Return any number of bytes at once; cheaper by far than as many draws."""
        return hashlib.shake_128(self._key + f"{purpose}:{number}".encode()).digest(size)


def between(low: int, high: int, octets: bytes) -> int:
    """Return a number from `low` to `high`, both possible, by the given bytes."""
    return low + int.from_bytes(octets, "big") % (high - low + 1)
