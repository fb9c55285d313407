"""What the page Tracked asks, and what it changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashboard.domain.audit import Action
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.search import parse_search
from dashboard.domain.track_list import ListedTransaction
from dashboard.show.queries.cache import TtlCache
from dashboard.show.queries.context import QueryContext
from dashboard.show.queries.transaction_summary import (
    TransactionSummary,
    read_transaction_summaries,
)
from dashboard.store.engine.connection import Connection
from dashboard.store.tracking.search import (
    RecordStatus,
    TrackedFilter,
    count_tracked,
    search_tracked,
)
from dashboard.store.tracking.transactions import (
    Remarks,
    TrackedTransaction,
    TrackRequest,
    TrackResult,
    edit_tracked,
    track_all,
    untrack,
)

_SHARED_FOR: Final = timedelta(seconds=2)
_AT_ONCE: Final = 5000
"""Tracked in one transaction of a fifth of a second, so that pollers need not wait longer."""


@dataclass(frozen=True, slots=True)
class TrackedCounts:
    """How many are tracked, how many of them were rejected, and how many have no answer yet."""

    total: int
    rejected: int
    unanswered: int


@dataclass(frozen=True, slots=True)
class TrackedEntry:
    """A tracked transaction with all that is known of it."""

    transaction: TrackedTransaction
    summary: TransactionSummary


def tracked_filter(context: QueryContext, network_id: NetworkId | None, text: str) -> TrackedFilter:
    """Read what a person types to find tracked transactions, of one network or all."""
    found = parse_search(text)
    network_id, words = context.search_scope(network_id, "" if found.named else text)
    return TrackedFilter(network_id, tx_hashes=found.named, search=words)


class TrackedQueries:
    """Every answer may raise StoreError."""

    def __init__(self, context: QueryContext) -> None:
        """Ask nothing yet."""
        self._context = context
        self._counts: TtlCache[TrackedCounts] = TtlCache(_SHARED_FOR, context.now)

    def counts(self, network_id: NetworkId | None) -> TrackedCounts:
        """Count what is tracked on a network, or on any."""
        return self._counts.get(network_id, lambda: self._count(network_id))

    def count(self, wanted: TrackedFilter) -> int:
        """Count what fits."""
        with self._context.store.read() as connection:
            return count_tracked(connection, wanted)

    def page(self, wanted: TrackedFilter, number: int, rows: int) -> tuple[TrackedEntry, ...]:
        """Return one page of what fits, counted from 1, the latest first."""
        with self._context.store.read() as connection:
            found = search_tracked(connection, wanted, rows, (number - 1) * rows)
            hashes = [each.tx_hash for each in found]
            known = read_transaction_summaries(connection, self._context.networks, hashes)
            return tuple(map(TrackedEntry, found, known))

    def track(
        self, listed: Sequence[ListedTransaction], network_ids: Sequence[NetworkId]
    ) -> tuple[TrackResult, ...]:
        """Track on these networks; return the result of each.

        Of one that is tracked already, only what was unknown is filled in. StoreError: a part
        of a long list may be tracked; the same list again tracks the rest.
        """
        self._counts.clear()
        return tuple(self._track(listed, tuple(network_ids)))

    def amend(self, tx_hash: TxHash, remarks: Remarks) -> bool:
        """Change label, note and time; False where the hash is not tracked any more."""
        with self._context.store.write() as connection:
            is_amended = edit_tracked(connection, tx_hash, remarks)
            if is_amended:
                texts = ("label", "note", "case_id", "owner", "tags")
                details = {name: str(getattr(remarks, name)) for name in texts}
                self._context.audit(connection, Action.AMEND, str(tx_hash), details)
        return is_amended

    def remove(self, tx_hash: TxHash) -> bool:
        """Stop tracking a hash; False where it was not tracked."""
        self._counts.clear()
        with self._context.store.write() as connection:
            was_tracked = untrack(connection, tx_hash)
            if was_tracked:
                self._context.audit(connection, Action.UNTRACK, str(tx_hash))
        return was_tracked

    def _track(
        self, listed: Sequence[ListedTransaction], network_ids: tuple[NetworkId, ...]
    ) -> Iterator[TrackResult]:
        now = self._context.now()
        for start in range(0, len(listed), _AT_ONCE):
            some = listed[start : start + _AT_ONCE]
            requests = [
                TrackRequest(
                    each.tx_hash,
                    each.network_ids or network_ids,
                    each.attempted_at,
                    each.label,
                    each.note,
                    each.case_id,
                    each.owner,
                    each.tags,
                )
                for each in some
            ]
            with self._context.store.write() as connection:
                results = track_all(connection, requests, now)
                audit_tracking(connection, self._context, [each.tx_hash for each in some], results)
            yield from results

    def _count(self, network_id: NetworkId | None) -> TrackedCounts:
        with self._context.store.read() as connection:
            return TrackedCounts(
                count_tracked(connection, TrackedFilter(network_id)),
                count_tracked(connection, TrackedFilter(network_id, RecordStatus.REJECTED)),
                count_tracked(connection, TrackedFilter(network_id, RecordStatus.UNANSWERED)),
            )


def audit_tracking(
    connection: Connection,
    context: QueryContext,
    hashes: Sequence[TxHash],
    results: Sequence[TrackResult],
) -> None:
    """Write one line into the audit log for all hashes of one database transaction."""
    if hashes:
        subject = str(hashes[0]) if len(hashes) == 1 else f"{len(hashes)} transactions"
        ends = {"first": str(hashes[0]), "last": str(hashes[-1])}
        context.audit(
            connection, Action.TRACK, subject, {"new": results.count(TrackResult.NEW), **ends}
        )
