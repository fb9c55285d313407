"""Which hashes have rejections, held in memory: most look-ups ask about others.

Of each hash only the first four bytes are held, 65 bytes of memory with all that a set needs.
Two hashes that begin alike, one in 4,000 questions at 1 M rejections, cost a look into the
table; so do those whose rejections were deleted. A hash that is on record is never missed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol, TypeAlias

from dashboard.store.engine.engine import Store
from dashboard.store.rejections.lookup import RejectionReader

_CATCHING_UP: Final = 2_000
"""Rejections that are added at once: a millisecond, for which all other callers wait."""


class ArrivalSource(Protocol):
    """Reads the rejections after one that is known; `RejectionReader` is the one in use."""

    def arrivals(self, after: int, limit: int) -> list[tuple[int, bytes]]:
        """Return id and hash of at most `limit` of them; raises StoreError."""


NewArrivals: TypeAlias = list[tuple[int, bytes]] | None
"""Id and hash of what arrived since the last check; None: nothing was loaded before it."""


class LoadedHeads(NamedTuple):
    """The heads of all hashes up to one rejection."""

    heads: set[int]
    newest: int


def load_heads(store: Store) -> LoadedHeads:
    """Read the whole archive: 1 M rejections take two seconds of a core."""
    reader = RejectionReader(store)
    try:
        newest = reader.newest()  # first, so that what arrives meanwhile is read twice, not never
        return LoadedHeads({head_of(each) for each in reader.hashes()}, newest)
    finally:
        reader.close()


class KnownHashes:
    """Knows nothing until `adopt`; then it is asked for by `is_current` before each use."""

    def __init__(self, arrivals: ArrivalSource, at_once: int = _CATCHING_UP) -> None:
        """Read new rejections from `arrivals`, at most so many at once."""
        self._at_once = at_once
        self._arrivals = arrivals
        self._heads: set[int] = set()
        self._newest: int | None = None

    def __len__(self) -> int:
        return len(self._heads)

    @property
    def is_loaded(self) -> bool:
        """Whether `adopt` was called."""
        return self._newest is not None

    def adopt(self, loaded: LoadedHeads) -> None:
        """Begin with what was loaded."""
        self._heads, self._newest = loaded

    def is_current(self) -> bool:
        """Add what was committed before this call; whether that was possible.

        Only then, and only for questions that had come before this call, absence here means
        absence from the store. Raises StoreError.
        """
        return self.take_in(self.look())

    def look(self) -> NewArrivals:
        """Read what arrived, in any thread; raises StoreError."""
        newest = self._newest
        return None if newest is None else self._arrivals.arrivals(newest, self._at_once)

    def take_in(self, arrived: NewArrivals) -> bool:
        """Add what `look` found, one after the other; whether that was all there is."""
        if arrived is None:
            return False
        if not arrived:
            return True
        self._heads.update(head_of(tx_hash) for _, tx_hash in arrived)
        self._newest = arrived[-1][0]
        return len(arrived) < self._at_once

    def among(self, heads: Iterable[int]) -> set[int]:
        """Return those of `heads` that a hash on record begins with."""
        return self._heads.intersection(heads)


def head_of(tx_hash: bytes) -> int:
    """Return the first four bytes as a number, least significant byte first."""
    return int.from_bytes(tx_hash[:4], "little")
