"""The methods of the RPC, by their full names; subscriptions over a WebSocket among them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from anyio import to_thread
from msgspec.structs import replace

from dashboard.domain.people.access import ApiKey
from dashboard.errors import WireError
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.documents.openapi import DISCOVER, openrpc_document
from dashboard.serve.rpc.dispatch import AnyMethod, AsyncMethod, CallResult, SessionMethod
from dashboard.serve.rpc.exclusion_status import StatusReader
from dashboard.serve.rpc.rejection_queries import (
    COUNT,
    LIST,
    VERSIONS,
    RejectionQueries,
    decode_place,
)
from dashboard.serve.rpc.reports import ReportSaver
from dashboard.serve.subscriptions import Session, Subscription
from dashboard.store.engine.engine import installation_id
from dashboard.store.rejections.archive import last_rejection_id
from dashboard.wire.exclusion import method_name
from dashboard.wire.jsonrpc import RpcError
from dashboard.wire.params import GET_STATUS, SAVE_REJECTED, named_arguments
from dashboard.wire.rejection_query import SubscribeQuery, decode_subscribe, decode_unsubscribe


def served_methods(
    dependencies: ServeDependencies, status_reader: StatusReader
) -> Mapping[str, AnyMethod]:
    """Return the exclusion methods under every prefix, and our own."""
    methods: dict[str, AnyMethod] = {
        **exclusion_methods(dependencies, status_reader),
        **RejectionQueries(dependencies).methods(),
        **SubscribeMethods(dependencies).methods(),
    }
    return {**methods, DISCOVER: AsyncMethod(_Discovery(document_of(dependencies)))}


def document_of(dependencies: ServeDependencies) -> bytes:
    exclusion = (
        method_name(prefix, name)
        for prefix in dependencies.method_prefixes
        for name in (GET_STATUS, SAVE_REJECTED)
    )
    return openrpc_document([*exclusion, LIST, VERSIONS, COUNT, SUBSCRIBE, UNSUBSCRIBE, DISCOVER])


class _Discovery:
    def __init__(self, document: bytes) -> None:
        self._document = document

    async def __call__(self, calls: Sequence[Any], _caller: ApiKey) -> list[CallResult]:
        return [self._answer(params) for params in calls]

    def _answer(self, params: object) -> CallResult:
        try:
            named_arguments(params, ())
        except WireError as error:
            return RpcError.invalid_params(str(error))
        return self._document


def exclusion_methods(
    dependencies: ServeDependencies, status_reader: StatusReader
) -> Mapping[str, AnyMethod]:
    get = AsyncMethod(status_reader.statuses)
    save = AsyncMethod(ReportSaver(dependencies).save)
    return {
        method_name(prefix, name): method
        for prefix in dependencies.method_prefixes
        for name, method in ((GET_STATUS, get), (SAVE_REJECTED, save))
    }


SUBSCRIBE: Final = "linewatch_subscribe"
UNSUBSCRIBE: Final = "linewatch_unsubscribe"

_TOO_MANY: Final = -32005
"""The code of EIP-1474 for an exceeded limit."""


class SubscribeMethods:
    """Holds the subscriptions of each session while it lasts."""

    def __init__(self, dependencies: ServeDependencies) -> None:
        self._dependencies = dependencies
        self._subscriptions_of: dict[Session, dict[str, Subscription]] = {}

    def methods(self) -> Mapping[str, SessionMethod]:
        return {
            SUBSCRIBE: SessionMethod(self.subscribe),
            UNSUBSCRIBE: SessionMethod(self.unsubscribe),
        }

    async def subscribe(self, params: object, session: Session) -> CallResult:
        """Answer with the id of a new subscription; its first push comes after that answer."""
        try:
            query = decode_subscribe(params)
            own = self._of_session(session)
            largest = self._dependencies.limits.largest_subscriptions
            if len(own) >= largest:
                return RpcError(_TOO_MANY, f"a connection may hold {largest} subscriptions")
            subscription_id = f"0x{secrets.token_hex(16)}"
            subscription = await to_thread.run_sync(self._begin, subscription_id, query, session)
        except WireError as error:
            return RpcError.invalid_params(str(error))
        own[subscription_id] = subscription
        self._dependencies.counters.subscriptions += 1
        session.when_answered(partial(self._start, subscription, session))
        return f'"{subscription_id}"'.encode()

    async def unsubscribe(self, params: object, session: Session) -> CallResult:
        """Answer whether that subscription existed; what is queued is still pushed."""
        try:
            subscription_id = decode_unsubscribe(params)
        except WireError as error:
            return RpcError.invalid_params(str(error))
        return b"true" if self._end(subscription_id, session) else b"false"

    def _begin(self, subscription_id: str, query: SubscribeQuery, session: Session) -> Subscription:
        networks = frozenset(self._dependencies.networks_of(session.caller))
        with self._dependencies.store.read() as connection:
            since = query.since
            place = (
                last_rejection_id(connection) if since is None else decode_place(connection, since)
            )
            installation = installation_id(connection)
        wanted = replace(query.wanted, network_ids=networks)
        counters = self._dependencies.counters
        return Subscription(subscription_id, wanted, session, place, installation, counters)

    def _start(self, subscription: Subscription, session: Session) -> None:
        if subscription.subscription_id in self._subscriptions_of.get(session, ()):
            self._dependencies.feed.join(subscription)

    def _end(self, subscription_id: str, session: Session) -> bool:
        subscription = self._subscriptions_of.get(session, {}).pop(subscription_id, None)
        if subscription is None:
            return False
        self._dependencies.counters.subscriptions -= 1
        self._dependencies.feed.leave(subscription)
        return True

    def _of_session(self, session: Session) -> dict[str, Subscription]:
        if session not in self._subscriptions_of:
            self._subscriptions_of[session] = {}
            session.on_close(partial(self._end_all, session))
        return self._subscriptions_of[session]

    def _end_all(self, session: Session) -> None:
        for subscription_id in tuple(self._of_session(session)):
            self._end(subscription_id, session)
        del self._subscriptions_of[session]
