"""Fees that flap around their threshold: a network is busy when a plain model of it says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias
from uuid import uuid4

from sqlalchemy import select

from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.fees.busy_spells import HoldPeriods
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.observation import Failure, FailureKind, Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.poll.gas import GasArchive
from dashboard.poll.lease import Lease, NetworkStore
from dashboard.poll.network_conditions import Conditions
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.schema import outbox, transitions
from tests.builders import GWEI, seconds, suggested_gas_fees
from tests.databases import new_sqlite_store
from tests.fake_clock import FakeClock
from tests.faults.rows import Chance, Play, Row

_SERIES_PER_PLAY: Final = 10
_POLLS: Final = 30
_PERIOD: Final = seconds(10)
_GAP: Final = timedelta(minutes=2)
_SILENT_AFTER: Final = timedelta(minutes=2)
_ANSWERING_AFTER: Final = timedelta(minutes=1)
_PAUSES: Final = (*[10] * 24, 1, 19, 20, 20.001, 60, 119, 121, 4_000)
_JUMPS: Final = tuple(
    sign * each
    for sign in (1, -1)
    for each in (timedelta(seconds=3), timedelta(hours=1), timedelta(days=7))
)
_PENDING: Final = (0, 20, 60)
_KEEP_FIRING: Final = (0, 30, 120)
_THRESHOLD: Final = 20 * GWEI
_NO_ANSWER: Final = Failure(FailureKind.UNAVAILABLE, "the gas API did not answer")


_Turn: TypeAlias = tuple[datetime, State, datetime]


@dataclass(frozen=True, slots=True)
class Poll:
    """One poll: `above` says by how much the fee is above its threshold, None for no answer.

    Before it a worker was `restarted`, or the clock `was_set`.
    """

    at: datetime
    above: int | None
    restarted: bool = False
    was_set: bool = False


@dataclass(frozen=True, slots=True)
class _Plan:
    """One poll to come, after a pause, and what happens before it."""

    pause: timedelta
    above: int | None
    restarts: bool
    jump: timedelta


@contextmanager
def _flapping(folder: Path) -> Iterator[Play]:
    """Let each series be the fees of a network of its own."""
    numbers = iter(range(1, 1_000_000))
    with open_store(new_sqlite_store(folder / "linewatch.db"), FakeClock().boot_clock) as store:

        def play(chance: Chance) -> None:
            for _ in chance.cases(_SERIES_PER_PLAY):
                rule = HoldPeriods(
                    seconds(chance.choice(_PENDING)), seconds(chance.choice(_KEEP_FIRING))
                )
                plans = list(_plans(chance))
                network_id = NetworkId(next(numbers))
                polls = list(_play(store, network_id, rule, plans))
                assert _concluded(store, network_id) == expected(polls, rule), polls

        yield play


def _plans(chance: Chance) -> Iterator[_Plan]:
    """Draw a series that stays on a side for a while, or hardly.

    Where clocks are set, every question is answered: of an API that fails meanwhile other tests
    tell.
    """
    stays, sets_clocks = chance.choice((0.2, 0.7, 0.95)), chance.random() < 0.3
    above, is_failing = -1, False
    for _ in range(_POLLS):
        if chance.random() > stays:
            above = chance.choice((-1, 0, 1, 1)) * chance.randrange(1, 1_000)
        if not sets_clocks and chance.random() < (0.3 if is_failing else 0.06):
            is_failing = not is_failing
        jumps = sets_clocks and chance.random() < 0.1
        yield _Plan(
            seconds(chance.choice(_PAUSES)),
            None if is_failing else above,
            restarts=not jumps and chance.random() < 0.08,
            jump=chance.choice(_JUMPS) if jumps else timedelta(),
        )


def _play(
    store: Store, network_id: NetworkId, rule: HoldPeriods, plans: Sequence[_Plan]
) -> Iterator[Poll]:
    clock = FakeClock()
    archive = _begin(store, network_id, rule, clock)
    for place, plan in enumerate(plans):
        clock.wait(plan.pause)
        clock.set_clock(plan.jump)
        if plan.restarts:
            archive = _begin(store, network_id, rule, clock)
        threshold = Wei(_THRESHOLD + place)  # fees that never move would be judged otherwise
        archive.save(_observed(network_id, clock.now(), threshold, plan.above))
        yield Poll(clock.now(), plan.above, plan.restarts, bool(plan.jump))


def _begin(store: Store, network_id: NetworkId, rule: HoldPeriods, clock: FakeClock) -> GasArchive:
    """Let a worker begin that knows only what is stored."""
    rules = ConditionRules(busy=rule, outage=HoldPeriods(_SILENT_AFTER, _ANSWERING_AFTER))
    term = Lease(store, "worker", "us", timedelta(days=365), clock.elapsed).acquire()
    assert term is not None
    concluding = Conditions(network_id, _PERIOD, _PERIOD, rules, clock.clocks, uuid4)
    return GasArchive(NetworkStore(store, network_id, term), concluding)


def _observed(
    network_id: NetworkId, at: datetime, threshold: Wei, above: int | None
) -> GasObservation:
    if above is None:
        both = (Operation.SUGGESTED_GAS_FEES, Operation.BUSY_THRESHOLD)
        return GasObservation(network_id, at, failures=tuple((each, _NO_ANSWER) for each in both))
    fees = suggested_gas_fees(estimated_base_fee=Wei(threshold + above))
    return GasObservation(network_id, at, fees, busy_threshold=threshold)


def _concluded(store: Store, network_id: NetworkId) -> list[_Turn]:
    """Return what the network became after the first answer, as people are notified of it."""
    column = transitions.c
    query = (
        select(column.at, column.after, column.since)
        .join(outbox, outbox.c.transition_id == column.transition_id)
        .where(column.subject == Subject(SubjectKind.BUSYNESS, network_id).key())
        .where(column.before.is_not(None))
        .order_by(outbox.c.outbox_id)
    )
    with store.read() as connection:
        return [(at, State(after), since) for at, after, since in connection.execute(query)]


def expected(polls: Sequence[Poll], holds: HoldPeriods) -> list[_Turn]:
    """Return the same as a plain model has it, which looks back over all polls at each of them.

    It turns where the other side was seen at every answer back to one that is old enough, none of
    them before a gap or a clock that was set; a gap leaves nothing known.
    """
    state, turns = State.CALM, list[_Turn]()

    def turn(poll: Poll, after: State, since: datetime) -> State:
        turns.append((poll.at, after, since))
        return after

    for place, poll in enumerate(polls):
        seen = [each for each in polls[:place] if each.above is not None]
        is_lost = seen and not poll.was_set and poll.at - seen[-1].at > _GAP
        if is_lost and state is not State.UNKNOWN:
            run = _run(seen, state)
            state = turn(poll, State.UNKNOWN, run[0].at if run else seen[-1].at)
        if poll.above is None:
            continue
        if state is State.UNKNOWN and poll.above <= 0:
            state = turn(poll, State.CALM, poll.at)
        run, is_busy = _run([*seen, poll], state), state is State.BUSY
        if run and poll.at - run[0].at >= (holds.keep_firing if is_busy else holds.pending):
            state = turn(poll, State.CALM if is_busy else State.BUSY, run[0].at)
    return turns


def _run(answered: Sequence[Poll], state: State) -> Sequence[Poll]:
    """Return the last answers that lie on the other side than a state, without a break."""
    for place in range(len(answered) - 1, -1, -1):
        is_above = (answered[place].above or 0) > 0
        if is_above is (state is State.BUSY):
            return answered[place + 1 :]
        is_first = place == 0 or answered[place].was_set
        if is_first or answered[place].at - answered[place - 1].at > _GAP:
            return answered[place:]
    return ()


FLAPPING_FEES: Final = Row(
    name="flapping-fees",
    promise=(
        "fees flap around their threshold, or stay on it or above for about as long as a busy "
        "spell takes, while answers fail or come late, workers restart and clocks are set: a "
        "network is busy and calm exactly when a plain model over all polls says so"
    ),
    short=_SERIES_PER_PLAY,
    full=10_000,
    stage=_flapping,
    cases_per_play=_SERIES_PER_PLAY,
)
