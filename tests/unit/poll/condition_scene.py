"""The conditions of one network, as tests of polling conclude them."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.domain.alerts.condition import State, Transition
from dashboard.domain.fees.gas import GasPeriods
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import Wei
from dashboard.domain.rejections.line_limits import LimitsEnd
from dashboard.errors import UpstreamUnavailable
from dashboard.poll.gas import GasArchive, GasPoll
from dashboard.poll.lease import Lease, NetworkStore, Term
from dashboard.poll.network_conditions import Conditions
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.engine import Store
from dashboard.store.fees.latest import LatestGas, latest_gas
from tests.builders import A_MOMENT, A_NETWORK, GWEI, seconds, suggested_gas_fees
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import ScriptedGas

LEASE = timedelta(days=365)
PERIODS = GasPeriods(seconds(10), timedelta(minutes=10), timedelta(minutes=1))

LONG = timedelta(minutes=8)
PERIOD = PERIODS.gas_period
THRESHOLD = 20
SILENCE = UpstreamUnavailable("devnet gas endpoint did not answer")


def conditions_of(fake_clock: FakeClock, limits_end: LimitsEnd | None = None) -> Conditions:
    """Return what concludes on `A_NETWORK` for a worker that starts now, with usual periods."""
    return Conditions(
        A_NETWORK,
        PERIODS.gas_period,
        PERIODS.threshold_period,
        ConditionRules(),
        fake_clock.clocks,
        uuid4,
        limits_end,
    )


def a_term(store: Store, fake_clock: FakeClock) -> Term:
    """Return the term of a worker that starts now."""
    term = Lease(store, "worker", "worker 1", LEASE, fake_clock.elapsed).acquire()
    assert term is not None
    return term


def latest(store: Store) -> LatestGas:
    """Return the newest fees of `A_NETWORK`, whenever they were seen."""
    with store.read() as connection:
        return latest_gas(connection, A_NETWORK, A_MOMENT + LEASE)


async def tick_for(poll: GasPoll, fake_clock: FakeClock, duration: timedelta) -> None:
    """Tick as the job does, every four seconds."""
    for _ in range(duration // seconds(4)):
        fake_clock.wait(seconds(4))
        await poll.tick()


def told(store: Store) -> list[Transition]:
    """Return what somebody is to be told of, oldest first."""
    with store.read() as connection:
        entries = pending_expansion(connection, 1000)
    return [entry.transition for entry in entries if entry.transition.is_notifiable]


class Scene:
    """A worker that polls the fees of `A_NETWORK` every ten seconds, and can begin again."""

    def __init__(self, store: Store, fake_clock: FakeClock, upstream: ScriptedGas) -> None:
        self.store = store
        self.fake_clock = fake_clock
        self.upstream = upstream
        self.restart()

    def restart(self, node: ScriptedGas | None = None) -> None:
        """Start it again, with nothing left in memory."""
        self.term = a_term(self.store, self.fake_clock)
        self.conditions = conditions_of(self.fake_clock)
        own = NetworkStore(self.store, A_NETWORK, self.term)
        archive = GasArchive(own, self.conditions)
        self.poll = GasPoll(self.upstream, archive, PERIODS, self.fake_clock.clocks, node)

    async def go_on(self, duration: timedelta) -> None:
        """Let time pass, with the jobs of the worker: a poll every time, the other now and then."""
        for step in range(duration // PERIODS.gas_period):
            self.fake_clock.wait(PERIODS.gas_period)
            if step % 3 == 0:
                self.update()
            await self.poll.tick()

    def update(self) -> None:
        """Look at the stored fees, as a job of their own does."""
        with self.store.write() as connection:
            self.conditions.update_gas(connection, self.fake_clock.now())

    def told_states(self) -> list[State]:
        """Return the states that somebody is to be told of, oldest first."""
        return [each.after for each in told(self.store)]


def set_fee(scene: Scene, gwei: int) -> None:
    """Let the base fee be so many gwei from now on."""
    scene.upstream.fees = suggested_gas_fees(estimated_base_fee=Wei(gwei * GWEI))


def silence(scene: Scene, *operations: Operation) -> None:
    """Let these questions get no answer from now on, or all."""
    scene.upstream.errors = dict.fromkeys(operations or Operation, SILENCE)
