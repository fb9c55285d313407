"""What is tracked, as people look after it: found, corrected, and not watched any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, or_, select, update

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.schema import checks, rejections, tracked_transactions, watches
from dashboard.store.transactions import TrackedTransaction, select_tracked, tracked_of


class Standing(StrEnum):
    """What is on record of a tracked transaction, whatever follows from that."""

    REJECTED = "rejected"
    UNREPORTED = "no rejection on record"
    UNANSWERED = "no answer yet"


@dataclass(frozen=True, slots=True)
class TrackedFilter:
    """What is looked for; what is None may be anything.

    `text` stands in the label or the note, in either case; no index helps to find it.
    """

    network_id: NetworkId | None = None
    standing: Standing | None = None
    tx_hash: TxHash | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Remarks:
    """What people may correct of a tracked transaction."""

    attempted_at: datetime | None
    label: str
    note: str


def search_tracked(
    connection: Connection, wanted: TrackedFilter, limit: int, skipped: int = 0
) -> list[TrackedTransaction]:
    """Return what is tracked and fits after the first `skipped`, the latest first."""
    query = select_tracked().where(*_conditions(wanted)).limit(limit).offset(skipped)
    return tracked_of(connection, query)


def how_many_tracked(connection: Connection, wanted: TrackedFilter) -> int:
    """Count what is tracked and fits."""
    query = select(func.count()).select_from(tracked_transactions).where(*_conditions(wanted))
    return connection.scalars(query).one()


def amend(connection: Connection, tx_hash: TxHash, remarks: Remarks) -> bool:
    """Write other remarks; False where the hash is not tracked any more.

    Another time of the attempt is another schedule: the watches get new ids, by which the
    poller takes them up again, also those that it was done with.
    """
    of_hash = tracked_transactions.c.tx_hash == tx_hash
    before = connection.execute(select(tracked_transactions).where(of_hash)).one_or_none()
    if before is None:
        return False
    changed = {
        "attempted_at": remarks.attempted_at,
        "label": remarks.label,
        "note": remarks.note,
    }
    connection.execute(update(tracked_transactions).where(of_hash).values(**changed))
    if before.attempted_at != remarks.attempted_at:
        _watch_anew(connection, tx_hash)
    return True


def _watch_anew(connection: Connection, tx_hash: TxHash) -> None:
    of_hash = watches.c.tx_hash == tx_hash
    columns = watches.c["tx_hash", "network_id", "tracked_at"]
    held = [dict(row) for row in connection.execute(select(*columns).where(of_hash)).mappings()]
    connection.execute(delete(watches).where(of_hash))
    if held:
        connection.execute(insert(watches), held)


def untrack(connection: Connection, tx_hash: TxHash) -> bool:
    """Watch a hash on no network any more; False where nobody did.

    What was seen of it and what was told stays.
    """
    connection.execute(delete(watches).where(watches.c.tx_hash == tx_hash))
    of_hash = delete(tracked_transactions).where(tracked_transactions.c.tx_hash == tx_hash)
    return connection.execute(of_hash).rowcount == 1


def still_watched(
    connection: Connection, network_id: NetworkId, hashes: Sequence[TxHash]
) -> set[TxHash]:
    """Return those of the hashes that are watched on the network."""
    query = select(watches.c.tx_hash).where(
        watches.c.tx_hash.in_(hashes), watches.c.network_id == network_id
    )
    return set(connection.scalars(query))


def _conditions(wanted: TrackedFilter) -> Iterator[ColumnElement[bool]]:
    column = tracked_transactions.c
    if wanted.tx_hash is not None:
        yield column.tx_hash == wanted.tx_hash
    if wanted.network_id is not None:
        on_network = watches.c.network_id == wanted.network_id
        yield exists().where(watches.c.tx_hash == column.tx_hash, on_network)
    if wanted.text:
        in_label = column.label.icontains(wanted.text, autoescape=True)
        yield or_(in_label, column.note.icontains(wanted.text, autoescape=True))
    if wanted.standing is not None:
        yield from _standing(wanted.standing, wanted.network_id)


def _standing(standing: Standing, network_id: NetworkId | None) -> Iterator[ColumnElement[bool]]:
    tx_hash = tracked_transactions.c.tx_hash
    record = exists().where(rejections.c.tx_hash == tx_hash)
    answer = exists().where(checks.c.tx_hash == tx_hash, checks.c.last_answered_at.is_not(None))
    if network_id is not None:
        record = record.where(rejections.c.network_id == network_id)
        answer = answer.where(checks.c.network_id == network_id)
    if standing is Standing.REJECTED:
        yield record
        return
    yield ~record
    yield answer if standing is Standing.UNREPORTED else ~answer
