"""Queries of stored rejections: pages, every version of a hash, and counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from anyio import CapacityLimiter

from dashboard.domain.people.access import ApiKey
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.errors import WireError
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.rpc.dispatch import LARGEST_ANSWER, CallResult, ThreadMethod
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import installation_id
from dashboard.store.rejections.archive import (
    PageRequest,
    archive_page,
    archived_versions,
    last_rejection_id,
)
from dashboard.store.rejections.counts import Grouping, count_by
from dashboard.wire.decoding import format_timestamp
from dashboard.wire.jsonrpc import RpcError
from dashboard.wire.rejection_query import (
    LARGEST_PAGE,
    Order,
    decode_count,
    decode_cursor,
    decode_list,
    decode_versions,
    encode_counts,
    encode_cursor,
    encode_page,
    encode_rejection,
    encode_versions,
    within_bounds,
)

LIST: Final = "linewatch_listRejectionsV1"
VERSIONS: Final = "linewatch_getRejectionVersionsV1"
COUNT: Final = "linewatch_countRejectionsV1"

_READERS: Final = 2
"""Threads for these queries: one may read a million rows, and look-ups come first."""

_LONGEST: Final = timedelta(seconds=5)
"""How long one batch may occupy a thread that other callers wait for."""

Networks: TypeAlias = frozenset[NetworkId]
QueryAnswer: TypeAlias = Callable[[Connection, object, Networks], bytes]
Reading: TypeAlias = Callable[[], AbstractContextManager[Connection]]


class RejectionQueries:
    """Answers from all stored rejections, on the networks that a caller's key may read."""

    def __init__(
        self, dependencies: ServeDependencies, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        """Answer from the store of `dependencies`; `seconds` is a monotonic clock."""
        self._dependencies = dependencies
        self._seconds = seconds

    def methods(self) -> Mapping[str, ThreadMethod]:
        store, limiter = self._dependencies.store, CapacityLimiter(_READERS)
        answering: dict[str, tuple[QueryAnswer, Reading]] = {
            LIST: (_list, store.read),  # a replica may not know yet what a cursor names
            VERSIONS: (_versions, store.read),
            COUNT: (_count, store.read_recent),
        }
        return {
            name: ThreadMethod(self._batched(*each), limiter) for name, each in answering.items()
        }

    def _batched(
        self, answer: QueryAnswer, reading: Reading
    ) -> Callable[[Sequence[Any], ApiKey], Sequence[CallResult]]:
        def run(calls: Sequence[Any], caller: ApiKey) -> Sequence[CallResult]:
            networks = frozenset(self._dependencies.networks_of(caller))
            end = self._seconds() + _LONGEST.total_seconds()
            outcomes: list[CallResult] = []
            size = 0
            with reading() as connection:
                for params in calls:
                    if size > LARGEST_ANSWER:
                        outcomes.append(RpcError.answer_too_large())
                        continue
                    if self._seconds() > end:
                        outcomes.append(RpcError.batch_too_slow())
                        continue
                    try:
                        found = answer(connection, params, networks)
                    except WireError as error:
                        outcomes.append(RpcError.invalid_params(str(error)))
                    else:
                        size += len(found)
                        outcomes.append(found)
            return outcomes

        return run


def decode_place(connection: Connection, cursor: object) -> int:
    """Decode a cursor; WireError for one that lies after everything stored."""
    try:
        place = decode_cursor(cursor, installation_id(connection))
    except WireError as error:
        raise WireError(f"cursor: {error}") from error
    if place > last_rejection_id(connection):
        raise WireError(
            f"cursor: {cursor} is beyond the newest rejection that is stored, as after a restored "
            "backup: begin without a cursor"
        )
    return place


def _list(connection: Connection, params: object, networks: Networks) -> bytes:
    query = decode_list(params)
    after = None if query.cursor is None else decode_place(connection, query.cursor)
    is_newest_first = query.order is Order.NEWEST_FIRST
    part = PageRequest(query.limit + 1, after, is_newest_first)
    found = archive_page(connection, query.wanted, networks, part)
    installation = installation_id(connection)
    items = within_bounds(encode_rejection(each, installation) for each in found[: query.limit])
    has_more = len(items) < len(found)
    if has_more:
        cursor = encode_cursor(found[len(items) - 1].rejection.rejection_id, installation)
    elif is_newest_first:
        cursor = None
    else:  # what arrives later comes after everything stored now
        cursor = encode_cursor(last_rejection_id(connection), installation)
    return encode_page(items, cursor, has_more=has_more)


def _versions(connection: Connection, params: object, networks: Networks) -> bytes:
    tx_hash = decode_versions(params)
    found = archived_versions(connection, tx_hash, networks, LARGEST_PAGE + 1)
    installation = installation_id(connection)
    items = within_bounds(encode_rejection(each, installation) for each in found[:LARGEST_PAGE])
    return encode_versions(items, has_more=len(items) < len(found))


def _count(connection: Connection, params: object, networks: Networks) -> bytes:
    query = decode_count(params, Grouping)
    grouping = Grouping(query.by)
    counts = count_by(connection, grouping, query.wanted, networks, query.limit)
    groups = ((_key(grouping, group.key), group.count) for group in counts.groups)
    return encode_counts(groups, counts.of, counts.total)


def _key(grouping: Grouping, key: Any) -> str | None:  # noqa: ANN401 - a value of the domain
    """Return the key of a group in its wire form."""
    if key in {None, RejectionStage.UNKNOWN}:
        return None
    if grouping is Grouping.NETWORK:
        return hex(key)
    return format_timestamp(key) if isinstance(key, datetime) else str(key)
