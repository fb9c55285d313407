"""S8: lookups over WebSocket: one message each, many under way, and in batches of a thousand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Final

from tests.bench.cases.batches import BATCH, questions_in_batches
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
_IN_BATCHES: Final = "linewatch serve, in batches"


def run(scene: Scene) -> Result:
    """Measure messages of one lookup each and of a batch; a connection waits for all answers."""
    results = _measure(scene)
    single, batched = (
        Median.of([each.per_cpu_second for each in results[name]]).middle
        for name in ("linewatch serve", _IN_BATCHES)
    )
    return Result(
        title=(
            f"S8: lookups over WebSocket, {UNDER_WAY} messages under way on each of {CONNECTIONS}, "
            f"or one batch of {BATCH:,}"
        ),
        promises=[
            Promise("S8", "WebSocket, one message a lookup", 60_000, single, "/CPU s"),
            Promise("S8", f"WebSocket, batches of {BATCH:,}", 300_000, batched, "/CPU s"),
        ],
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
    batches, truth_of_batches = questions_in_batches(scene, frame)
    greet = partial(upgraded, path=WEBSOCKET)
    with ExitStack() as stack:

        def contender(name: str, server: Server, sent: Sequence[Volley], told: Truth) -> Contender:
            load = Load(server.port, sent, CONNECTIONS, split_frames, greet)
            return Contender(name, server, load, told.judge)

        ours, hello = (stack.enter_context(each) for each in (scene.ours(), scene.hello()))
        contenders = [
            contender("linewatch serve", ours, volleys, truth),
            contender(_IN_BATCHES, ours, batches, truth_of_batches),
            contender("hello world", hello, volleys, constant),
        ]
        return take_turns(contenders, scene.rounds, scene.seconds)
