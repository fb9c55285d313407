"""The live look-up of pages and commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from anyio.from_thread import start_blocking_portal

from dashboard.application.lookup import LookUp
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.poll.lookup import LiveLookup
from dashboard.settings import Settings
from dashboard.store.engine.engine import Store
from dashboard.wiring.clients import open_clients
from dashboard.wiring.clock import utc_now
from dashboard.wiring.networks import Network


@contextmanager
def live_lookup(
    settings: Settings, store: Store, networks: tuple[Network, ...]
) -> Iterator[LookUp | None]:
    """Yield the function that pages call, from any thread; None if no network can be asked."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            open_clients(settings, store=store, for_people=True)
        ) as clients,
    ):
        deadline = settings.pages.lookup_deadline
        found = {each.network_id: clients.exclusion(each) for each in networks}
        askers = {network_id: asker for network_id, asker in found.items() if asker is not None}
        nodes = {each.network_id: clients.inclusion(each) for each in networks}
        known = {network_id: node for network_id, node in nodes.items() if node is not None}
        question = LiveLookup(store, askers, utc_now, uuid4, known, clients.meters)

        def look_up(hashes: tuple[TxHash, ...], network_id: NetworkId | None) -> None:
            portal.call(question.ask, hashes, network_id, deadline)

        yield look_up if askers else None
