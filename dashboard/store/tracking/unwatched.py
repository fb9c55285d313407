"""What came of asking about hashes that nobody watched then, or that nobody watches any more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, literal, select, update

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.engine.portions import portions
from dashboard.store.schema import checks, rejections, tracked_hashes, watched_cohorts
from dashboard.store.schema.columns import Hash
from dashboard.store.schema.tracking import COME_OF_ASKING
from dashboard.store.tracking.cohorts import note_rejected, part

Came: TypeAlias = tuple[tuple[NetworkId, tuple[Any, ...]], ...]
"""What came of asking networks, in the order of `COME_OF_ASKING`."""

_CHECKED: Final = tuple(checks.c[name] for name in COME_OF_ASKING)


def take_over(connection: Connection, cohort_ids: Sequence[int]) -> None:
    """Give the hashes of new cohorts what was known of them before they were watched."""
    for some in portions(cohort_ids):
        rejected = _rejected(connection, some)
        for (cohort_id, came), hashes in _asked(connection, some).items():
            theirs = part(connection, cohort_id, hashes)
            for network_id, values in came:
                of_theirs = _is_watch(theirs, network_id)
                told = dict(zip(COME_OF_ASKING, values, strict=True))
                connection.execute(update(watched_cohorts).where(of_theirs).values(**told))
                _forget(connection, network_id, hashes)
        for network_id, hashes in rejected.items():
            note_rejected(connection, network_id, hashes)


def leave_behind(connection: Connection, tx_hash: TxHash, cohort_id: int) -> None:
    """Keep what came of asking about a hash that leaves its cohort for none."""
    names = ["network_id", *COME_OF_ASKING]
    came = select(literal(tx_hash, Hash), *watched_cohorts.c[tuple(names)]).where(
        watched_cohorts.c.cohort_id == cohort_id, watched_cohorts.c.last_asked_at.is_not(None)
    )
    connection.execute(insert(checks).from_select(["tx_hash", *names], came))


def _asked(
    connection: Connection, cohort_ids: Sequence[int]
) -> dict[tuple[int, Came], list[TxHash]]:
    """Return hashes that were asked about, by their cohorts and by what came of it."""
    query = (
        select(*tracked_hashes.c["cohort_id", "tx_hash"], checks.c.network_id, *_CHECKED)
        .join(checks, checks.c.tx_hash == tracked_hashes.c.tx_hash)
        .join(watched_cohorts, _is_watched_on(checks.c.network_id))
        .where(tracked_hashes.c.cohort_id.in_(cohort_ids))
        .order_by(checks.c.network_id)
    )
    came: defaultdict[tuple[int, TxHash], Came] = defaultdict(tuple)
    for cohort_id, tx_hash, network_id, *values in connection.execute(query):
        came[cohort_id, tx_hash] += ((network_id, tuple(values)),)
    alike: defaultdict[tuple[int, Came], list[TxHash]] = defaultdict(list)
    for (cohort_id, tx_hash), each in came.items():
        alike[cohort_id, each].append(tx_hash)
    return alike


def _rejected(connection: Connection, cohort_ids: Sequence[int]) -> dict[NetworkId, list[TxHash]]:
    """Return hashes of which records are held, by the networks of these."""
    query = (
        select(rejections.c.network_id, tracked_hashes.c.tx_hash)
        .distinct()
        .join_from(tracked_hashes, rejections, rejections.c.tx_hash == tracked_hashes.c.tx_hash)
        .where(tracked_hashes.c.cohort_id.in_(cohort_ids))
    )
    found: defaultdict[NetworkId, list[TxHash]] = defaultdict(list)
    for network_id, tx_hash in connection.execute(query):
        found[network_id].append(tx_hash)
    return found


def _is_watched_on(network_id: ColumnElement[int]) -> ColumnElement[bool]:
    column = watched_cohorts.c
    return and_(column.cohort_id == tracked_hashes.c.cohort_id, column.network_id == network_id)


def _is_watch(cohort_id: int | None, network_id: NetworkId) -> ColumnElement[bool]:
    column = watched_cohorts.c
    return and_(column.cohort_id == cohort_id, column.network_id == network_id)


def _forget(connection: Connection, network_id: NetworkId, hashes: Sequence[TxHash]) -> None:
    for some in portions(hashes):
        column = checks.c
        of_hashes = and_(column.tx_hash.in_(some), column.network_id == network_id)
        connection.execute(delete(checks).where(of_hashes))
