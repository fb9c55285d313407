"""The simulated networks: the devnet, and two more that have a demo history only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dashboard.devnet.chain import DEVNET_ID
from dashboard.domain.quantity import WEI_PER_GWEI, NetworkId, Wei


@dataclass(frozen=True, slots=True)
class SimulatedNetwork:
    """How the fees of a simulated network follow demand; shares are in thousandths of it.

    Demand is added to `base_fee`. `has_outages`: now and then polls did not run for hours.
    """

    network_id: NetworkId
    title: str
    base_fee: Wei
    base_fee_share: int
    priority_fee_share: int
    has_outages: bool = False

    @property
    def has_flat_fee(self) -> bool:
        """Whether its base fee is constant, so that only priority fees show how busy it is."""
        return not self.base_fee_share


DEVNET: Final = SimulatedNetwork(DEVNET_ID, "devnet", Wei(0), 1000, 100)
CALM: Final = SimulatedNetwork(
    NetworkId(424243), "devnet calm", Wei(WEI_PER_GWEI), 20, 10, has_outages=True
)
FLAT: Final = SimulatedNetwork(NetworkId(424244), "devnet flat fee", Wei(7), 0, 20)

SIMULATED: Final = (DEVNET, CALM, FLAT)
"""All of them, the devnet first: the only one whose chain runs."""
