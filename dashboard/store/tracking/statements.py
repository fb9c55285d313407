"""What exclusion endpoints say of transactions, and how each endpoint answers.

A row is written only if it says something: an endpoint gave a status, or one of several reported a
rejection. So nulls cost nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, select

from dashboard.domain.health.observation import (
    AnswerShape,
    ExclusionAnswer,
    ExclusionAnswers,
    Failure,
    FailureKind,
    not_null,
)
from dashboard.domain.quantity import NetworkId, TxHash, TxHashes
from dashboard.domain.rejections.exclusion import StatusClaim
from dashboard.domain.tracking.statements import Said, Statement
from dashboard.store.engine.batching import grouped, rows_among
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import endpoint_statements, exclusion_endpoints
from dashboard.store.schema.columns import columns_of, read_as

_LOWEST: Final = TxHash(bytes(TxHash.LENGTH))
_HASH: Final = endpoint_statements.c.tx_hash
_ANY: Final = select(_HASH).where(_HASH >= _LOWEST).limit(1)  # by its index
_SAID_AGAIN_EVERY: Final = timedelta(hours=1)
"""The same statement updates `last_said_at` at most this often."""


def record_statements(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    answers: Sequence[ExclusionAnswer],
) -> None:
    """Record what endpoints said, if it is new or an hour old; and how they answered."""
    nulls = answers if isinstance(answers, ExclusionAnswers) else ExclusionAnswers(())
    others = list(not_null(answers))
    own = {each.tx_hash for each in others}
    asked = TxHashes.of([[*own], nulls.hashes])  # one by one, they would cost more than all else
    held = {
        tx_hash: {each.endpoint: each for each in known}
        for (tx_hash, on), known in statements_among(connection, asked).items()
        if on == network_id
    }
    others += map(nulls.null, held.keys() - own)  # a null matters where something was said before
    said = _each_said(others)
    any_null = [nulls.null(_LOWEST)] if len(nulls) > len(nulls.not_null) else []
    _note_endpoints(connection, network_id, asked_at, [*said, *_each_said(any_null)])
    answered = [each for each in said if each.failure is None]
    told = {each.tx_hash for each in answered if _tells(each)}
    rows = {}
    for each in answered:
        known = held.get(each.tx_hash, {})
        if not known and each.tx_hash not in told:
            continue
        new, before = Statement.of(each, asked_at), known.get(each.endpoint)
        if before is not None and (before.said, before.claim) == (new.said, new.claim):
            if asked_at - before.last_said_at < _SAID_AGAIN_EVERY:
                continue
            new = replace(new, said_at=before.said_at)
        rows[each.tx_hash, each.endpoint] = _row(network_id, each.tx_hash, new)
    upsert(connection, endpoint_statements, [*rows.values()])


def _each_said(answers: Iterable[ExclusionAnswer]) -> list[ExclusionAnswer]:
    return [each for answer in answers for each in (answer, *answer.beside)]


def _is_empty(connection: Connection) -> bool:
    """Whether no endpoint said anything, the usual case."""
    return connection.execute(_ANY).first() is None


def _tells(answer: ExclusionAnswer) -> bool:
    return answer.claim is not None or (answer.record is not None and answer.endpoint != "")


def statements_among(
    connection: Connection, hashes: Sequence[TxHash]
) -> Mapping[tuple[TxHash, NetworkId], tuple[Statement, ...]]:
    """Return what is known of each hash on each network, the endpoints by name."""
    column = endpoint_statements.c
    found: defaultdict[tuple[TxHash, NetworkId], tuple[Statement, ...]] = defaultdict(tuple)
    query = select(endpoint_statements).order_by(column.endpoint)
    asked = () if _is_empty(connection) else hashes
    for row in rows_among(connection, query, column.tx_hash, asked):
        found[row.tx_hash, row.network_id] += (_statement(row),)
    return found


def _statement(row: Any) -> Statement:  # noqa: ANN401 - a row of the table
    claim = None
    if row.said == Said.STATUS:
        claim = read_as(StatusClaim, row, endpoint_statements)
    return read_as(Statement, row, endpoint_statements, claim=claim)


def _row(network_id: NetworkId, tx_hash: TxHash, statement: Statement) -> dict[str, Any]:
    claim = columns_of(endpoint_statements, statement.claim or StatusClaim(""))
    place = {"tx_hash": tx_hash, "network_id": network_id}
    return claim | columns_of(endpoint_statements, statement, **place)


class EndpointState(Struct, frozen=True):
    """How an exclusion endpoint answers: in which shape, if known, and since when not at all."""

    shape: AnswerShape | None = None
    answered_at: datetime | None = None
    failing_since: datetime | None = None
    failure: Failure | None = None


def endpoint_states(connection: Connection) -> Mapping[tuple[NetworkId, str], EndpointState]:
    """Return what is known of each endpoint, by network and name; of a single one its shape."""
    return {
        (row.network_id, row.endpoint): read_as(
            EndpointState,
            row,
            exclusion_endpoints,
            failure=None
            if row.failure_kind is None
            else Failure(FailureKind(row.failure_kind), row.failure_message),
        )
        for row in connection.execute(select(exclusion_endpoints))
    }


def _note_endpoints(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    said: Iterable[ExclusionAnswer],
) -> None:
    """Record how each endpoint answered; `last_answers` has that of a single one."""
    for endpoint, own in grouped((each.endpoint, each) for each in said).items():
        row: dict[str, Any] = {}
        if shapes := [each.shape for each in own if each.shape is not None]:
            row["shape"] = shapes[-1].value
        failures = [each.failure for each in own if each.failure is not None]
        if endpoint and len(failures) < len(own):
            row |= {"answered_at": asked_at, "failing_since": None}
            row |= {"failure_kind": None, "failure_message": None}
        elif endpoint:
            row |= {"failing_since": asked_at, "failure_kind": failures[0].kind.value}
            row["failure_message"] = failures[0].message
        if row:
            keep = frozenset({"failing_since"} if failures and "answered_at" not in row else ())
            row |= {"network_id": network_id, "endpoint": endpoint}
            upsert(connection, exclusion_endpoints, [row], keep)
