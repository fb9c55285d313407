"""Gaps in what was watched, up to now: also the one that nobody writes down since nobody runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from dashboard.detect.coverage import Look, conclude_coverage
from dashboard.domain.coverage import Gap, GapCause, Watched
from dashboard.domain.quantity import NetworkId
from dashboard.store.connection import Connection
from dashboard.store.coverage import covered, gaps


def gaps_until(
    connection: Connection,
    networks: Sequence[NetworkId],
    now: datetime,
    since: datetime | None = None,
    limit: int | None = None,
) -> list[Gap]:
    """Return the gaps that lasted beyond `since`, the latest first, at most `limit`.

    While no worker runs, what it would conclude if it began now is among them, without an end.
    """
    found = {_key(gap): gap for gap in gaps(connection, networks, since, limit)}
    for held in covered(connection, networks):
        ended = conclude_coverage(held, Look(now)).ended
        if any(gap.cause is GapCause.NOT_WATCHED for gap in ended):
            found |= {_key(gap): _lasting(gap) for gap in ended}
    return sorted(found.values(), key=lambda gap: gap.begins_at, reverse=True)[:limit]


def _lasting(gap: Gap) -> Gap:
    return replace(gap, ends_at=None) if gap.cause is GapCause.NOT_WATCHED else gap


def _key(gap: Gap) -> tuple[NetworkId, Watched, datetime]:
    return gap.network_id, gap.watched, gap.begins_at
