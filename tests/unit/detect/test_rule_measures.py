"""What a rule measures opens and ends like any condition, each subject by itself."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from dashboard.detect.rule_measures import (
    conclude_fees,
    conclude_measured,
    end_without_rule,
    unmeasured,
    without_outages,
)
from dashboard.detect.start_and_end_of_conditions import Conclusion
from dashboard.domain.alerts.condition import (
    INSTALLATION,
    Condition,
    Reading,
    Readings,
    Signal,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.kinds.coverage import GapGrounds, read_gaps, read_worker
from dashboard.domain.alerts.kinds.credit_budget import (
    BudgetPeriod,
    CreditGrounds,
    CreditMeasure,
    read_credits,
)
from dashboard.domain.alerts.kinds.delivery import (
    BounceGrounds,
    DeliveryGrounds,
    read_bounces,
    read_deliveries,
)
from dashboard.domain.alerts.kinds.expiry import ExpiryGrounds, read_expiries
from dashboard.domain.alerts.kinds.fee_limit import FeeLimitGrounds, FeeMeasure
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.kinds.rejection_rate import RateGrounds, RateMeasure, read_rates
from dashboard.domain.alerts.rule import Rule, RuleScope
from dashboard.domain.fees.busy_spells import SpellState
from dashboard.domain.health.coverage import Gap, GapCause, Watched
from dashboard.domain.quantity import NetworkId, Wei
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, an_id, seconds

RATE = RateMeasure(50, seconds(600), Dimension.MODULE)
STORM = Rule("storm", RuleKind.REJECTION_RATE, measure=RATE, pending=seconds(60))
HUB = Subject(SubjectKind.REJECTION_RATE, A_NETWORK, rule="storm", dimension="HUB")
CHEAP = FeeMeasure(Signal.BASE_FEE, Wei(7), is_upper=False)
LOW = Rule("low", RuleKind.FEE, measure=CHEAP)
FEE = Subject(SubjectKind.FEE_LIMIT, A_NETWORK, rule="low")
OPEN = Condition(State.BEYOND_LIMITS, A_MOMENT)


def rates(count: int, now: datetime = A_MOMENT) -> Readings:
    """Read that so many rejections of the module HUB arrived."""
    return read_rates("storm", RATE, {(A_NETWORK, "HUB"): count}, now)


def concluded(rule: Rule, readings: Readings, held: dict[Subject, Condition]) -> list[Conclusion]:
    """Return what readings change."""
    return list(conclude_measured(rule, readings, held, lambda: an_id(9)))


@pytest.mark.parametrize(
    ("per", "begins"),
    [
        (BudgetPeriod.DAY, A_MOMENT.replace(hour=0, minute=0, second=0)),
        (BudgetPeriod.MONTH, A_MOMENT.replace(day=1, hour=0, minute=0, second=0)),
    ],
)
def test_budget_is_of_a_day_or_a_month_of_utc(per: BudgetPeriod, begins: datetime) -> None:
    assert per.begin(A_MOMENT) == begins


@pytest.mark.parametrize(("count", "is_trouble"), [(50, False), (51, True)])
def test_rate_is_trouble_strictly_above_what_the_rule_allows(
    count: int, *, is_trouble: bool
) -> None:
    assert rates(count) == {
        HUB: Reading(
            is_trouble, A_MOMENT, grounds=RateGrounds(count, 50, seconds(600), "module", "HUB")
        )
    }


def test_rate_without_a_dimension_is_that_of_the_network() -> None:
    whole = dataclasses.replace(RATE, by=None)
    (subject,) = read_rates("storm", whole, {(ANOTHER_NETWORK, ""): 3}, A_MOMENT)

    assert subject == Subject(SubjectKind.REJECTION_RATE, ANOTHER_NETWORK, rule="storm")
    assert subject.key() == "rejection rate:59144::storm:"


GROUNDS = FeeLimitGrounds(Signal.BASE_FEE, Wei(6), Wei(7), is_upper=False)


@pytest.mark.parametrize(
    ("fee", "is_upper", "is_beyond"),
    [(8, True, True), (7, True, False), (7, False, False), (6, False, True)],
)
def test_fee_at_its_limit_is_not_beyond_it(fee: int, *, is_upper: bool, is_beyond: bool) -> None:
    grounds = FeeLimitGrounds(Signal.BASE_FEE, Wei(fee), Wei(7), is_upper)

    assert grounds.is_beyond is is_beyond


def within(since: float, **changes: Any) -> SpellState:  # noqa: ANN401 - any field
    """Return a spell that lasts since so many seconds."""
    moment = A_MOMENT + seconds(since)
    return replace(SpellState(is_within=True, since=moment, seen_at=moment), **changes)


def fees_concluded(
    held: Condition | None, *states: SpellState
) -> list[tuple[State | None, datetime | None]]:
    """Return which states are told of a fee rule, and what is noted as turning at the end."""
    found = conclude_fees(FEE, held, states, GROUNDS, A_MOMENT, lambda: an_id(1))
    return [
        (None if each.transition is None else each.transition.after, each.turning_since)
        for each in found
    ]


def test_spell_of_a_fee_is_told_since_its_first_value() -> None:
    outside = within(-90, is_within=False)

    (change,) = conclude_fees(
        FEE,
        Condition(State.WITHIN_LIMITS, A_MOMENT),
        [outside, within(-60)],
        GROUNDS,
        A_MOMENT,
        an_id,
    )

    assert change.transition == Transition(
        an_id(), FEE, State.WITHIN_LIMITS, State.BEYOND_LIMITS, A_MOMENT, GROUNDS, within(-60).since
    )


def test_spell_that_was_over_before_the_rule_is_not_told() -> None:
    outside = within(-30, is_within=False)

    assert fees_concluded(None, within(-90), outside) == []
    assert fees_concluded(None) == []
    assert fees_concluded(None, within(-90)) == [(State.BEYOND_LIMITS, None)]
    assert fees_concluded(Condition(State.WITHIN_LIMITS, A_MOMENT), within(-90), outside) == [
        (State.BEYOND_LIMITS, None),
        (State.WITHIN_LIMITS, None),
    ]


def test_what_may_become_a_spell_is_noted_once() -> None:
    turning = within(-30, is_within=False, turning_since=A_MOMENT)
    held = Condition(State.WITHIN_LIMITS, A_MOMENT, A_MOMENT)

    assert fees_concluded(None, turning) == [(State.WITHIN_LIMITS, None), (None, A_MOMENT)]
    assert fees_concluded(replace(held, turning_since=None), turning) == [(None, A_MOMENT)]
    assert fees_concluded(held, turning) == []
    assert fees_concluded(held, within(-30, is_within=False)) == [(None, None)]


def test_spell_that_nobody_saw_end_is_told_as_unknown_without_a_figure() -> None:
    lost = within(-90).unseen()

    (change,) = conclude_fees(FEE, OPEN, [lost], GROUNDS, A_MOMENT, an_id)

    transition = change.transition
    assert transition is not None
    assert (transition.after, transition.since) == (State.UNKNOWN, lost.since)
    assert transition.grounds is None


def test_rate_opens_after_the_pending_period_of_its_rule_and_is_written_only_if_it_changes() -> (
    None
):
    (first,) = concluded(STORM, rates(51), {})
    assert first.condition is not None
    (second,) = concluded(STORM, rates(52, A_MOMENT + seconds(60)), {HUB: first.condition})

    assert [each.transition and each.transition.is_notifiable for each in (first, second)] == [
        False,
        True,
    ]
    assert second.transition is not None
    assert second.transition.after is State.BEYOND_LIMITS
    assert concluded(STORM, rates(60), {HUB: OPEN}) == []
    assert concluded(STORM, rates(50), {}) == []  # nothing is kept of what was never in trouble


def test_value_that_nothing_arrives_of_any_more_is_a_rate_of_none() -> None:
    other = replace(HUB, rule="other")

    assert unmeasured({}, {HUB: OPEN, other: OPEN}, STORM, A_MOMENT) == {
        HUB: Reading(
            is_trouble=False,
            at=A_MOMENT,
            grounds=RateGrounds(0, 50, seconds(600), "module", "HUB"),
        )
    }
    assert unmeasured(rates(51), {HUB: OPEN}, STORM, A_MOMENT) == {}
    assert unmeasured({}, {FEE: OPEN}, LOW, A_MOMENT) == {}


def test_what_lost_its_rule_ends_at_once_unless_it_is_over_already() -> None:
    over = Condition(State.WITHIN_LIMITS, A_MOMENT)

    ended = end_without_rule(HUB, OPEN, A_MOMENT, lambda: an_id(9))

    assert ended.changes_stored
    assert ended.condition == over
    assert not end_without_rule(HUB, over, A_MOMENT, lambda: an_id(9)).changes_stored


GAPS = Rule("gaps", RuleKind.COVERAGE_GAP, pending=seconds(60))
WORKER = Rule("worker", RuleKind.WORKER_SILENT, pending=seconds(60))


def a_gap(begins: float, ends: float | None, **changes: Any) -> Gap:  # noqa: ANN401 - any field
    """Return a gap that began and ended so many seconds before `A_MOMENT`."""
    ended = None if ends is None else A_MOMENT - seconds(ends)
    fields: dict[str, Any] = {
        "network_id": A_NETWORK,
        "watched": Watched.FEES,
        "begins_at": A_MOMENT - seconds(begins),
        "ends_at": ended,
        "cause": GapCause.NOT_WATCHED,
    }
    return Gap(**(fields | changes))


@pytest.mark.parametrize(
    ("gaps", "is_trouble"),
    [
        ([], False),
        ([a_gap(59, None)], False),
        ([a_gap(60, None)], True),
        ([a_gap(400, 299)], True),
        ([a_gap(400, 300)], False),
        ([a_gap(90, 31)], False),
        ([a_gap(90, None, network_id=ANOTHER_NETWORK)], False),
        ([a_gap(90, None, cause=GapCause.NOT_ANSWERED)], True),
    ],
    ids=["none", "short", "open", "late", "too late", "short and over", "elsewhere", "unanswered"],
)
def test_gap_is_trouble_while_it_is_long_enough_and_a_while_after(
    gaps: list[Gap], *, is_trouble: bool
) -> None:
    (reading,) = read_gaps(GAPS, gaps, [A_NETWORK], A_MOMENT).values()

    assert reading is not None
    assert reading.is_trouble is is_trouble


def test_longest_gap_is_reported_and_one_that_lasts_before_all_that_are_over() -> None:
    short, long = a_gap(90, 20), a_gap(900, 10, reason="refused")
    scoped = replace(GAPS, scope=RuleScope(networks=(A_NETWORK,)))

    (over,) = read_gaps(scoped, [short, long], [ANOTHER_NETWORK], A_MOMENT).values()
    (lasting,) = read_gaps(GAPS, [a_gap(90, None), long], [A_NETWORK], A_MOMENT).values()

    grounds = GapGrounds(long.begins_at, long.ends_at, GapCause.NOT_WATCHED, "refused")
    assert over == Reading(
        is_trouble=True,
        at=A_MOMENT,
        since=long.begins_at,
        grounds=grounds,
        ended_at=long.ends_at,
    )
    assert lasting is not None
    assert (lasting.since, lasting.ended_at) == (A_MOMENT - seconds(90), None)


@pytest.mark.parametrize(
    ("held", "states"),
    [
        (None, [State.SILENT, State.ANSWERING]),
        (Condition(State.ANSWERING, A_MOMENT - seconds(11)), [State.SILENT, State.ANSWERING]),
        (Condition(State.SILENT, A_MOMENT - seconds(900)), [State.ANSWERING]),
        (Condition(State.ANSWERING, A_MOMENT - seconds(10)), []),
    ],
    ids=["unknown", "another one before", "open", "reported"],
)
def test_gap_that_is_over_opens_and_ends_at_once_unless_it_was_reported(
    held: Condition | None, states: list[State]
) -> None:
    readings = read_worker(WORKER, [a_gap(900, 10)], A_MOMENT)
    (subject,) = readings

    found = concluded(WORKER, readings, {} if held is None else {subject: held})

    changes = [each.transition for each in found]
    assert [each and each.after for each in changes] == states


@pytest.mark.parametrize(
    ("gap", "is_trouble"),
    [
        (a_gap(90, 1), True),
        (a_gap(900, -10), False),  # it ends ahead: the clock was set back
    ],
)
def test_worker_was_silent_until_a_moment_ago(gap: Gap, *, is_trouble: bool) -> None:
    ((subject, reading),) = read_worker(WORKER, [gap], A_MOMENT).items()

    assert subject == Subject(SubjectKind.WORKER, INSTALLATION, rule="worker")
    assert reading is not None
    assert reading.is_trouble is is_trouble


DELIVERY = Rule("delivery", RuleKind.DELIVERY_FAILING)


def test_each_channel_that_fails_is_read_by_itself_and_gone_when_it_recovers() -> None:
    grounds = DeliveryGrounds(3, A_MOMENT, "451")
    ((mail, reading),) = read_deliveries("delivery", {"mail": grounds}, A_MOMENT).items()

    assert (mail.kind, mail.dimension) == (SubjectKind.DELIVERY, "mail")
    assert reading == Reading(is_trouble=True, at=A_MOMENT, grounds=grounds)
    over = Reading(is_trouble=False, at=A_MOMENT)
    assert unmeasured({}, {mail: OPEN}, DELIVERY, A_MOMENT) == {mail: over}


def test_address_from_which_mails_come_back_is_in_trouble_since_the_first_one() -> None:
    grounds = BounceGrounds(A_MOMENT, "550 no such user", is_off=False)
    later = A_MOMENT + seconds(60)
    ((ops, reading),) = read_bounces("delivery", {"ops@example.org": grounds}, later).items()

    assert (ops.kind, ops.dimension) == (SubjectKind.ADDRESS, "ops@example.org")
    (long,) = read_bounces("delivery", {"o" * 250 + "@example.org": grounds}, later)
    assert len(long.key()) < 200
    assert reading == Reading(is_trouble=True, at=later, since=A_MOMENT, grounds=grounds)
    over = Reading(is_trouble=False, at=later)
    assert unmeasured({}, {ops: OPEN}, DELIVERY, later) == {ops: over}


@pytest.mark.parametrize(("spent", "is_trouble"), [(799, False), (800, True)])
def test_credits_are_trouble_from_the_share_of_the_rule_on(spent: int, *, is_trouble: bool) -> None:
    measure = CreditMeasure(1000, BudgetPeriod.DAY, 80)
    (reading,) = read_credits("budget", measure, spent, A_MOMENT).values()

    assert reading == Reading(is_trouble, A_MOMENT, grounds=CreditGrounds(spent, 1000, "day"))


def test_each_thing_that_ends_soon_is_read_by_itself() -> None:
    ending = [ExpiryGrounds("key wallet", A_MOMENT), ExpiryGrounds("x" * 300, A_MOMENT)]

    found = read_expiries("expiry", ending, A_MOMENT, ["key wallet", "unseen"])

    assert {subject.dimension: reading is not None for subject, reading in found.items()} == {
        "key wallet": True,
        "x" * 80: True,
        "unseen": False,
    }


@pytest.mark.parametrize(
    ("count", "silent", "is_known"),
    [
        (51, {A_NETWORK}, True),
        (1, {A_NETWORK}, False),
        (1, {ANOTHER_NETWORK}, True),
    ],
)
def test_few_rejections_say_nothing_while_nobody_sees_them_arrive(
    count: int,
    silent: set[NetworkId],
    is_known: bool,  # noqa: FBT001 - a table
) -> None:
    found = without_outages(rates(count), silent)

    assert (found[HUB] is not None) is is_known
    assert without_outages({HUB: None}, silent) == {HUB: None}
