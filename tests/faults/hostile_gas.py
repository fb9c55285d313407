"""Gas APIs under hostile questions, and under fees that jump and blocks that are replaced."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from anyio.from_thread import start_blocking_portal

from tests.anvil import Anvil, Snapshot, running_anvil
from tests.builders import GWEI
from tests.conformance.error_log import watching
from tests.conformance.running_apis import KEY, NETWORK, apis
from tests.faults.rows import Play, Row
from tests.integration.reference_gas import Mirror, gas_operations
from tests.integration.running_server import SECRET
from tests.integration.served_gas import api_over
from tests.processes import finished

_EXAMPLES: Final = 20
_CASES: Final = 300
"""What it makes at least of so many examples for each of its operations."""
_WITH_OUR_KEY: Final = f'[parameters]\n"path.api_key" = "{KEY}"\n'
_NOT_ASKED: Final = (
    "positive_data_acceptance",  # a chain id may be right in form and yet be served by nobody
    "negative_data_rejection",  # it takes our key for the odd ones that it meant to send
)


@contextmanager
def _asking(folder: Path) -> Iterator[Play]:
    configuration = folder / "schemathesis.toml"
    configuration.write_text(_WITH_OUR_KEY, encoding="utf-8")
    with watching() as watch, apis(folder) as served:

        def play(chance: Random) -> None:
            done = finished(
                [
                    *(sys.executable, "-m", "schemathesis.cli", "--config-file", configuration),
                    *("--no-color", "run", f"http://{served.address}/openapi.json"),
                    *("--max-examples", str(_EXAMPLES), "--seed", str(chance.randrange(2**31))),
                    *("--exclude-checks", ",".join(_NOT_ASKED), "--auth", f"{KEY}:{SECRET}"),
                ],
                cwd=folder,
            )
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-1000:]
            assert served.gas(f"{NETWORK}/busyThreshold").status_code == 200
            watch.check()

        yield play
    watch.check()


HOSTILE_GAS_QUESTIONS = Row(
    name="hostile-gas-questions",
    promise=(
        "schemathesis sends the gas API valid and invalid requests: no status 5xx, every answer "
        "as its OpenAPI document says, no error in the log"
    ),
    short=_CASES,
    full=6_000,
    stage=_asking,
    cases_per_play=_CASES,
)


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
        "all four gas operations equal a separate computation to the last wei"
    ),
    short=4,
    full=1_000,
    stage=_storm,
)
