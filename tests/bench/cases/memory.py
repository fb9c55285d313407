"""Memory of one serving process with everything on record, and how soon it answers."""

from __future__ import annotations

import time
from typing import Final

import httpx

from tests.bench.cases.batches import CONNECTIONS, questions_in_batches
from tests.bench.expected_replies import Questions, call, reply
from tests.bench.load_generator import Load
from tests.bench.messages import split_http
from tests.bench.processes import Server, settle
from tests.bench.setup import RPC, Scene
from tests.bench.table import Promise, Result

MEGABYTE: Final = 1_000_000


def run(scene: Scene) -> Result:
    """Look right after the first answer, and again after a good many."""
    volleys, truth = questions_in_batches(scene)
    with scene.ours() as server:
        first_answer = _first_answer(scene, server)
        settle(server)
        fresh = server.memory()
        load = Load(server.port, volleys, CONNECTIONS, split_http)
        lookups = truth.judge(load.run(scene.seconds * scene.rounds))
        used = server.memory()
    lines = [
        ["settled after the first answer", *(f"{each / MEGABYTE:.0f} MB" for each in fresh)],
        [f"after {lookups:,} more", *(f"{each / MEGABYTE:.0f} MB" for each in used)],
    ]
    listened, answered = server.started_in, server.started_in + first_answer
    about = f"one process, {scene.archive.stored:,} rejections on record: memory at most"
    return Result(
        title=f"Memory and start with {scene.archive.stored:,} rejections on record",
        promises=[Promise("S6–S10", about, 300, used.peak / MEGABYTE, "MB", is_floor=False)],
        heads=("when", "resident", "resident, shared memory divided", "at most"),
        lines=lines,
        remarks=[
            f"It listened {listened:.2f} s after its start and had answered after {answered:.2f} s."
        ],
    )


def _first_answer(scene: Scene, server: Server) -> float:
    """Return the seconds that one lookup takes, connecting included."""
    tx_hash, result = next(Questions(scene.archive.stored, scene.archive.day).take(1))
    begun = time.perf_counter()
    url = f"http://127.0.0.1:{server.port}{RPC}"
    answer = httpx.post(url, content=call(1, tx_hash), timeout=60).content
    if answer != reply(1, result):
        msg = f"told {answer!r} of {tx_hash}"
        raise ValueError(msg)
    return time.perf_counter() - begun
