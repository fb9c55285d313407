"""S10: gas operations, beside the same server's hello world; how often the node is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

import httpx

from tests.bench.load_generator import Load, Volley
from tests.bench.messages import get, split_http
from tests.bench.mined_chain import FIRST_HEAD, gas_answers
from tests.bench.peers.hello import CONSTANT
from tests.bench.processes import Server, cores
from tests.bench.reply_checks import Truth
from tests.bench.rounds import Contender, Round, ratio, take_turns
from tests.bench.setup import GAS, Scene
from tests.bench.table import SPEED_HEADS, Promise, Result, remarks, speed_lines
from tests.waiting import eventually

CONNECTIONS: Final = 32
CROWD: Final = 1_000
BLOCKS: Final = 5
OPERATIONS: Final = ("suggestedGasFees", "baseFeeHistory", "baseFeePercentile", "busyThreshold")
VOLLEYS: Final = [Volley(get(f"{GAS}/{name}"), number, 1) for number, name in enumerate(OPERATIONS)]


def run(scene: Scene) -> Result:
    """Measure the four operations in turn, then count the node's requests while it mines."""
    with scene.peer("node", "node", cores()[1]) as node:
        followed = f'node = {{ url = "http://127.0.0.1:{node.port}" }}\n'
        results = _measure(scene, followed)
        with scene.ours(followed) as server, _asking(node) as asking:
            _caught_up(server, FIRST_HEAD)
            asked = {clients: _requests(server, asking, clients) for clients in (1, CROWD)}
    hello = ratio(results, "linewatch serve", "hello world").middle
    return Result(
        title=f"S10: gas operations, {CONNECTIONS} connections",
        promises=[
            Promise("S10", "gas operations: × the same server's hello world", 0.8, hello, "×"),
            Promise(
                "S10",
                f"requests to the node for the fees of a block, {CROWD:,} clients",
                1,
                asked[CROWD] / BLOCKS,
                is_floor=False,
            ),
        ],
        heads=SPEED_HEADS,
        lines=speed_lines(results),
        remarks=[*remarks(results), _in_words(asked)],
    )


def _in_words(asked: Mapping[int, int]) -> str:
    return (
        f"While {BLOCKS} blocks came, the node was asked for fees {asked[1]} times with one "
        f"client and {asked[CROWD]} times with {CROWD:,}, and for its newest block once a second."
    )


def _measure(scene: Scene, followed: str) -> Mapping[str, list[Round]]:
    with ExitStack() as stack:

        def contender(server: Server, truth: Truth) -> Contender:
            load = Load(server.port, VOLLEYS, CONNECTIONS, split_http)
            return Contender(server.name, server, load, truth.judge)

        ours = stack.enter_context(scene.ours(followed))
        truth = Truth(_caught_up(ours, FIRST_HEAD))
        hello = stack.enter_context(scene.hello(followed))
        contenders = [contender(ours, truth), contender(hello, Truth([CONSTANT] * 4))]
        return take_turns(contenders, scene.rounds, scene.seconds)


def _caught_up(server: Server, head: int) -> list[bytes]:
    """Wait until the server tells what the chain up to `head` says; return the four answers.

    Suggestions are taken as they are once the rest is right; every later one must be the same.
    """
    wanted = gas_answers(head)
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}{GAS}") as client:

        def is_right(name: str) -> bool:
            return client.get(f"/{name}").content == wanted[name]

        eventually(lambda: all(map(is_right, wanted)), what=f"the fees of block {head}")
        return [client.get("/suggestedGasFees").content, *wanted.values()]


@contextmanager
def _asking(node: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{node.port}") as client:
        yield client


def _requests(server: Server, node: httpx.Client, clients: int) -> int:
    """Count how often the node is asked for fees while it mines and so many clients ask us."""
    load = Load(server.port, VOLLEYS, clients, split_http)
    before = node.get("/count").json()["eth_feeHistory"]
    for _ in range(BLOCKS):
        node.post("/mine")
        load.run(0.5)
        head = node.get("/count").json()["head"]
        _caught_up(server, head)
    after = node.get("/count").json()
    return int(after["eth_feeHistory"] - before)
