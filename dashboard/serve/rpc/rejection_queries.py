"""Our own questions about rejections: pages of them, every version of a hash, and counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from anyio import CapacityLimiter

from dashboard.domain.quantity import NetworkId
from dashboard.errors import WireError
from dashboard.serve.dependencies import ServeServices
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.rpc.dispatch import LARGEST_ANSWER, Method, Outcome
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import installation_id
from dashboard.store.rejections.archive import (
    PageRequest,
    archive_page,
    archived_versions,
    last_rejection_id,
)
from dashboard.store.rejections.counts import Grouping, count_by
from dashboard.wire.cursor import decode_cursor, encode_cursor
from dashboard.wire.jsonrpc_errors import RpcFault
from dashboard.wire.rejection_query import (
    LARGEST_PAGE,
    Order,
    decode_count,
    decode_list,
    decode_versions,
)
from dashboard.wire.rejection_results import (
    encode_counts,
    encode_page,
    encode_rejection,
    encode_versions,
    within_bounds,
)
from dashboard.wire.timestamp import format_timestamp

LIST: Final = "linewatch_listRejectionsV1"
VERSIONS: Final = "linewatch_getRejectionVersionsV1"
COUNT: Final = "linewatch_countRejectionsV1"

_READERS: Final = 2
"""Threads for these questions: one may read a million rows, and lookups come first."""

_LONGEST: Final = timedelta(seconds=5)
"""For so long one batch may keep a thread from the questions of others."""

Networks: TypeAlias = frozenset[NetworkId]
Answering: TypeAlias = Callable[[Connection, object, Networks], bytes]


class Archive:
    """Answers from everything that was ever stored, on the networks that a caller's key opens."""

    def __init__(
        self, services: ServeServices, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        """Answer from the store of `services`; `seconds` only go on."""
        self._services = services
        self._seconds = seconds

    def methods(self) -> Mapping[str, Method]:
        """Return the methods by their full names."""
        limiter = CapacityLimiter(_READERS)
        answering = {LIST: _listed, VERSIONS: _versions, COUNT: _counted}
        return {name: Method(self._answering(each), limiter) for name, each in answering.items()}

    def _answering(self, answer: Answering) -> Callable[[Sequence[Any], ApiKey], Sequence[Outcome]]:
        def run(calls: Sequence[Any], caller: ApiKey) -> Sequence[Outcome]:
            networks = frozenset(self._services.networks_of(caller))
            end = self._seconds() + _LONGEST.total_seconds()
            outcomes: list[Outcome] = []
            size = 0
            with self._services.store.read() as connection:
                for params in calls:
                    if size > LARGEST_ANSWER:
                        outcomes.append(RpcFault.answer_too_large())
                        continue
                    if self._seconds() > end:
                        outcomes.append(RpcFault.batch_too_slow())
                        continue
                    try:
                        found = answer(connection, params, networks)
                    except WireError as error:
                        outcomes.append(RpcFault.invalid_params(str(error)))
                    else:
                        size += len(found)
                        outcomes.append(found)
            return outcomes

        return run


def place_of(connection: Connection, cursor: object) -> int:
    """Read a cursor; WireError for one that lies ahead of all that is stored."""
    try:
        place = decode_cursor(cursor, installation_id(connection))
    except WireError as error:
        raise WireError(f"cursor: {error}") from error
    if place > last_rejection_id(connection):
        raise WireError(
            f"cursor: {cursor} lies ahead of all that is stored, as after a restored backup: "
            "begin without one"
        )
    return place


def _listed(connection: Connection, params: object, networks: Networks) -> bytes:
    question = decode_list(params)
    after = None if question.cursor is None else place_of(connection, question.cursor)
    is_newest_first = question.order is Order.NEWEST_FIRST
    part = PageRequest(question.limit + 1, after, is_newest_first)
    found = archive_page(connection, question.wanted, networks, part)
    installation = installation_id(connection)
    items = within_bounds(encode_rejection(each, installation) for each in found[: question.limit])
    has_more = len(items) < len(found)
    if has_more:
        cursor = encode_cursor(found[len(items) - 1].rejection.rejection_id, installation)
    elif is_newest_first:
        cursor = None
    else:  # nothing that fits can come before what is stored now
        cursor = encode_cursor(last_rejection_id(connection), installation)
    return encode_page(items, cursor, has_more=has_more)


def _versions(connection: Connection, params: object, networks: Networks) -> bytes:
    tx_hash = decode_versions(params)
    found = archived_versions(connection, tx_hash, networks, LARGEST_PAGE + 1)
    installation = installation_id(connection)
    items = within_bounds(encode_rejection(each, installation) for each in found[:LARGEST_PAGE])
    return encode_versions(items, has_more=len(items) < len(found))


def _counted(connection: Connection, params: object, networks: Networks) -> bytes:
    question = decode_count(params, Grouping)
    grouping = Grouping(question.by)
    counted = count_by(connection, grouping, question.wanted, networks, question.limit)
    groups = ((_key(grouping, group.key), group.count) for group in counted.groups)
    return encode_counts(groups, counted.of, counted.total)


def _key(grouping: Grouping, key: Any) -> str | None:  # noqa: ANN401 - a value of the domain
    """Write what a group has in common in its wire form."""
    if key is None:
        return None
    if grouping is Grouping.NETWORK:
        return hex(key)
    return format_timestamp(key) if isinstance(key, datetime) else str(key)
