"""The store beside a plain model of it: anything happens in any order, and kills between."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from traceback import extract_tb
from typing import Final

from hypothesis import HealthCheck, Phase, settings

from tests.databases import DATABASES
from tests.faults.rows import Play, Row
from tests.model.kills import store_maker_on
from tests.model.whole_store import play

_SEQUENCES: Final = 4
_STEPS: Final = 22
_SHOWN: Final = 70


@contextmanager
def _models(_folder: Path) -> Iterator[Play]:
    """Drive stores on SQLite and on PostgreSQL."""
    # The pool would tell of every connection that dies, with a traceback.
    logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)
    how = settings(
        max_examples=_SEQUENCES,
        stateful_step_count=_STEPS,
        database=None,
        deadline=None,
        phases=(Phase.generate,),  # the table counts failures; a test shortens them
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    with ExitStack() as grounds:
        both = [grounds.enter_context(store_maker_on(each)) for each in DATABASES]

        def run(chance: Random) -> None:
            for ground in both:
                try:
                    play(ground, how, chance.getrandbits(32))
                except Exception as error:
                    raise AssertionError(told(error)) from error

        yield run


def told(error: Exception) -> str:
    """Say where the store and its model differ, and after which steps.

    What does not happen again when hypothesis looks, comes wrapped: the time it took is by chance.
    """
    if isinstance(error, ExceptionGroup):
        within = "; ".join(map(told, error.exceptions))
        return f"{type(error).__name__}: {error}: {within}"
    where = extract_tb(error.__traceback__)[-1]
    notes = "\n".join(getattr(error, "__notes__", ())).splitlines()
    steps = "\n".join(line[:_SHOWN] for line in notes if line.startswith("state."))
    return (
        f"{type(error).__name__}: {error} at {where.filename}:{where.lineno}: {where.line}\n{steps}"
    )


MODEL: Final = Row(
    name="model",
    promise=(
        "people act, nodes report, upstream answers or is silent, fees come late, workers send "
        "and pause, old data is purged, on SQLite and PostgreSQL, with kills between any two "
        "statements and at commits: the store matches a plain model after each of 22 steps"
    ),
    short=2 * _SEQUENCES,
    full=960,
    stage=_models,
    cases_per_play=2 * _SEQUENCES,
)
