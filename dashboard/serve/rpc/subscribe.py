"""Subscribing to new rejections over a WebSocket, and ending that again."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from anyio import to_thread

from dashboard.errors import WireError
from dashboard.serve.dependencies import ServeServices
from dashboard.serve.rpc.dispatch import Outcome, SessionMethod
from dashboard.serve.rpc.rejection_queries import place_of
from dashboard.serve.subscriptions.subscription import Session, Subscription
from dashboard.store.engine.engine import installation_id
from dashboard.store.rejections.archive import last_rejection_id
from dashboard.wire.jsonrpc_errors import RpcFault
from dashboard.wire.rejection_query import (
    SubscribeQuestion,
    decode_subscribe,
    decode_unsubscribe,
)

SUBSCRIBE: Final = "linewatch_subscribe"
UNSUBSCRIBE: Final = "linewatch_unsubscribe"

_TOO_MANY: Final = -32005
"""The code of EIP-1474 for a limit that was exceeded."""


class Subscriptions:
    """Gives sessions what they subscribed to, while they last."""

    def __init__(self, services: ServeServices) -> None:
        """Tell news from the feed of `services`."""
        self._services = services
        self._of: dict[Session, dict[str, Subscription]] = {}

    def methods(self) -> Mapping[str, SessionMethod]:
        """Return both methods by their full names."""
        return {
            SUBSCRIBE: SessionMethod(self.subscribe),
            UNSUBSCRIBE: SessionMethod(self.unsubscribe),
        }

    async def subscribe(self, params: object, session: Session) -> Outcome:
        """Answer the id of a new subscription; its first push comes after that answer."""
        try:
            question = decode_subscribe(params)
            held = self._held_by(session)
            most = self._services.limits.subscriptions
            if len(held) >= most:
                return RpcFault(_TOO_MANY, f"a connection may hold {most} subscriptions")
            subscription_id = f"0x{secrets.token_hex(16)}"
            subscription = await to_thread.run_sync(self._begin, subscription_id, question, session)
        except WireError as error:
            return RpcFault.invalid_params(str(error))
        held[subscription_id] = subscription
        self._services.counters.subscriptions += 1
        session.when_answered(partial(self._start, subscription, session))
        return f'"{subscription_id}"'.encode()

    async def unsubscribe(self, params: object, session: Session) -> Outcome:
        """Answer whether there was such a subscription; only what is queued is still pushed."""
        try:
            subscription_id = decode_unsubscribe(params)
        except WireError as error:
            return RpcFault.invalid_params(str(error))
        return b"true" if self._end(subscription_id, session) else b"false"

    def _begin(
        self, subscription_id: str, question: SubscribeQuestion, session: Session
    ) -> Subscription:
        networks = frozenset(self._services.networks_of(session.caller))
        with self._services.store.read() as connection:
            since = question.since
            place = last_rejection_id(connection) if since is None else place_of(connection, since)
            installation = installation_id(connection)
        wanted = replace(question.wanted, network_ids=networks)
        counters = self._services.counters
        return Subscription(subscription_id, wanted, session, place, installation, counters)

    def _start(self, subscription: Subscription, session: Session) -> None:
        if subscription.subscription_id in self._of.get(session, ()):
            self._services.feed.join(subscription)

    def _end(self, subscription_id: str, session: Session) -> bool:
        subscription = self._of.get(session, {}).pop(subscription_id, None)
        if subscription is None:
            return False
        self._services.counters.subscriptions -= 1
        self._services.feed.leave(subscription)
        return True

    def _held_by(self, session: Session) -> dict[str, Subscription]:
        if session not in self._of:
            self._of[session] = {}
            session.on_close(partial(self._end_all, session))
        return self._of[session]

    def _end_all(self, session: Session) -> None:
        for subscription_id in tuple(self._held_by(session)):
            self._end(subscription_id, session)
        del self._of[session]
