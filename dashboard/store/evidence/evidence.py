"""Everything that is stored about a hash, or about a change that a message names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Connection, Row, select

from dashboard.domain.alerts.condition import State, Transition
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.health.observation import Failure, FailureKind
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.tracking.statements import statements_in_words
from dashboard.domain.tracking.verdict import Evidence
from dashboard.store.alerts.conditions import transition_of
from dashboard.store.engine.batching import grouped
from dashboard.store.rejections.archive import versions_among
from dashboard.store.schema import (
    checks,
    outbox,
    polled_cohorts,
    rejections,
    tracked_hashes,
    transitions,
)
from dashboard.store.schema.rejections import stored_rejection
from dashboard.store.tracking.follow_ups import follow_ups_among, receipt_failures_among
from dashboard.store.tracking.statements import statements_among


def read_evidence_of_many(
    connection: Connection, hashes: Sequence[TxHash]
) -> dict[TxHash, list[Evidence]]:
    """Return the evidence about each of these hashes on all networks, in order of their ids.

    A network is left out if the hash is not tracked on it, was never asked about and has no
    rejection.
    """
    ends, stored = follow_ups_among(connection, hashes), versions_among(connection, hashes)
    query = select(tracked_hashes).where(tracked_hashes.c.tx_hash.in_(hashes))
    tracked = {row.tx_hash: row for row in connection.execute(query)}
    asked: defaultdict[TxHash, dict[NetworkId, Row[Any]]] = defaultdict(dict)
    for row in connection.execute(select(checks).where(checks.c.tx_hash.in_(hashes))):
        asked[row.tx_hash][row.network_id] = row
    of_cohorts = polled_cohorts.c.cohort_id.in_({row.cohort_id for row in tracked.values()})
    watched: defaultdict[int, dict[NetworkId, Row[Any]]] = defaultdict(dict)
    for row in connection.execute(select(polled_cohorts).where(of_cohorts)):
        watched[row.cohort_id][row.network_id] = row
    failing, said = receipt_failures_among(connection, hashes), statements_among(connection, hashes)
    found = {}
    for tx_hash in ends:
        own = tracked.get(tx_hash)
        held = grouped((each.network_id, each) for each in stored[tx_hash])
        watched_on = {} if own is None else watched[own.cohort_id]
        watched_at = {each: row.watched_at for each, row in watched_on.items()}
        rows = asked[tx_hash] | watched_on
        known = Evidence(NetworkId(0), tx_hash, (), None if own is None else own.attempted_at)
        found[tx_hash] = [
            _evidence(
                replace(
                    known,
                    network_id=each,
                    records=tuple(version.record for version in held[each]),
                    record_seen_at=held[each][0].first_seen_at if held[each] else None,
                    is_dated_ahead=any(version.is_dated_ahead for version in held[each][:1]),
                    follow_up=ends[tx_hash].get(each),
                    receipt_failure=failing.get((tx_hash, each)),
                    tracked_at=watched_at.get(each),
                    statements=said.get((tx_hash, each), ()),
                ),
                rows.get(each),
            )
            for each in sorted({*held, *rows, *ends[tx_hash]})
        ]
    return found


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


def with_labels(connection: Connection, changes: Sequence[NotifiedChange]) -> list[NotifiedChange]:
    """Return the changes with the remarks of their transactions; at most 500 at a time."""
    column = tracked_hashes.c
    hashes = {each.transition.subject.tx_hash for each in changes} - {None}
    query = select(column.tx_hash, column.label, column.attempted_at)
    rows = connection.execute(query.where(column.tx_hash.in_(hashes)))
    tracked = {tx_hash: (label, attempted_at) for tx_hash, label, attempted_at in rows}
    found = []
    for each in changes:
        label, attempted_at = tracked.get(each.transition.subject.tx_hash, ("", None))
        found.append(replace(each, label=label, attempted_at=attempted_at))
    return found


def sentences_among(
    connection: Connection, hashes: Sequence[TxHash]
) -> Mapping[tuple[TxHash, NetworkId], str]:
    """Return the sentence about what endpoints say of each hash on each network, if there is one.

    Look-ups and messages show the same sentence: a known receipt outweighs claims.
    """
    said = statements_among(connection, list(dict.fromkeys(hashes)))
    ends = follow_ups_among(connection, [*{tx_hash for tx_hash, _ in said}])
    words = {}
    for (tx_hash, network_id), statements in said.items():
        end = ends[tx_hash].get(network_id)
        has_receipt = end is not None and end.inclusion is not None
        words[tx_hash, network_id] = statements_in_words(statements, has_receipt=has_receipt)
    return {key: sentence for key, sentence in words.items() if sentence}


def with_statements(
    connection: Connection, changes: Sequence[NotifiedChange]
) -> list[NotifiedChange]:
    """Return the changes with what exclusion endpoints say of their transactions."""
    hashes = [each.transition.subject.tx_hash for each in changes]
    said = statements_among(connection, [each for each in hashes if each is not None])
    return [
        each
        if tx_hash is None
        else replace(each, statements=said.get((tx_hash, each.transition.subject.network_id), ()))
        for tx_hash, each in zip(hashes, changes, strict=True)
    ]


def with_previous(connection: Connection, change: NotifiedChange) -> NotifiedChange:
    """Return a changed record with the one before, if that is still stored."""
    if not change.is_changed_record:
        return change
    return replace(change, previous=_previous(connection, change.transition))


def with_ends(connection: Connection, changes: Sequence[NotifiedChange]) -> list[NotifiedChange]:
    """Return changes of networks with the changes that ended them; at most 500 at a time.

    An unknown state ended with the next change of its subject.
    """
    opened = {
        each.transition.transition_id
        for each in changes
        if each.transition.after.is_open and each.transition.subject.tx_hash is None
    }
    column = transitions.c
    query = select(transitions).where(
        column.opening_id.in_(opened), column.transition_id.not_in(opened)
    )
    rows = connection.execute(query.order_by(column.at)).mappings() if opened else ()
    later = {row[column.opening_id]: transition_of(row) for row in rows}
    ends = {key: each for key, each in later.items() if not each.after.is_open}
    for each in changes:
        if each.transition.after is State.UNKNOWN:
            after = _next(connection, each.transition)
            ends |= {} if after is None else {each.transition.transition_id: after}
    return [replace(each, ended=ends.get(each.transition.transition_id)) for each in changes]


def _next(connection: Connection, transition: Transition) -> Transition | None:
    """Return the change of the same subject that followed a change."""
    column = transitions.c
    entry = select(outbox.c.outbox_id).where(outbox.c.transition_id == transition.transition_id)
    query = (
        select(transitions)
        .join(outbox, outbox.c.transition_id == column.transition_id)
        .where(column.subject == transition.subject.key())
        .where(outbox.c.outbox_id > entry.scalar_subquery())
        .order_by(outbox.c.outbox_id)
        .limit(1)
    )
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else transition_of(row)


def _previous(connection: Connection, transition: Transition) -> StoredRejection | None:
    """Return the rejection behind the last transition of the same subject before this one."""
    column = transitions.c
    entry = outbox.c.outbox_id
    own = select(entry).where(outbox.c.transition_id == transition.transition_id).scalar_subquery()
    query = (
        select(rejections)
        .join(transitions, column.rejection_id == rejections.c.rejection_id)
        .join(outbox, outbox.c.transition_id == column.transition_id)
        .where(column.subject == transition.subject.key(), entry < own)
        .order_by(entry.desc())
        .limit(1)
    )
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else stored_rejection(row)
