"""Save rejections: what upstream answered to a poll, and what nodes report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Struct, field
from sqlalchemy import ColumnElement, Connection, select, update

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import (
    LocatedReport,
    RejectedTransaction,
    RejectionSource,
    RejectionStage,
    SaveStatus,
)
from dashboard.domain.rejections.reasons import parse_reason
from dashboard.store.engine.batching import equal, grouped
from dashboard.store.engine.upsert import insert_all_new, insert_new
from dashboard.store.rejections.counts import count_inserted
from dashboard.store.schema import rejections, signed_transactions, tracked_hashes, watched_cohorts
from dashboard.store.schema.columns import columns_of, milliseconds_of

SEEN_AGAIN_EVERY: Final = timedelta(hours=1)
"""A poll that answers a known version updates `seen_again_at` at most this often."""


def save_version(
    connection: Connection, network_id: NetworkId, record: RejectedTransaction, now: datetime
) -> int:
    """Save a version that a poll answered; return its id, the same for the same version.

    One that is stored already is marked as seen again, at most once in `SEEN_AGAIN_EVERY`. A record
    that leaves something out is not a new version if another says all of it: two upstreams may
    answer the same rejection in turn, one in more words.
    """
    column = rejections.c
    query = select(column.rejection_id, column.first_seen_at, column.seen_again_at)
    said = query.where(*_says_all_of(record, network_id)).order_by(column.rejection_id.desc())
    held = None if record.is_whole else connection.execute(said.limit(1)).one_or_none()
    if held is None:
        row = row_of_record(record, network_id, now)
        if insert_new(connection, rejections, row):
            count_inserted(connection, [row])
        held = connection.execute(query.where(*_is_version(record, network_id))).one()
    if now - (held.seen_again_at or held.first_seen_at) >= SEEN_AGAIN_EVERY:
        of_version = update(rejections).where(column.rejection_id == held.rejection_id)
        connection.execute(of_version.values(seen_again_at=now))
    rejection_id: int = held.rejection_id
    return rejection_id


def row_of_record(
    record: RejectedTransaction, network_id: NetworkId, now: datetime
) -> dict[str, Any]:
    """Return the columns of a version that a poll answers now."""
    reason = parse_reason(record.reason_message)
    return columns_of(
        rejections,
        record,
        network_id=network_id,
        first_seen_at=now,
        version_digest=version_digest(record),
        reason_kind=reason.kind,
        module=reason.module,
        source=RejectionSource.POLLED,
    )


def _is_version(
    record: RejectedTransaction, network_id: NetworkId
) -> tuple[ColumnElement[bool], ...]:
    return (
        rejections.c.tx_hash == record.tx_hash,
        rejections.c.network_id == network_id,
        rejections.c.version_digest == version_digest(record),
    )


def _says_all_of(
    record: RejectedTransaction, network_id: NetworkId
) -> Iterator[ColumnElement[bool]]:
    column, stage = rejections.c, record.tx_rejection_stage
    return equal(
        (column.tx_hash, record.tx_hash),
        (column.network_id, network_id),
        (column.sender, record.sender),
        (column.nonce, record.nonce),
        (column.tx_rejection_stage, None if stage is RejectionStage.UNKNOWN else stage.value),
        (column.reason_message, record.reason_message or None),
        (column.timestamp, record.timestamp),
    )


def version_digest(record: RejectedTransaction) -> bytes:
    """Digest what readers see: two records with the same digest are one version.

    Only the sequencer shows a block number.
    """
    is_block_shown = record.tx_rejection_stage is RejectionStage.SEQUENCER
    shown = (
        None if record.sender is None else record.sender.hex(),
        record.nonce,
        record.tx_rejection_stage.value,
        record.reason_message,
        None if record.timestamp is None else milliseconds_of(record.timestamp),
        record.block_number if is_block_shown else None,
    )
    return digest(repr(shown))


def digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


HashOnNetwork: TypeAlias = tuple[TxHash, NetworkId]
"""A hash on a network."""


class SavedReports(NamedTuple):
    """The status of each report, and by network the hashes of the versions that are new."""

    statuses: list[SaveStatus]
    new: dict[NetworkId, list[TxHash]]


def save_reports(
    connection: Connection,
    located: Sequence[LocatedReport],
    now: datetime,
    source: RejectionSource = RejectionSource.REPORTED,
) -> SavedReports:
    """Save what nodes report, in this order; the same reason for the same hash changes nothing.

    A version that was polled before it was reported is marked as reported.
    """
    rows = [_row(each, each.came_at or now) | {"source": source} for each in located]
    group = _Group.among(connection, {row["tx_hash"] for row in rows})
    statuses = [group.sort_in(row) for row in rows]
    insert_all_new(connection, rejections, group.new)
    count_inserted(connection, group.new)
    for rejection_id, row in group.adopted.items():
        marked = {name: row[name] for name in _REPORTED}
        of_version = update(rejections).where(rejections.c.rejection_id == rejection_id)
        connection.execute(of_version.values(**marked))
    saved = {
        each.report.transaction.tx_hash: each.report.transaction
        for each, status in zip(located, statuses, strict=True)
        if status is SaveStatus.SAVED
    }
    signed = [columns_of(signed_transactions, each) for each in saved.values()]
    insert_all_new(connection, signed_transactions, signed)
    new = grouped((row["network_id"], row["tx_hash"]) for row in group.new)
    return SavedReports(statuses, new)


def watched_among(connection: Connection, places: Iterable[HashOnNetwork]) -> list[HashOnNetwork]:
    """Return those hashes that are tracked on their network."""
    wanted = set(places)
    query = (
        select(tracked_hashes.c.tx_hash, watched_cohorts.c.network_id)
        .join(watched_cohorts, watched_cohorts.c.cohort_id == tracked_hashes.c.cohort_id)
        .where(tracked_hashes.c.tx_hash.in_({tx_hash for tx_hash, _ in wanted}))
    )
    return [place for row in connection.execute(query) if (place := tuple(row)) in wanted]


_REPORTED = ("reported_at", "reported_reason_digest", "overflows")


class _Group(Struct):
    """What is stored of the hashes of some reports, and what these add to it.

    `reported` holds hash, network and reason of every report, `versions` the id of each version
    that was only polled, None for the others.
    """

    reported: set[tuple[TxHash, NetworkId, bytes]] = field(default_factory=set)
    versions: dict[tuple[TxHash, NetworkId, bytes], int | None] = field(default_factory=dict)
    new: list[dict[str, Any]] = field(default_factory=list)
    adopted: dict[int, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def among(cls, connection: Connection, hashes: set[TxHash]) -> _Group:
        group = cls()
        column = rejections.c
        query = select(
            column.tx_hash,
            column.network_id,
            column.reported_reason_digest,
            column.version_digest,
            column.rejection_id,
        ).where(column.tx_hash.in_(hashes))
        for tx_hash, network_id, reason, version, rejection_id in connection.execute(query):
            group.versions[tx_hash, network_id, version] = None if reason else rejection_id
            if reason:
                group.reported.add((tx_hash, network_id, reason))
        return group

    def sort_in(self, row: dict[str, Any]) -> SaveStatus:
        """Decide whether a row is new, given the rows before it, and collect what to write."""
        place = row["tx_hash"], row["network_id"]
        reason = *place, row["reported_reason_digest"]
        version = *place, row["version_digest"]
        polled_id = self.versions.get(version)
        if reason in self.reported or (version in self.versions and polled_id is None):
            return SaveStatus.DUPLICATE
        if polled_id is None:
            self.new.append(row)
        else:
            self.adopted[polled_id] = row
        self.reported.add(reason)
        self.versions[version] = None
        return SaveStatus.SAVED


def _row(located: LocatedReport, now: datetime) -> dict[str, Any]:
    report, network_id, _ = located
    return row_of_record(report.record(), network_id, now) | {
        "reported_at": now,
        "reported_reason_digest": digest(report.reason_message),
        "overflows": [[each.module, each.count, each.limit] for each in report.overflows],
    }
