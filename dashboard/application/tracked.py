"""Questions about tracked transactions and acts on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from dashboard.application.context import ApplicationContext, ApplicationSubject, shared_for
from dashboard.application.line_limits import LineLimitEnds
from dashboard.application.listing import Json, instant
from dashboard.application.network_status import NetworkProfile
from dashboard.application.transaction_summary import (
    NetworkFinding,
    TransactionSummary,
    read_transaction_summaries,
)
from dashboard.domain.formatting import counted
from dashboard.domain.people.access import Action, Actor, Detail
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.search import HashRange, label_in, parse_search
from dashboard.domain.tracking.remarks import written_tags
from dashboard.domain.tracking.track_csv import ListedTransaction, TrackResult
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import Need
from dashboard.errors import InputError
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.batching import portions
from dashboard.store.engine.connection import Connection
from dashboard.store.tracking.groups import (
    BulkChange,
    ChangedRemarks,
    GroupedBy,
    NeedNow,
    TrackedGroup,
    change_all,
    count_needing,
    groups_of,
    ids_needing,
    take_back,
    untrack_all,
)
from dashboard.store.tracking.saved import (
    LONGEST_FILTER_NAME,
    SavedFilter,
    read_saved_filters,
    remove_filter,
    save_filter,
)
from dashboard.store.tracking.search import (
    RecordStatus,
    TrackedFilter,
    count_tracked,
    count_up_to,
    matching_hashes,
    search_tracked,
)
from dashboard.store.tracking.transactions import (
    TrackedTransaction,
    edit_tracked,
    read_tracked,
    select_tracked_among,
    track_all,
)

_SHARED_FOR: Final = timedelta(seconds=2)
_AT_ONCE: Final = 5000
"""Transactions tracked in one database transaction, which takes a fifth of a second: pollers need
not wait longer."""

MOST_AT_ONCE: Final = 1000
"""The most transactions that are changed at once."""

Chosen: TypeAlias = Sequence[TxHash] | TrackedFilter
"""The transactions that a person chose: one by one, or all that match a filter."""


class TrackedCounts(Struct, frozen=True):
    """How many are tracked, how many of these were rejected, and how many have no answer yet."""

    total: int
    rejected: int
    unanswered: int


class TrackedEntry(Struct, frozen=True):
    transaction: TrackedTransaction
    summary: TransactionSummary

    @property
    def findings(self) -> tuple[NetworkFinding, ...]:
        """The findings of networks on which it is tracked, or else of those with a record.

        The leading verdict comes first.
        """
        found = self.summary.conclusive_findings()
        watched = self.transaction.network_ids
        own = [each for each in found if each.profile.network_id in watched]
        return tuple(sorted(own or found, key=lambda each: each.verdict.kind.place))

    def since(self, finding: NetworkFinding) -> datetime:
        """Return since when a verdict holds, or else when the transaction was tracked."""
        known, end = finding.evidence, finding.evidence.follow_up
        replaced = end.replaced_since if end is not None and end.is_replaced else None
        ended = None if end is None else end.included_since or replaced
        first = min((each.first_seen_at for each in finding.versions), default=None)
        return ended or first or known.failing_since or self.transaction.tracked_at


def tracked_form(entry: TrackedEntry) -> dict[str, Json]:
    """Format a tracked transaction for programs: remarks, and the verdict on each network."""
    known, said = entry.transaction, entry.transaction.remarks
    return {
        "txHash": str(known.tx_hash),
        "networkIds": list[Json](known.network_ids),
        "trackedAt": instant(known.tracked_at),
        "attemptedAt": instant(said.attempted_at),
        "endsAt": instant(known.ends_at),
        "label": said.label,
        "note": said.note,
        "caseId": said.case_id,
        "owner": said.owner,
        "tags": said.tags,
        "verdicts": [
            {"networkId": each.profile.network_id, "verdict": str(each.verdict.kind)}
            for each in entry.findings
        ],
    }


def tracked_filter(
    context: ApplicationContext, network_id: NetworkId | None, text: str, label: str = ""
) -> TrackedFilter:
    """Parse what a person types to find tracked transactions with a label, of one network or all.

    Without a label and a network, the text may name them.
    """
    typed = label_in(text)
    if typed and label in {"", typed}:
        return TrackedFilter(network_id, label=typed)
    found = parse_search(text)
    network_id, words = context.search_scope(network_id, "" if found.named else text)
    return TrackedFilter(network_id, tx_hashes=found.named, search=words, label=label)


class TrackedTransactions(ApplicationSubject):
    @shared_for(_SHARED_FOR, until_write=True)
    def counts(self, network_id: NetworkId | None) -> TrackedCounts:
        with self._context.store.read_recent() as connection:
            return TrackedCounts(
                count_tracked(connection, TrackedFilter(network_id)),
                count_tracked(connection, TrackedFilter(network_id, RecordStatus.REJECTED)),
                count_tracked(connection, TrackedFilter(network_id, RecordStatus.UNANSWERED)),
            )

    def count(self, wanted: TrackedFilter) -> int:
        """Count the matches, up to one more than `MOST_AT_ONCE`."""
        with self._context.store.read_recent() as connection:
            return count_up_to(connection, wanted, MOST_AT_ONCE)

    def page(
        self, wanted: TrackedFilter, rows: int, before: int | None = None
    ) -> tuple[TrackedEntry, ...]:
        """Return `rows` matches, the latest first, or those tracked before the id `before`."""
        networks = LineLimitEnds(self._context).networks()
        with self._context.store.read_recent() as connection:
            found = search_tracked(connection, wanted, rows, before)
            return self._entries(connection, found, networks)

    def need_now(self, need: Need) -> NeedNow:
        """Return a need as of now; after line limits ended, new transactions need no answers."""
        ended = LineLimitEnds(self._context).ended()
        return NeedNow(need, self._context.now(), tuple(ended.items()))

    @shared_for(_SHARED_FOR, until_write=True)
    def needs(self, network_id: NetworkId | None) -> dict[Need, int]:
        """Count the transactions that need attention by need, up to `MOST_LOOKED_AT` each."""
        needs = {each: self.need_now(each) for each in Need}
        with self._context.store.read_recent() as connection:
            return {
                need: count_needing(connection, wanted, network_id)
                for need, wanted in needs.items()
            }

    def needed(
        self, network_id: NetworkId | None, limit: int
    ) -> tuple[tuple[Need, TrackedEntry], ...]:
        """Return the most urgent transactions that need attention, with the need of each."""
        networks = LineLimitEnds(self._context).networks()
        needs = {each: self.need_now(each) for each in Need}
        found: list[tuple[Need, int]] = []
        with self._context.store.read_recent() as connection:
            for need, wanted in needs.items():
                room = limit - len(found)
                ids = ids_needing(connection, wanted, network_id, limit) if room else []
                named = {each for _, each in found}
                found += [(need, each) for each in ids if each not in named][:room]
            query = select_tracked_among([tracked_id for _, tracked_id in found])
            entries = self._entries(connection, read_tracked(connection, query), networks)
            by_id = {each.transaction.tracked_id: each for each in entries}
            return tuple((need, by_id[each]) for need, each in found if each in by_id)

    def groups(self, by: GroupedBy, after: str, limit: int) -> tuple[TrackedGroup, ...]:
        """Return groups sorted by name, after the name `after`."""
        with self._context.store.read_recent() as connection:
            return tuple(groups_of(connection, by, after, limit))

    def change(self, chosen: Chosen, change: BulkChange, by: Actor) -> tuple[ChangedRemarks, ...]:
        """Change the chosen transactions in one database transaction; return those that differ.

        A filter chooses at most the latest `MOST_AT_ONCE`.
        """
        with self._context.store.write() as connection:
            hashes = self._hashes(connection, chosen)
            changed = change_all(connection, hashes, change)
            said = {name: value for name, value in asdict(change).items() if value is not None}
            self._note(connection, by, Action.EDIT_TRACKED, hashes, len(changed), _as_details(said))
        return tuple(changed)

    def take_back(self, changed: Sequence[ChangedRemarks], by: Actor) -> None:
        """Undo a change as a whole; InputError if any part of it was changed since."""
        with self._context.store.write() as connection:
            hashes = take_back(connection, changed, by.at)
            if len(hashes) < len(changed):
                left = len(changed) - len(hashes)
                were = counted(left, "transaction was", "transactions were")
                raise InputError(f"{were} changed again since, or stopped")
            self._note(connection, by, Action.EDIT_TRACKED, hashes, len(hashes), {"undone": True})

    def stop(self, chosen: Chosen, by: Actor) -> int:
        """Stop tracking the chosen transactions, as in `change`; return how many."""
        with self._context.store.write() as connection:
            hashes = self._hashes(connection, chosen)
            many = untrack_all(connection, hashes)
            self._note(connection, by, Action.UNTRACK, hashes, many, {})
        return many

    def export(self, wanted: TrackedFilter, most: int) -> tuple[TrackedTransaction, ...]:
        """Return matches for a file, the latest first, at most `most`."""
        with self._context.store.read_recent() as connection:
            found: list[TrackedTransaction] = []
            while len(found) < most:
                before = found[-1].tracked_id if found else None
                some = search_tracked(connection, wanted, min(_AT_ONCE, most - len(found)), before)
                found += some
                if len(some) < _AT_ONCE:
                    break
            return tuple(found)

    def saved_filters(self) -> tuple[SavedFilter, ...]:
        with self._context.store.read_recent() as connection:
            return tuple(read_saved_filters(connection))

    def save_filter(self, name: str, parameters: Mapping[str, str], by: Actor) -> str:
        """Save the parameters of an address under a name, for everybody; return the name.

        InputError if the name is empty or too long.
        """
        named = " ".join(name.split())
        if not 0 < len(named) <= LONGEST_FILTER_NAME:
            raise InputError(f"give the filter a name of at most {LONGEST_FILTER_NAME} characters")
        with self._context.store.write() as connection:
            save_filter(connection, named, parameters, by)
            details: dict[str, Detail] = dict(parameters)
            note_action(connection, by, Action.SAVE_FILTER, named, details)
        return named

    def remove_filter(self, name: str, by: Actor) -> bool:
        """Remove a saved filter; False if it does not exist."""
        by.require(Action.REMOVE_FILTER)
        with self._context.store.write() as connection:
            was_there = remove_filter(connection, name)
            if was_there:
                note_action(connection, by, Action.REMOVE_FILTER, name)
        return was_there

    def track(
        self,
        listed: Sequence[ListedTransaction],
        network_ids: Sequence[NetworkId],
        by: Actor,
    ) -> tuple[TrackResult, ...]:
        """Track transactions on these networks; return the result of each.

        If one is already tracked, only missing remarks are filled in. StoreError: part of a long
        list may be tracked; sending the same list again tracks the rest.
        """
        by.require(Action.TRACK)
        results: list[TrackResult] = []
        for some in portions(listed, _AT_ONCE):
            requests = [
                TrackRequest(each.tx_hash, each.network_ids or tuple(network_ids), each.remarks)
                for each in some
            ]
            with self._context.store.write() as connection:
                became = track_all(connection, requests, by.at)
                audit_tracking(connection, by, [each.tx_hash for each in some], became)
            results += became
        return tuple(results)

    def edit(self, tx_hash: TxHash, changed: Mapping[str, object], by: Actor) -> bool:
        """Change some remarks of a hash, by name; False if it is not tracked."""
        by.require(Action.EDIT_TRACKED)
        wanted = TrackedFilter(tx_hashes=HashRange.of(tx_hash))
        with self._context.store.write() as connection:
            found = search_tracked(connection, wanted, 1)
            if found:
                remarks = replace(found[0].remarks, **changed)
                edit_tracked(connection, tx_hash, remarks, by.at)
                texts = ("label", "note", "case_id", "owner", "tags")
                details = {name: str(getattr(remarks, name)) for name in texts}
                note_action(connection, by, Action.EDIT_TRACKED, str(tx_hash), details)
        return bool(found)

    def _entries(
        self,
        connection: Connection,
        found: Sequence[TrackedTransaction],
        networks: Sequence[NetworkProfile],
    ) -> tuple[TrackedEntry, ...]:
        hashes = [each.tx_hash for each in found]
        known = read_transaction_summaries(connection, networks, hashes, self._context.now())
        return tuple(map(TrackedEntry, found, known))

    def _hashes(self, connection: Connection, chosen: Chosen) -> Sequence[TxHash]:
        if isinstance(chosen, TrackedFilter):
            return matching_hashes(connection, chosen, MOST_AT_ONCE)
        return chosen

    def _note(
        self,
        connection: Connection,
        by: Actor,
        action: Action,
        hashes: Sequence[TxHash],
        many: int,
        details: Mapping[str, Detail],
    ) -> None:
        by.require(action)
        if many:
            subject, ends = _as_subject(hashes, many)
            note_action(connection, by, action, subject, {**details, **ends})


def _as_details(said: Mapping[str, object]) -> dict[str, Detail]:
    """Format a change for the audit log."""
    return {
        name: written_tags(value) if isinstance(value, frozenset) else str(value)
        for name, value in said.items()
        if value != frozenset()
    }


def _as_subject(hashes: Sequence[TxHash], many: int) -> tuple[str, dict[str, Detail]]:
    """Return the subject of `many` hashes in the audit log, and the first and the last hash."""
    subject = str(hashes[0]) if len(hashes) == 1 else f"{many} transactions"
    return subject, {"first": str(hashes[0]), "last": str(hashes[-1])}


def audit_tracking(
    connection: Connection,
    by: Actor,
    hashes: Sequence[TxHash],
    results: Sequence[TrackResult],
) -> None:
    """Write one line to the audit log for all hashes of one database transaction."""
    if hashes:
        subject, ends = _as_subject(hashes, len(hashes))
        details = {"new": results.count(TrackResult.NEW), **ends}
        note_action(connection, by, Action.TRACK, subject, details)
