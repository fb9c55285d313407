"""S7: batches of a thousand lookups over HTTP, beside Starlette with SQLite doing batches well."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Final

from tests.bench.expected_replies import Questions, call, joined, reply
from tests.bench.load_generator import Load, Volley
from tests.bench.messages import post, split_http
from tests.bench.processes import Server
from tests.bench.reply_checks import Truth
from tests.bench.rounds import Contender, Median, ratio, take_turns
from tests.bench.setup import RPC, Scene
from tests.bench.table import SPEED_HEADS, Promise, Result, remarks, speed_lines

CONNECTIONS: Final = 4
BATCHES: Final = 200
BATCH: Final = 1_000


def run(scene: Scene) -> Result:
    """Send different batches in turn; ids begin anew in each."""
    volleys, truth = questions_in_batches(scene, partial(post, RPC))
    with ExitStack() as stack:

        def contender(server: Server) -> Contender:
            load = Load(server.port, volleys, CONNECTIONS, split_http)
            return Contender(server.name, server, load, truth.judge)

        peer = scene.peer("Starlette + SQLite", "starlette_sqlite")
        contenders = [contender(stack.enter_context(each)) for each in (scene.ours(), peer)]
        results = take_turns(contenders, scene.rounds, scene.seconds)
    ours = Median.of([each.per_cpu_second for each in results["linewatch serve"]])
    times = ratio(results, "linewatch serve", "Starlette + SQLite").middle
    return Result(
        title=f"S7: lookups in batches of {BATCH:,} over HTTP, {CONNECTIONS} connections",
        promises=[
            Promise("S7", "batches of 1,000: lookups on one core", 500_000, ours.middle, "/CPU s"),
            Promise("S7", "batches of 1,000: × Starlette with SQLite", 3, times, "×"),
        ],
        heads=SPEED_HEADS,
        lines=speed_lines(results),
        remarks=remarks(results),
    )


def questions_in_batches(
    scene: Scene, packed: Callable[[bytes], bytes]
) -> tuple[list[Volley], Truth]:
    """Return the batches, each packed into what is sent, and what is right for each."""
    questions = Questions(scene.archive.stored, scene.archive.day)
    volleys: list[Volley] = []
    replies: list[bytes] = []
    for batch in range(BATCHES):
        asked = list(questions.take(BATCH))
        body = joined([call(number, each[0]) for number, each in enumerate(asked)])
        volleys.append(Volley(packed(body), batch, 1))
        replies.append(joined([reply(number, each[1]) for number, each in enumerate(asked)]))
    return volleys, Truth(replies, BATCH)
