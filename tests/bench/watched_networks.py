"""What a worker sees of twelve networks under a benchmark of pages."""

from __future__ import annotations

import secrets
from datetime import datetime

from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.quantity import Wei
from dashboard.store.engine.engine import Store
from dashboard.store.fees.save import save_gas
from tests.bench.pages_store import TWELVE
from tests.bench.peers.writer import write_once
from tests.builders import GWEI, suggested_gas_fees


def watch_once(store: Store, now: datetime) -> None:
    """Keep what one period brings: the fees of each network, and a rejection."""
    with store.write() as connection:
        for each in TWELVE:
            fee = Wei(10 * GWEI + secrets.randbelow(GWEI))
            fees = suggested_gas_fees(estimated_base_fee=fee)
            save_gas(connection, GasObservation(each.network_id, now, fees))
    write_once(store, 1, now)
