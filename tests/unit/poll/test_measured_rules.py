"""A worker measures what rules ask for, and reports it once while it lasts, and its end."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from dashboard.domain.audit import Actor
from dashboard.domain.condition import State, Subject, SubjectKind
from dashboard.domain.gas import GasObservation
from dashboard.domain.grounds import Signal
from dashboard.domain.quantity import Wei
from dashboard.domain.rule import FeeMeasure, RateMeasure, Rule, RuleKind, RuleScope
from dashboard.poll.lease import Lease, LeaseLost, Term
from dashboard.poll.measured_rules import MeasuredRules
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.rules import save_rules
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.save_rejections import save_polled
from dashboard.store.gas import save_gas
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    GWEI,
    a_hash,
    a_record,
    a_transition,
    seconds,
    suggested_gas_fees,
)
from tests.fake_clock import FakeClock
from tests.unit.poll.condition_scene import told
from tests.unit.poll.exclusion_poll_scene import LEASE

pytestmark = pytest.mark.parametrize("database", ["sqlite"])

STORM = Rule(
    "storm",
    RuleKind.REJECTION_RATE,
    scope=RuleScope(takes_all_reports=True),
    measure=RateMeasure(2, seconds(60)),
    keep_firing=seconds(30),
)
DEAR = Rule(
    "dear",
    RuleKind.FEE,
    measure=FeeMeasure(Signal.BASE_FEE, Wei(30 * GWEI), is_upper=True),
    pending=seconds(60),
)
RATE = Subject(SubjectKind.REJECTION_RATE, A_NETWORK, rule="storm")
FEE = Subject(SubjectKind.FEE_LIMIT, A_NETWORK, rule="dear")


class Watch:
    """A worker that looks every five seconds."""

    def __init__(self, store: Store, fake_clock: FakeClock) -> None:
        """Begin a term."""
        self.store, self.fake_clock = store, fake_clock
        term = Lease(store, "worker", "worker 1", LEASE, fake_clock.elapsed).acquire()
        assert term is not None
        self.term: Term = term
        self.measured = MeasuredRules(store, [A_NETWORK], fake_clock.clocks, uuid4)

    def hold(self, *rules: Rule) -> None:
        """Let these rules be in force."""
        with self.store.write() as connection:
            save_rules(connection, rules, Actor("ana", A_MOMENT))

    def reject(self, *numbers: int) -> None:
        """Let rejections of these hashes arrive now."""
        with self.store.write() as connection:
            for number in numbers:
                record = a_record(tx_hash=a_hash(number))
                save_polled(connection, A_NETWORK, record, self.fake_clock.now())

    def go_on(self, times: int, base_fee: int | None = None) -> None:
        """Look so many times, with a base fee in gwei that is polled before each look."""
        for _ in range(times):
            self.fake_clock.wait(seconds(5))
            if base_fee is not None:
                fees = suggested_gas_fees(estimated_base_fee=Wei(base_fee * GWEI))
                seen = GasObservation(A_NETWORK, self.fake_clock.now(), fees)
                with self.store.write() as connection:
                    save_gas(connection, seen)
            self.measured.look(self.term)

    def told(self) -> list[tuple[Subject, State]]:
        """Return what people are to be notified of, oldest first."""
        return [(each.subject, each.after) for each in told(self.store)]


@pytest.fixture
def watch(store: Store, fake_clock: FakeClock) -> Watch:
    """Return a worker that has just begun."""
    return Watch(store, fake_clock)


def test_storm_is_told_once_and_its_end_after_a_while(watch: Watch) -> None:
    watch.hold(STORM)
    watch.reject(1, 2)
    watch.go_on(2)
    assert watch.told() == []

    watch.reject(3)
    watch.go_on(2)
    assert watch.told() == [(RATE, State.BEYOND_LIMITS)]

    watch.go_on(30)
    assert watch.told() == [(RATE, State.BEYOND_LIMITS), (RATE, State.WITHIN_LIMITS)]


def test_restart_in_a_storm_tells_nobody_again(watch: Watch) -> None:
    watch.hold(STORM)
    watch.reject(1, 2, 3)
    watch.go_on(1)
    watch.measured = MeasuredRules(watch.store, [A_NETWORK], watch.fake_clock.clocks, uuid4)

    watch.go_on(3)

    assert watch.told() == [(RATE, State.BEYOND_LIMITS)]


def test_rule_that_is_off_or_gone_measures_nothing_and_ends_what_lasts(watch: Watch) -> None:
    watch.hold(STORM)
    watch.reject(1, 2, 3)
    watch.go_on(1)

    watch.hold(replace(STORM, is_enabled=False))
    watch.go_on(3)

    assert watch.told() == [(RATE, State.BEYOND_LIMITS), (RATE, State.WITHIN_LIMITS)]


def test_fee_beyond_its_limit_is_told_after_the_pending_period(watch: Watch) -> None:
    watch.hold(DEAR)
    watch.go_on(6, base_fee=31)
    watch.go_on(1, base_fee=29)
    watch.go_on(12, base_fee=31)
    assert watch.told() == []

    watch.go_on(1, base_fee=31)
    watch.go_on(1, base_fee=30)

    assert watch.told() == [(FEE, State.BEYOND_LIMITS), (FEE, State.WITHIN_LIMITS)]


def test_priority_fee_has_a_limit_of_its_own(watch: Watch) -> None:
    low = FeeMeasure(Signal.PRIORITY_FEE, Wei(3 * GWEI), is_upper=False)
    watch.hold(replace(DEAR, measure=low, pending=seconds(0)))

    watch.go_on(1, base_fee=31)

    assert watch.told() == [(FEE, State.BEYOND_LIMITS)]


@pytest.mark.parametrize(
    ("kind", "state"), [(SubjectKind.FEES, State.STALE), (SubjectKind.GAS_API, State.SILENT)]
)
def test_fee_that_is_not_known_now_is_not_judged(
    watch: Watch, kind: SubjectKind, state: State
) -> None:
    watch.hold(replace(DEAR, pending=seconds(0)))
    subject = Subject(kind, A_NETWORK)
    with watch.store.write() as connection:
        record_transition(connection, a_transition(subject=subject, after=state), None)

    watch.go_on(3, base_fee=31)

    assert watch.told() == [(subject, state)]


def test_worker_that_lost_its_lease_writes_nothing(watch: Watch) -> None:
    watch.hold(STORM)
    watch.reject(1, 2, 3)
    watch.term = replace(watch.term, token=watch.term.token + 1)

    with pytest.raises(LeaseLost):
        watch.go_on(1)

    assert watch.told() == []


def test_look_that_takes_long_is_followed_by_a_rest(watch: Watch) -> None:
    watch.hold(STORM)
    watch.go_on(1)
    watch.reject(1, 2, 3)
    watch.measured._next_at = watch.fake_clock.elapsed() + seconds(12)  # noqa: SLF001 - as after a long look
    watch.go_on(2)
    assert watch.told() == []

    watch.go_on(1)

    assert watch.told() == [(RATE, State.BEYOND_LIMITS)]
