"""Watched senders: addresses whose reported rejections people are notified of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from msgspec import Struct
from sqlalchemy import Connection, delete, select, update

from dashboard.domain.quantity import Address, NetworkId
from dashboard.domain.rejections.exclusion import LocatedReport
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.batching import grouped
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import watched_senders
from dashboard.store.tracking.transactions import track_all

Account: TypeAlias = tuple[Address, NetworkId]
"""An address on a network."""

_UNNAMED: Final = "watched sender"


class WatchedSender(Struct, frozen=True):
    """A watched address and its networks; `label` is as people wrote it."""

    sender: Address
    network_ids: tuple[NetworkId, ...]
    watched_at: datetime
    label: str = ""


def watch_sender(connection: Connection, wish: WatchedSender) -> bool:
    """Track reported transactions of an address from now on; False if it is watched already.

    Earlier reports stay as they are. A new label replaces the old one.
    """
    common = {"sender": wish.sender, "watched_at": wish.watched_at, "label": wish.label}
    rows = [common | {"network_id": network_id} for network_id in wish.network_ids]
    added = [insert_new(connection, watched_senders, row) for row in rows]
    if wish.label:
        of_sender = update(watched_senders).where(watched_senders.c.sender == wish.sender)
        connection.execute(of_sender.values(label=wish.label))
    return any(added)


def unwatch_sender(connection: Connection, sender: Address) -> bool:
    """Stop watching an address; False if it is not watched. Tracked transactions stay tracked."""
    of_sender = delete(watched_senders).where(watched_senders.c.sender == sender)
    return connection.execute(of_sender).rowcount > 0


def senders_watched(connection: Connection) -> list[WatchedSender]:
    """Return every watched address, the latest first."""
    column = watched_senders.c
    query = select(watched_senders).order_by(column.sender, column.network_id)
    rows = grouped((row.sender, row) for row in connection.execute(query))
    found = [
        WatchedSender(
            sender,
            tuple(row.network_id for row in own),
            min(row.watched_at for row in own),
            max(row.label for row in own),
        )
        for sender, own in rows.items()
    ]
    return sorted(found, key=lambda each: each.watched_at, reverse=True)


def track_watched_senders(
    connection: Connection, saved: Sequence[LocatedReport], now: datetime
) -> None:
    """Track those saved reports whose sender is watched, each with the sender's label."""
    accounts = [(each.report.transaction.sender, each.network_id) for each in saved]
    labels = labels_of_watched(connection, accounts) if saved else {}
    requests = [
        TrackRequest(
            each.report.transaction.tx_hash,
            (each.network_id,),
            Remarks(label=labels[account] or _UNNAMED),
        )
        for each, account in zip(saved, accounts, strict=True)
        if account in labels
    ]
    if requests:
        track_all(connection, requests, now)


def labels_of_watched(connection: Connection, accounts: Iterable[Account]) -> dict[Account, str]:
    """Return the watched ones of the addresses on their networks, with their labels."""
    wanted = set(accounts)
    column = watched_senders.c
    query = select(column.sender, column.network_id, column.label).where(
        column.sender.in_({sender for sender, _ in wanted})
    )
    found = {(row.sender, row.network_id): row.label for row in connection.execute(query)}
    return {account: label for account, label in found.items() if account in wanted}
