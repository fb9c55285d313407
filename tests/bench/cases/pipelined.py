"""S8: single lookups over WebSocket, many under way on each connection."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Final

from tests.bench.expected_replies import Questions, call, reply
from tests.bench.load_generator import Load, Volley
from tests.bench.messages import frame, split_frames, upgraded
from tests.bench.peers.hello import CONSTANT
from tests.bench.processes import Server
from tests.bench.reply_checks import Truth
from tests.bench.rounds import Contender, Median, Round, take_turns
from tests.bench.setup import WEBSOCKET, Scene
from tests.bench.table import SPEED_HEADS, Promise, Result, remarks, speed_lines

CONNECTIONS: Final = 8
UNDER_WAY: Final = 256
QUESTIONS: Final = UNDER_WAY * 200
_ABOUT: Final = "WebSocket, pipelined"


def run(scene: Scene) -> Result:
    """Measure messages of one lookup each; a connection sends anew when all are answered."""
    results = _measure(scene)
    ours = Median.of([each.per_cpu_second for each in results["linewatch serve"]])
    return Result(
        title=f"S8: single lookups over WebSocket, {UNDER_WAY} under way on each of {CONNECTIONS}",
        promises=[Promise("S8", "WebSocket, pipelined: lookups", 60_000, ours.middle, "/CPU s")],
        heads=SPEED_HEADS,
        lines=speed_lines(results),
        remarks=remarks(results),
    )


def _measure(scene: Scene) -> Mapping[str, list[Round]]:
    asked = list(Questions(scene.archive.stored, scene.archive.day).take(QUESTIONS))
    frames = [frame(call(number, tx_hash)) for number, (tx_hash, _) in enumerate(asked)]
    volleys = [
        Volley(b"".join(frames[first : first + UNDER_WAY]), first, UNDER_WAY)
        for first in range(0, QUESTIONS, UNDER_WAY)
    ]
    truth = Truth([reply(number, result) for number, (_, result) in enumerate(asked)])
    constant = Truth([CONSTANT] * QUESTIONS)
    greet = partial(upgraded, path=WEBSOCKET)
    with ExitStack() as stack:

        def contender(server: Server, told: Truth) -> Contender:
            load = Load(server.port, volleys, CONNECTIONS, split_frames, greet)
            return Contender(server.name, server, load, told.judge)

        contenders = [
            contender(stack.enter_context(scene.ours()), truth),
            contender(stack.enter_context(scene.hello()), constant),
        ]
        return take_turns(contenders, scene.rounds, scene.seconds)
