"""Reports of what people watch: the news is owed from the moment the report is on disk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from dashboard.detect.exclusion import conclude_exclusion
from dashboard.domain.condition import Subject
from dashboard.domain.observation import ExclusionAnswer
from dashboard.store.alerts.conditions import change, condition
from dashboard.store.engine.connection import Connection
from dashboard.store.rejections.reports import LocatedReport, Place, watched_among
from dashboard.store.rejections.versions import visible_version
from dashboard.store.tracking.senders import labels_of_watched
from dashboard.store.tracking.transactions import TrackRequest, track_all

_UNNAMED: Final = "watched sender"


def track_of_watched_senders(
    connection: Connection, saved: Sequence[LocatedReport], now: datetime
) -> None:
    """Track those saved reports whose sender somebody watches, each under the sender's label."""
    accounts = [(each.report.transaction.sender, each.network_id) for each in saved]
    labels = labels_of_watched(connection, accounts) if saved else {}
    requests = [
        TrackRequest(
            each.report.transaction.tx_hash,
            (each.network_id,),
            None,
            labels[account] or _UNNAMED,
        )
        for each, account in zip(saved, accounts, strict=True)
        if account in labels
    ]
    if requests:
        track_all(connection, requests, now)


def tell_of_watched(
    connection: Connection, saved: Collection[Place], now: datetime, new_id: Callable[[], UUID]
) -> None:
    """Change the conditions of those saved hashes that somebody watches, as the poll would.

    The poll would ask about an old hash every few minutes, or not at all any more; this needs
    no question. What the poll sees of it later is no news then.
    """
    if not saved:
        return
    for tx_hash, network_id in watched_among(connection, saved):
        stored = visible_version(connection, [network_id], tx_hash, now)
        if stored is None:
            continue
        subject = Subject.transaction(network_id, tx_hash)
        answer = ExclusionAnswer(tx_hash, record=stored.record)
        before = condition(connection, subject)
        transition = conclude_exclusion(subject, before, answer, now, new_id())
        if transition is not None:
            change(connection, transition, stored.rejection_id)
