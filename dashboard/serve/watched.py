"""Reports of watched transactions: the news is owed from the moment the report is on disk."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from uuid import UUID

from dashboard.detect.exclusion import conclude_exclusion
from dashboard.domain.condition import Subject
from dashboard.domain.observation import ExclusionAnswer
from dashboard.store.conditions import change, condition
from dashboard.store.connection import Connection
from dashboard.store.rejections import visible_version
from dashboard.store.reports import Place, watched_among


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
