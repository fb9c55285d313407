"""All that is stored about a hash on each network, from which its verdict follows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, select

from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.observation import Failure, FailureKind
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.verdict import Evidence
from dashboard.store.rejections.read import versions_among
from dashboard.store.schema import (
    checks,
    tracked_hashes,
    watched_cohorts,
)
from dashboard.store.tracking.follow_ups import follow_ups_among, receipt_failures_among


def read_evidence_of_many(
    connection: Connection, hashes: Sequence[TxHash]
) -> dict[TxHash, list[Evidence]]:
    """Return the evidence about each of these hashes on all networks, in order of their ids.

    A network where one is not tracked, was never asked about and has no rejection is left out.
    """
    ends, stored = follow_ups_among(connection, hashes), versions_among(connection, hashes)
    query = select(tracked_hashes).where(tracked_hashes.c.tx_hash.in_(hashes))
    tracked = {row.tx_hash: row for row in connection.execute(query)}
    asked: defaultdict[TxHash, dict[NetworkId, Row[Any]]] = defaultdict(dict)
    for row in connection.execute(select(checks).where(checks.c.tx_hash.in_(hashes))):
        asked[row.tx_hash][row.network_id] = row
    of_cohorts = watched_cohorts.c.cohort_id.in_({row.cohort_id for row in tracked.values()})
    watched: defaultdict[int, dict[NetworkId, Row[Any]]] = defaultdict(dict)
    for row in connection.execute(select(watched_cohorts).where(of_cohorts)):
        watched[row.cohort_id][row.network_id] = row
    failing = receipt_failures_among(connection, hashes)
    found = {}
    for tx_hash in ends:
        own = tracked.get(tx_hash)
        rows = asked[tx_hash] | ({} if own is None else watched[own.cohort_id])
        held = _by_network(stored[tx_hash])
        known = Evidence(NetworkId(0), tx_hash, (), None if own is None else own.attempted_at)
        found[tx_hash] = [
            _evidence(
                replace(
                    known,
                    network_id=each,
                    records=tuple(version.record for version in held[each]),
                    is_dated_ahead=any(version.is_dated_ahead for version in held[each][:1]),
                    follow_up=ends[tx_hash].get(each),
                    receipt_failure=failing.get((tx_hash, each)),
                ),
                rows.get(each),
            )
            for each in sorted({*held, *rows, *ends[tx_hash]})
        ]
    return found


def _by_network(
    stored: Sequence[StoredRejection],
) -> defaultdict[NetworkId, list[StoredRejection]]:
    held: defaultdict[NetworkId, list[StoredRejection]] = defaultdict(list)
    for each in stored:
        held[each.network_id].append(each)
    return held


def _evidence(known: Evidence, check: Row[Any] | None) -> Evidence:
    if check is None:
        return known
    failure = None
    if check.failure_kind is not None:
        failure = Failure(FailureKind(check.failure_kind), check.failure_message)
    return replace(
        known,
        first_answered_at=check.first_answered_at,
        last_answered_at=check.last_answered_at,
        failing_since=check.failing_since,
        failure=failure,
    )
