"""Coverage: when each network was watched; pages, mails and commands show the same."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import product
from typing import Final

from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, and_, func, or_, select, update

from dashboard.domain.alerts.condition import State, SubjectKind
from dashboard.domain.health.coverage import (
    CoverageChange,
    Covered,
    Gap,
    GapCause,
    Watched,
    WatchedTime,
    without_worker,
)
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import conditions, coverage, coverage_gaps, suggested_gas_fees
from dashboard.store.schema.columns import columns_of, read_as

PRECISION: Final = timedelta(seconds=30)
"""How often a worker records that a network is still watched; `as_last_seen` knows more."""

WITHOUT_FEES: Final = timedelta(seconds=5)
"""The same if no fees are polled, which would show that a worker was running."""

_UNNOTED: Final = 2 * PRECISION
"""How much longer a worker may have been running than it recorded."""


def covered(connection: Connection, networks: Sequence[NetworkId]) -> list[Covered]:
    """Return the coverage of each part of the networks that was ever watched."""
    lasting = {(each.network_id, each.watched): each for each in open_gaps(connection)}
    known = connection.execute(select(coverage).where(coverage.c.network_id.in_(networks)))
    return [
        read_as(Covered, row, coverage, open_gap=lasting.get((row.network_id, row.watched)))
        for row in known
    ]


def as_last_seen(connection: Connection, several: Sequence[Covered]) -> list[Covered]:
    """Return each coverage, extended to the last fees that a worker stored since.

    A worker polls all networks, so fees of any of them show that it was running. What ended
    together, as all does when a worker stops, is one query.
    """
    ends = [(each.until, each.until + _UNNOTED) for each in several]
    if not ends:
        return []
    asked_at, known = suggested_gas_fees.c.asked_at, select(coverage.c.network_id).distinct()
    wanted = func.max(asked_at) if len(several) == 1 else asked_at
    of_known = select(wanted).where(suggested_gas_fees.c.network_id.in_(known))
    seen: list[datetime] = []
    for stretch in WatchedTime.of(min(ends)[0], max(ends)[1], ends).missed:
        seen += filter(None, connection.scalars(of_known.where(asked_at.between(*stretch))))
    seen.sort()
    return [
        replace(each, until=max([each.until, *seen[: bisect_right(seen, longest)][-1:]]))
        for each, (_, longest) in zip(several, ends, strict=True)
    ]


def watched_from(
    connection: Connection, networks: Sequence[NetworkId], watched: Watched
) -> dict[NetworkId, datetime]:
    """Return since when each network is watched, without those that never were."""
    column = coverage.c
    query = select(column.network_id, column.began_at).where(
        column.network_id.in_(networks), column.watched == watched
    )
    return {row.network_id: row.began_at for row in connection.execute(query)}


def watched_time(
    connection: Connection,
    networks: Sequence[NetworkId],
    watched: Watched,
    since: datetime,
    until: datetime,
) -> WatchedTime:
    """Return how much of a period all of the networks were watched.

    Watching begins with a worker's first poll.
    """
    missed = _missed(connection, networks, watched, since, until)
    return WatchedTime.of(since, until, [each for times in missed.values() for each in times])


def watched_times(
    connection: Connection,
    networks: Sequence[NetworkId],
    watched: Watched,
    since: datetime,
    until: datetime,
) -> dict[NetworkId, WatchedTime]:
    """Return how much of a period each of the networks was watched, in the same queries."""
    missed = _missed(connection, networks, watched, since, until)
    return {each: WatchedTime.of(since, until, times) for each, times in missed.items()}


def _missed(
    connection: Connection,
    networks: Sequence[NetworkId],
    watched: Watched,
    since: datetime,
    until: datetime,
) -> dict[NetworkId, list[tuple[datetime, datetime]]]:
    began = watched_from(connection, networks, watched)
    missed = {each: [(since, began.get(each, until))] for each in networks}
    for gap in gaps_until(connection, networks, until, since):
        if gap.watched is watched:
            missed[gap.network_id].append((gap.begins_at, gap.ends_at or until))
    return missed


def gaps_until(
    connection: Connection,
    networks: Sequence[NetworkId],
    now: datetime,
    since: datetime | None = None,
    limit: int | None = None,
) -> list[Gap]:
    """Return the gaps that ended after `since`, the latest first; `limit` is as for `gaps`.

    If no worker runs, the present gaps are among them, without an end.
    """
    found = {_key(gap): gap for gap in gaps(connection, networks, since, limit)}
    idle = [each for each in covered(connection, networks) if each.unseen(each.until, now)]
    for held, seen in zip(idle, as_last_seen(connection, idle), strict=True):
        unseen = held.unseen(seen.until, now)
        if unseen:
            lasting = replace(unseen[-1], ends_at=None)
            found |= {_key(gap): gap for gap in (*unseen[:-1], lasting)}
    return sorted(found.values(), key=lambda gap: gap.begins_at, reverse=True)


def gaps_without_worker(
    connection: Connection, networks: Sequence[NetworkId], since: datetime
) -> list[Gap]:
    """Return the gaps that ended after `since`, as far as no worker was running.

    Rejections of a network without line limits have no gaps, so they show no worker.
    """
    column, is_kind = coverage.c, conditions.c.kind == SubjectKind.LINE_LIMITS
    unlimited = select(conditions.c.network_id).where(
        is_kind, conditions.c.state == State.NO_LINE_LIMITS
    )
    known = (
        select(column.network_id, column.watched, column.began_at, column.until)
        .where(column.network_id.in_(networks))
        .where(or_(column.watched != Watched.REJECTIONS, column.network_id.not_in(unlimited)))
    )
    watched = {
        (row.network_id, row.watched): (row.began_at, row.until)
        for row in connection.execute(known)
    }
    return without_worker(gaps(connection, networks, since), watched)


def unwatched_now(
    connection: Connection, networks: Sequence[NetworkId], now: datetime
) -> list[Gap]:
    """Return the ongoing gaps of what no worker asks about, also because the settings changed."""
    return [
        each
        for each in gaps_until(connection, networks, now, now)
        if each.cause is GapCause.NOT_WATCHED and each.ends_at is None
    ]


def without_worker_since(
    connection: Connection, networks: Sequence[NetworkId], now: datetime
) -> datetime | None:
    """Return since when no worker runs; None if one asks about anything of these networks."""
    known = covered(connection, networks)
    if not all(each.unseen(each.until, now) for each in known):
        return None
    seen = as_last_seen(connection, known)
    return max((each.until for each in seen if each.unseen(each.until, now)), default=None)


def save_coverage(
    connection: Connection,
    before: Covered | None,
    change: CoverageChange,
    every: timedelta = PRECISION,
) -> None:
    """Store what a poll changed; `before` is the coverage until then.

    If nothing changed, it is stored at most once in `every`.
    """
    after = change.covered
    ended, opened = list(change.ended), after.open_gap
    if opened is not None and (before is None or opened != before.open_gap):
        ended.append(opened)
    upsert(connection, coverage_gaps, [columns_of(coverage_gaps, each) for each in ended])
    is_fresh = before is not None and before.until <= after.until < before.until + every
    if ended or before is None or not is_fresh or after.since != before.since:
        _keep(connection, after)


def watch_earlier(
    connection: Connection,
    networks: Sequence[NetworkId],
    since: datetime,
    until: datetime,
    kinds: Collection[Watched] = tuple(Watched),
) -> None:
    """Let coverage begin with an imported history; known gaps stay."""
    for network_id in networks:
        known = {each.watched for each in covered(connection, [network_id])}
        for watched in kinds:
            if watched not in known:
                _keep(connection, Covered(network_id, watched, since, until))
    column = coverage.c
    of_kinds = column.network_id.in_(networks) & column.watched.in_(kinds)
    later = of_kinds & (column.began_at > since)
    connection.execute(update(coverage).where(later).values(began_at=since))


def gaps(
    connection: Connection,
    networks: Sequence[NetworkId],
    since: datetime | None = None,
    limit: int | None = None,
) -> list[Gap]:
    """Return the gaps of networks that ended after `since`, the latest first.

    `limit` is the most of each part of a network: one that comes and goes hides no other.
    A worker records them; while no worker runs, nobody records the present one.
    """
    column = coverage_gaps.c
    has_length = or_(column.ends_at.is_(None), column.ends_at > column.begins_at)
    query = select(coverage_gaps).where(has_length).limit(limit)
    query = query.order_by(column.begins_at.desc(), column.network_id, column.watched)
    if since is not None:
        query = query.where(or_(column.ends_at.is_(None), column.ends_at > since))
    parts: list[ColumnElement[bool]] = [column.network_id.in_(networks)]
    if limit is not None:
        parts = [
            and_(column.network_id == network_id, column.watched == watched)
            for network_id, watched in product(sorted(set(networks)), sorted(Watched))
        ]
    rows = [row for part in parts for row in connection.execute(query.where(part))]
    found = [read_as(Gap, row, coverage_gaps) for row in rows]
    return sorted(found, key=lambda gap: gap.begins_at, reverse=True)


def open_gaps(connection: Connection) -> list[Gap]:
    """Return the gaps of all networks in which nobody answers."""
    lasting = select(coverage_gaps).where(coverage_gaps.c.ends_at.is_(None))
    return [read_as(Gap, row, coverage_gaps) for row in connection.execute(lasting)]


def end_gap(connection: Connection, gap: Gap, at: datetime) -> None:
    upsert(connection, coverage_gaps, [columns_of(coverage_gaps, gap.ended(at))])


def _keep(connection: Connection, held: Covered) -> None:
    row = columns_of(coverage, held, began_at=held.since)
    upsert(connection, coverage, [row], keep=frozenset({"began_at"}))


def _key(gap: Gap) -> tuple[NetworkId, Watched, datetime]:
    return gap.network_id, gap.watched, gap.begins_at
