"""The store beside a plain model of it: anything happens in any order, and kills between."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from traceback import extract_tb
from typing import Final

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.databases import DATABASES
from tests.faults.rows import Chance, Row, playing
from tests.model.retention import PurgingMachine
from tests.model.rules_of_conditions import TurningMachine
from tests.model.rules_of_coverage import FollowingMachine, WatchingMachine
from tests.model.rules_of_tracking import AskingMachine

_SEQUENCES: Final = 2
_STEPS: Final = 22
_SHOWN: Final = 70
_HOW: Final = settings(
    max_examples=_SEQUENCES,
    stateful_step_count=_STEPS,
    database=None,
    deadline=None,
    phases=(Phase.generate,),  # the table counts failures; a test shortens them
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


class WholeMachine(
    AskingMachine, FollowingMachine, WatchingMachine, TurningMachine, PurgingMachine
):
    """Every rule on one store."""


class _OnPostgreSQL(WholeMachine):
    DATABASE = "postgresql"


_MACHINES: Final = {"sqlite": WholeMachine, "postgresql": _OnPostgreSQL}


def _drive(_home: Path, chance: Chance) -> None:
    """Let hypothesis drive stores on SQLite and on PostgreSQL."""
    for database in DATABASES:
        machine = seed(chance.getrandbits(32))(_MACHINES[database])
        chance.begun += _SEQUENCES
        try:
            run_state_machine_as_test(machine, settings=_HOW)
        except Exception as error:
            raise AssertionError(told(error)) from error


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
        "tracking, reports, answers, silence, changes of networks, paused workers and purges, on "
        "both databases, with kills between any two statements and after commits: the store "
        "matches a plain model after each of 22 steps"
    ),
    short=2 * _SEQUENCES,
    full=960,
    stage=playing(nullcontext, _drive),
    cases_per_play=2 * _SEQUENCES,
)
