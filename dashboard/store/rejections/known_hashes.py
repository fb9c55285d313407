"""Which hashes have rejections, held in memory, and reading the table only for those."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import (
    LARGEST_LEAD,
    QUERYABLE_WINDOW,
    RejectedTransaction,
    RejectionStage,
)
from dashboard.store.engine.driver import placeholders
from dashboard.store.engine.engine import Store
from dashboard.store.schema.columns import milliseconds_of, moment_of, unescape

_CATCHING_UP: Final = 2_000
"""How many rejections are added at once: this takes a millisecond, while other callers wait."""


class ArrivalSource(Protocol):
    """Reads the rejections after a known one; `RejectionReader` implements it."""

    def arrivals(self, after: int, limit: int) -> list[tuple[int, bytes]]:
        """Return id and hash of at most `limit` of them; raises StoreError."""


NewArrivals: TypeAlias = list[tuple[int, bytes]] | None
"""Id and hash of what arrived since the last check; None: nothing was loaded before it."""


class LoadedHeads(NamedTuple):
    """The heads of all hashes up to one rejection."""

    heads: set[int]
    newest: int


def load_heads(store: Store, at_once: int = _CATCHING_UP) -> LoadedHeads:
    """Read the whole archive, so many rejections at once: 1 M take two seconds of a core."""
    reader = RejectionReader(store)
    heads, newest = set[int](), 0
    try:
        while arrived := reader.arrivals(newest, at_once):
            heads.update(head_of(tx_hash) for _, tx_hash in arrived)
            newest = arrived[-1][0]
        return LoadedHeads(heads, newest)
    finally:
        reader.close()


class KnownHashes:
    """The heads of known hashes: empty until `adopt`; call `is_current` before each use."""

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
        self._heads, self._newest = loaded

    def is_current(self) -> bool:
        """Add what was committed before this call; return whether that was possible.

        Only if it was, and only for questions that came before this call, absence here means
        absence from the store. Raises StoreError.
        """
        return self.take_in(self.read_arrivals())

    def read_arrivals(self) -> NewArrivals:
        """Read what arrived, in any thread; raises StoreError."""
        newest = self._newest
        return None if newest is None else self._arrivals.arrivals(newest, self._at_once)

    def take_in(self, arrived: NewArrivals) -> bool:
        """Add what `read_arrivals` found, in order; return whether that was everything."""
        if arrived is None:
            return False
        if not arrived:
            return True
        self._heads.update(head_of(tx_hash) for _, tx_hash in arrived)
        self._newest = arrived[-1][0]
        return len(arrived) < self._at_once

    def among(self, heads: Iterable[int]) -> set[int]:
        """Return those of `heads` with which a known hash begins."""
        return self._heads.intersection(heads)


def head_of(tx_hash: bytes) -> int:
    """Return the first four bytes as a number, least significant byte first."""
    return int.from_bytes(tx_hash[:4], "little")


_ARRIVALS: Final = (
    "SELECT rejection_id, tx_hash FROM rejections WHERE rejection_id > ? "
    "ORDER BY rejection_id LIMIT ?"
)
_LEAD: Final = LARGEST_LEAD // timedelta(milliseconds=1)
RECORD_COLUMNS: Final = (
    *("network_id", "timestamp", "rejection_id", "tx_hash", "sender", "nonce"),
    *("tx_rejection_stage", "reason_message", "block_number"),
)
"""The columns that `record_of` reads, in their order."""

_VERSIONS: Final = (
    f"SELECT {', '.join(RECORD_COLUMNS)}, first_seen_at FROM rejections "  # noqa: S608 - names of ours
    "WHERE tx_hash IN {} AND coalesce(timestamp, first_seen_at) >= ? "
    "AND (timestamp - first_seen_at <= ? OR first_seen_at >= ?) LIMIT ?"
)
_MOST_VERSIONS: Final = 100
"""Versions of one hash that are compared here: SQLite takes longer to sort a few rows."""


class TooManyVersions(Exception):
    """A hash has too many versions to compare here: ask `read.queryable_record`."""


class RejectionReader:
    """Reads from one thread at a time, and never waits for a lock: it fails instead."""

    def __init__(self, store: Store) -> None:
        """Open a connection of its own at the first question."""
        self._reader = store.driver_reader()
        self._arrivals = _ARRIVALS.replace("?", self._reader.parameter)
        self.is_near = self._reader.is_near

    def arrivals(self, after: int, limit: int) -> list[tuple[int, bytes]]:
        """Return id and hash of at most `limit` rejections after the id `after`.

        It never skips a rejection that was committed before this call.
        """
        return self._reader.rows(self._arrivals, (after, limit))

    def queryable_record(
        self, networks: Collection[NetworkId], tx_hash: TxHash, now: datetime
    ) -> RejectedTransaction | None:
        """Answer as `read.queryable_record` does, or raise TooManyVersions."""
        return self.queryable_records(networks, [tx_hash], now).get(tx_hash)

    def queryable_records(
        self, networks: Collection[NetworkId], hashes: Collection[TxHash], now: datetime
    ) -> dict[TxHash, RejectedTransaction]:
        """Return the same of several, by one query; a hash without a record is left out."""
        since, wanted = milliseconds_of(now - QUERYABLE_WINDOW), set(map(bytes, hashes))
        limit = _MOST_VERSIONS * len(wanted)
        query = _VERSIONS.format(placeholders(wanted)).replace("?", self._reader.parameter)
        rows = self._reader.rows(query, (*wanted, since, _LEAD, since, limit))
        if len(rows) == limit:
            raise TooManyVersions
        last: dict[TxHash, tuple[Any, ...]] = {}
        for row in sorted(rows, key=_rank):
            if row[0] in networks:
                last[TxHash(row[3])] = row
        return {tx_hash: record_of(row) for tx_hash, row in last.items()}

    def close(self) -> None:
        """Close the connection; the next question opens another."""
        self._reader.close()


def _rank(row: tuple[Any, ...]) -> tuple[bool, int, int]:
    """Rank as `NEWEST_CLAIM_FIRST` does; the greatest is shown."""
    claimed, arrived, rejection_id = row[1], row[-1], row[2]
    is_believed = claimed is not None and claimed - arrived <= _LEAD
    return is_believed, claimed if is_believed else arrived, rejection_id


def record_of(row: tuple[Any, ...]) -> RejectedTransaction:
    """Read a row that begins with `RECORD_COLUMNS`."""
    _, timestamp, _, tx_hash, sender, nonce, stage, reason, block, *_ = row
    return RejectedTransaction(
        TxHash(tx_hash),
        None if sender is None else Address(sender),
        None if nonce is None else int.from_bytes(nonce, "big"),
        RejectionStage(stage),
        unescape(reason),
        None if timestamp is None else moment_of(timestamp),
        block,
    )
