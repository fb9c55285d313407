"""S6: single lookups over HTTP, beside the same server's hello world and FastAPI with SQLite."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final

from tests.bench.expected_replies import Questions, call, reply
from tests.bench.load_generator import Load, Volley
from tests.bench.messages import post, split_http
from tests.bench.peers.hello import CONSTANT
from tests.bench.processes import Server
from tests.bench.reply_checks import Truth
from tests.bench.rounds import Contender, Round, ratio, take_turns
from tests.bench.setup import RPC, Scene
from tests.bench.table import SPEED_HEADS, Promise, Result, remarks, speed_lines

CONNECTIONS: Final = 32
QUESTIONS: Final = 20_000
OURS: Final = "linewatch serve"


def run(scene: Scene) -> Result:
    """Measure with one request under way on each connection, as clients without pipelines do."""
    results = _measure(scene)
    fastapi = ratio(results, OURS, "FastAPI + SQLite").middle
    return Result(
        title=f"S6: single lookups over HTTP, {CONNECTIONS} connections",
        promises=[
            Promise("S6", "single lookups, HTTP: × FastAPI with SQLite", 4, fastapi, "×"),
        ],
        heads=SPEED_HEADS,
        lines=speed_lines(results),
        remarks=remarks(results),
    )


def _measure(scene: Scene) -> Mapping[str, list[Round]]:
    questions = list(Questions(scene.archive.stored, scene.archive.day).take(QUESTIONS))
    volleys = [
        Volley(post(RPC, call(number, each[0])), number, 1) for number, each in enumerate(questions)
    ]
    truth = Truth([reply(number, each[1]) for number, each in enumerate(questions)])
    constant = Truth([CONSTANT] * QUESTIONS)
    with ExitStack() as stack:

        def contender(server: Server, told: Truth) -> Contender:
            load = Load(server.port, volleys, CONNECTIONS, split_http)
            return Contender(server.name, server, load, told.judge)

        contenders = [
            contender(stack.enter_context(scene.ours()), truth),
            contender(stack.enter_context(scene.hello()), constant),
            contender(stack.enter_context(scene.peer("FastAPI + SQLite", "fastapi_sqlite")), truth),
        ]
        return take_turns(contenders, scene.rounds, scene.seconds)
