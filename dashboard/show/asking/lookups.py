"""What the page Lookup asks beside what is known of each hash: look-ups that a link names."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.domain.quantity import TxHash
from dashboard.show.asking.source import Source
from dashboard.store.saved_lookups import save_lookup, saved_lookup


class LookupQuestions:
    """Every answer may raise StoreError."""

    def __init__(self, source: Source) -> None:
        """Ask nothing yet."""
        self._source = source

    def save(self, hashes: Sequence[TxHash]) -> str:
        """Keep the hashes for a link to pass on; return the id that it names."""
        with self._source.store.write() as connection:
            return save_lookup(connection, hashes, self._source.now())

    def saved(self, lookup_id: str) -> tuple[TxHash, ...] | None:
        """Return the hashes of a look-up; None where it is not kept, or not any more."""
        with self._source.store.read() as connection:
            return saved_lookup(connection, lookup_id)
