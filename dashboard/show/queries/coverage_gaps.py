"""Gaps in what was watched, up to now, with the one that lasts while no worker runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeAlias

from dashboard.detect.coverage import Look, conclude_coverage
from dashboard.domain.coverage import Gap, GapCause, Watched
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.coverage import covered, gaps, watched_from
from dashboard.store.rejections.search import first_arrival

Stretch: TypeAlias = tuple[datetime, datetime]


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
            found |= {_key(gap): _without_end(gap) for gap in ended}
    return sorted(found.values(), key=lambda gap: gap.begins_at, reverse=True)[:limit]


def unwatched_now(
    connection: Connection, networks: Sequence[NetworkId], now: datetime
) -> list[Gap]:
    """Return the gaps that last because no worker runs."""
    return [
        each
        for each in gaps_until(connection, networks, now, now)
        if each.cause is GapCause.NOT_WATCHED and each.ends_at is None
    ]


def unwatched(
    connection: Connection, networks: Sequence[NetworkId], since: datetime, until: datetime
) -> list[Stretch]:
    """Return when rejections of one of the networks were not watched, oldest first, joined.

    Watching begins with a worker's first poll, or with the first rejection in the archive.
    """
    looked = watched_from(connection, networks, Watched.REJECTIONS)
    found = [
        (max(since, gap.begins_at), min(until, gap.ends_at or until))
        for gap in gaps_until(connection, networks, until, since)
        if gap.watched is Watched.REJECTIONS
    ]
    for network_id in networks:
        begins = (looked.get(network_id), first_arrival(connection, network_id))
        found.append((since, min((each for each in begins if each is not None), default=until)))
    return _joined(found)


def _joined(stretches: Sequence[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for begins_at, ends_at in sorted(stretches):
        if joined and begins_at <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], ends_at))
        elif begins_at < ends_at:
            joined.append((begins_at, ends_at))
    return joined


def overlap(stretches: Sequence[Stretch], since: datetime, until: datetime) -> timedelta:
    """Return how much of a time lies in stretches that do not overlap each other."""
    lengths = (min(until, ends_at) - max(since, begins_at) for begins_at, ends_at in stretches)
    return sum((max(each, timedelta()) for each in lengths), timedelta())


def _without_end(gap: Gap) -> Gap:
    return replace(gap, ends_at=None) if gap.cause is GapCause.NOT_WATCHED else gap


def _key(gap: Gap) -> tuple[NetworkId, Watched, datetime]:
    return gap.network_id, gap.watched, gap.begins_at
