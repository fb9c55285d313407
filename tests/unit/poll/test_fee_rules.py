"""A fee rule reports by every stored fee, exactly as its preview says."""

from __future__ import annotations

from datetime import datetime
from random import Random

import pytest
from msgspec.structs import replace

from dashboard.application.rule_preview import preview_rule
from dashboard.domain.alerts.condition import Signal, State, Subject, SubjectKind
from dashboard.domain.alerts.kinds.fee_limit import FeeMeasure
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.quantity import Wei
from dashboard.store.fees.save import save_gas
from tests.builders import (
    A_NETWORK,
    GWEI,
    seconds,
    suggested_gas_fees,
)
from tests.unit.poll.condition_scene import told
from tests.unit.poll.rule_watch import Watch

pytestmark = pytest.mark.parametrize("database", ["sqlite"])

DEAR = Rule(
    "dear",
    RuleKind.FEE,
    measure=FeeMeasure(Signal.BASE_FEE, Wei(30 * GWEI), is_upper=True),
    pending=seconds(60),
)
FEE = Subject(SubjectKind.FEE_LIMIT, A_NETWORK, rule="dear")


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


def see_fees(watch: Watch, *gwei: int) -> None:
    """Poll so many base fees within five seconds, then look."""
    for base_fee in gwei:
        watch.fake_clock.wait(seconds(5) / len(gwei))
        fees = suggested_gas_fees(estimated_base_fee=Wei(base_fee * GWEI))
        with watch.store.write() as connection:
            save_gas(connection, GasObservation(A_NETWORK, watch.fake_clock.now(), fees))
    watch.measured.measure(watch.term)


def test_restart_goes_on_with_what_is_stored(watch: Watch) -> None:
    watch.hold(DEAR)
    begun = watch.fake_clock.now() + seconds(5)
    for _ in range(13):
        watch.restart()
        see_fees(watch, 31)

    [opening] = told(watch.store)
    assert (opening.after, opening.since) == (State.BEYOND_LIMITS, begun)


def test_fee_of_which_nothing_was_seen_for_long_is_not_known(watch: Watch) -> None:
    watch.hold(replace(DEAR, pending=seconds(0)))
    watch.go_on(2, base_fee=31)
    last_seen = watch.fake_clock.now()

    watch.go_on(60)
    lost = watch.told()
    watch.go_on(1, base_fee=31)

    assert lost == [(FEE, State.BEYOND_LIMITS), (FEE, State.UNKNOWN)]
    assert [each.since for each in told(watch.store)][1] == last_seen
    assert watch.told() == [*lost, (FEE, State.BEYOND_LIMITS)]


@pytest.mark.parametrize("seed", range(3))
def test_preview_fires_exactly_when_the_rule_did(watch: Watch, seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - no secret
    rule = replace(DEAR, pending=seconds(20), keep_firing=seconds(chance.choice((0, 15, 30))))
    began, base_fee = watch.fake_clock.now(), 20
    watch.hold(rule)
    for _ in range(80):
        if chance.random() < 0.05:
            watch.fake_clock.wait(seconds(chance.choice((60, 200))))
        fees = []
        for _ in range(chance.choice((1, 2, 3))):
            base_fee = 51 - base_fee if chance.random() < 0.15 else base_fee
            fees.append(base_fee)
        see_fees(watch, *fees)

    now = watch.fake_clock.now()
    with watch.store.read() as connection:
        periods = {A_NETWORK: seconds(5)}
        firings = preview_rule(connection, rule, (began, now), periods).firings

    reported: list[tuple[datetime, datetime | None]] = []
    for each in told(watch.store):
        if each.after is State.BEYOND_LIMITS:
            reported.append((each.began_at + rule.pending, None))
        elif each.before is State.BEYOND_LIMITS:
            reported[-1] = (reported[-1][0], each.began_at)
    assert reported
    assert [(each.at, each.ends) for each in firings] == reported
