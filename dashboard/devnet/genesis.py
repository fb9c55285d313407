"""The stored genesis, written once when a devnet begins, and the simulated networks."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from dashboard.domain.quantity import WEI_PER_GWEI, Clock, NetworkId, Wei
from dashboard.errors import InputError, RoleError
from dashboard.store.engine.disk import put_file

DEVNET_ID: Final = NetworkId(424242)
BLOCK_SECONDS: Final = 2
BLOCKS_AT_FIRST_START: Final = 20_000
"""As many blocks as the busy threshold needs, so that its window is full from the start."""

_FILE: Final = "genesis.json"


class Genesis(Struct, frozen=True):
    """What a devnet is computed from; `timestamp` is in Unix seconds."""

    seed: int
    timestamp: int


class _Stored(msgspec.Struct):
    network_id: int
    seed: int
    timestamp: int


def open_genesis(folder: Path, seed: int, clock: Clock) -> Genesis:
    """Return the genesis stored in `folder`; a new folder gets one 20,000 blocks before now.

    InputError if the folder belongs to another seed, RoleError if it cannot be used.
    """
    path = folder / _FILE
    try:
        if not path.exists():
            begin = int(clock().timestamp()) - BLOCKS_AT_FIRST_START * BLOCK_SECONDS
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            content = msgspec.json.encode(_Stored(DEVNET_ID, seed, begin))
            put_file(path, content + b"\n", path.with_suffix(".draft"))
        stored = msgspec.json.decode(path.read_bytes(), type=_Stored)
    except OSError as error:
        raise RoleError(f"devnet cannot keep its genesis in {folder}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise RoleError(
            f"{path} is damaged ({error}): remove {folder} to begin a new devnet"
        ) from error
    if stored.seed != seed:
        raise InputError(
            f"the devnet in {folder} was begun with the seed {stored.seed}, not {seed}: "
            f"set devnet.seed to {stored.seed}, or remove that folder to begin another"
        )
    return Genesis(seed=stored.seed, timestamp=stored.timestamp)


class SimulatedNetwork(Struct, frozen=True):
    """How the fees of a simulated network follow demand; shares are thousandths of demand.

    Its share of demand is added to `base_fee`. `has_outages`: sometimes polls did not run for
    hours.
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
"""All simulated networks; only the first, the devnet, has a running chain."""
