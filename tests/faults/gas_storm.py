"""A chain lives through jumps of its fees and reorganisations; its served numbers stay right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from anyio.from_thread import start_blocking_portal

from tests.anvil import Anvil, Snapshot, running_anvil
from tests.faults.rows import Play, Row
from tests.integration.reference_gas import GWEI, Mirror, gas_operations
from tests.integration.served_gas import api_over

_WINDOW = 1_500
_FIRST_BLOCKS = 1_800
_SNAPSHOTS_KEPT = 6
_BLOCK_OF_FOUR = ("--gas-limit", "84000")


class ChangingFees:
    """What happens to a chain: quiet, traffic, jumps of the base fee, replaced blocks."""

    def __init__(self, node: Anvil) -> None:
        self._node = node
        self._snapshots: list[Snapshot] = []

    def change(self, chance: Random) -> None:
        """Let one thing happen, or a reorganisation and then another."""
        if self._snapshots and chance.random() < 0.35:
            place = chance.randrange(len(self._snapshots))
            self._node.revert(self._snapshots[place])
            del self._snapshots[place:]
        if chance.random() < 0.5:
            self._snapshots.append(self._node.snapshot())
            del self._snapshots[:-_SNAPSHOTS_KEPT]
        if chance.random() < 0.15:
            self._node.mine(chance.randrange(1, 120))
        for _ in range(chance.randrange(1, 8)):
            if chance.random() < 0.2:
                jump = chance.randrange(1, 3_000 * GWEI)
                self._node.ask("anvil_setNextBlockBaseFeePerGas", hex(jump))
            for _ in range(chance.randrange(5)):
                self._node.send(chance.randrange(1, 9 * GWEI), 10_000 * GWEI)
            self._node.mine()


@contextmanager
def _storm(folder: Path) -> Iterator[Play]:
    """Serve the fees of a chain, and compare all four operations after each change."""
    with running_anvil(*_BLOCK_OF_FOUR) as node, start_blocking_portal() as portal:
        node.mine(_FIRST_BLOCKS)
        weather, mirror = ChangingFees(node), Mirror(node)
        with portal.wrap_async_context_manager(api_over(node, folder, _WINDOW)) as api:

            def play(chance: Random) -> None:
                weather.change(chance)
                expected = gas_operations(mirror.read(), _WINDOW)
                assert portal.call(api.answers) == expected

            yield play


GAS_STORM = Row(
    name="gas-storm",
    promise=(
        "fees jump and blocks are replaced on a chain of thousands of blocks: after each change "
        "all four gas operations agree to the last wei with a separate computation"
    ),
    short=20,
    full=1_000,
    stage=_storm,
)
