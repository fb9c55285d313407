"""What every page's questions are answered from."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.domain.clock import Clock
from dashboard.domain.quantity import NetworkId
from dashboard.show.networks import NetworkCard
from dashboard.store.engine import Store


@dataclass(frozen=True, slots=True)
class Source:
    """The store, the networks of this installation, and the clock; shared by all sessions."""

    store: Store
    networks: tuple[NetworkCard, ...]
    now: Clock

    def network_name(self, network_id: NetworkId) -> str:
        """Return the name of a network; one that left the configuration is told by its id."""
        names = {card.network_id: card.name for card in self.networks}
        return names.get(network_id, f"Network {network_id}")
