"""What a rule would have reported is what it would report when it is measured moment by moment."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dashboard.detect.start_and_end_of_conditions import conclude
from dashboard.domain.alerts.condition import (
    Condition,
    Reading,
    Signal,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.kinds.fee_limit import FeeMeasure
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.kinds.rejection_rate import RateMeasure
from dashboard.domain.alerts.rule import ObservedChange, Rule
from dashboard.domain.alerts.rule_preview import (
    Excess,
    FeeSpread,
    Firing,
    RulePreview,
    fired_of_fees,
    fired_spells,
    firings_of_changes,
    firings_of_conditions,
    judged_steps,
    rate_spells,
)
from dashboard.domain.alerts.rule_text import group_in_words, preview_in_words
from dashboard.domain.fees.busy_spells import HoldPeriods, JudgedValue
from dashboard.domain.quantity import Wei
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    a_record,
    a_rejection,
    a_transition,
    an_id,
    seconds,
)

MINUTE = timedelta(minutes=1)
REJECTED = Rule("rejections", RuleKind.REJECTED)
RATE = Rule("storm", RuleKind.REJECTION_RATE)
BASE_ABOVE = FeeMeasure(Signal.BASE_FEE, Wei(30), is_upper=True)
BASE_BELOW = FeeMeasure(Signal.BASE_FEE, Wei(30), is_upper=False)


def after(count: float) -> datetime:
    """Return the moment so many seconds after `A_MOMENT`."""
    return A_MOMENT + seconds(count)


def rejected_at(count: float, reason: str = "no") -> ObservedChange:
    """Return a rejection that arrived then."""
    rejection = a_rejection(record=a_record(reason_message=reason))
    return ObservedChange(a_transition(at=after(count)), rejection)


def test_rejections_of_a_group_without_a_long_pause_are_one_firing() -> None:
    hub = "TX_MODULE_LINE_COUNT_OVERFLOW(HUB)"
    changes = [rejected_at(0), rejected_at(60, hub), rejected_at(900), rejected_at(2000)]

    found = firings_of_changes(REJECTED, changes)

    assert [(each.at, each.changes) for each in found] == [
        (after(0), 2),
        (after(60), 1),
        (after(2000), 1),
    ]
    assert [group_in_words(each) for each in found] == [
        "stage RPC",
        "module HUB, stage RPC",
        "stage RPC",
    ]


@pytest.mark.parametrize(("minutes", "firings"), [(0, 2), (5, 3), (60, 1)])
def test_rejections_are_one_firing_for_as_long_as_their_rule_keeps_firing(
    minutes: int, firings: int
) -> None:
    changes = [rejected_at(0), rejected_at(600), rejected_at(2000)]

    found = firings_of_changes(replace(REJECTED, keep_firing=minutes * MINUTE), changes)

    assert len(found) == firings


def test_change_that_the_rule_does_not_take_fires_nothing() -> None:
    changed = replace(rejected_at(0), transition=a_transition(before=State.REJECTED))

    assert firings_of_changes(REJECTED, [changed]) == []


def test_conditions_fire_from_their_opening_to_their_end() -> None:
    subject = Subject(SubjectKind.BUSYNESS, A_NETWORK)
    states = [(State.CALM, State.BUSY), (State.BUSY, State.CALM), (State.CALM, State.BUSY)]
    changes = [
        Transition(an_id(number), subject, before, now, after(60 * number))
        for number, (before, now) in enumerate(states)
    ]
    start = Transition(an_id(9), subject, None, State.CALM, after(-9))

    found = firings_of_conditions(Rule("busy", RuleKind.BUSY), [start, *changes])

    assert found == [Firing(after(0), after(60), A_NETWORK), Firing(after(120), None, A_NETWORK)]


def test_condition_that_ends_within_the_pending_period_never_fires() -> None:
    subject = Subject(SubjectKind.BUSYNESS, A_NETWORK)
    states = [(0, State.BUSY), (60, State.CALM), (120, State.BUSY), (200, State.CALM)]
    changes = [
        Transition(
            an_id(at + 1), subject, State.CALM if to is State.BUSY else State.BUSY, to, after(at)
        )
        for at, to in states
    ]

    found = firings_of_conditions(Rule("busy", RuleKind.BUSY, pending=seconds(61)), changes)

    assert found == [Firing(after(181), after(200), A_NETWORK)]


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 30), max_size=20),
    st.integers(0, 4),
    st.integers(1, 9),
    st.integers(0, 5),
    st.integers(0, 5),
)
@example([0, 1, 2, 20, 21, 22, 30], 1, 9, 0, 0)
@example([5, 5, 6, 6, 9, 12, 12], 4, 7, 3, 0)
@example([0, 3, 20], 0, 1, 0, 2)
@example([0, 0, 9], 1, 9, 0, 0)
@example([0, 9], 1, 9, 0, 0)
def test_rate_fires_as_if_it_had_been_measured_each_second(
    arrivals: list[int], more_than: int, window: int, pending: int, keep_firing: int
) -> None:
    rule = replace(
        RATE,
        measure=RateMeasure(more_than, seconds(window)),
        pending=seconds(pending),
        keep_firing=seconds(keep_firing),
    )
    moments = [after(each) for each in sorted(arrivals)]

    found = list(fired_spells(rule, rate_spells(moments, RateMeasure(more_than, seconds(window)))))

    assert found == list(measured_each_second(rule, moments))


def measured_each_second(rule: Rule, arrivals: list[datetime]) -> Iterator[Excess]:
    """Conclude each second for a minute, as the worker does."""
    assert isinstance(rule.measure, RateMeasure)
    held: Condition | None = Condition(State.WITHIN_LIMITS, after(-1))
    periods = HoldPeriods(rule.pending, rule.keep_firing)
    subject = Subject(SubjectKind.REJECTION_RATE, A_NETWORK, rule=rule.name)
    begun: datetime | None = None
    for now in (after(count) for count in range(60)):
        count = sum(now - rule.measure.window < each <= now for each in arrivals)
        reading = Reading(count > rule.measure.more_than, now)
        concluded = conclude(subject, held, reading, periods, an_id())
        held = concluded.condition
        if concluded.transition is None:
            continue
        if concluded.transition.after is State.BEYOND_LIMITS:
            begun = now
        elif begun is not None:
            yield Excess(begun, now)


@pytest.mark.parametrize(
    ("measure", "pending", "beyond"),
    [
        (BASE_ABOVE, 60, [1, 2, 4]),
        (BASE_ABOVE, 0, [0, 1, 2, 4]),
        (BASE_BELOW, 60, [3]),
        (BASE_BELOW, 0, [0, 3]),
    ],
)
def test_minute_is_beyond_a_limit_with_all_of_its_fees_or_with_any(
    measure: FeeMeasure, pending: int, beyond: list[int]
) -> None:
    ranges = [(29, 31), (31, 33), (32, 40), (1, 29), (31, 32), (30, 30)]
    steps = [
        FeeSpread(after(60 * at), after(60 * at + 59), Wei(lowest), Wei(highest))
        for at, (lowest, highest) in enumerate(ranges)
    ]
    rule = Rule("dear", RuleKind.FEE, measure=measure, pending=seconds(pending))

    judged = list(judged_steps(steps, rule, measure))

    assert [each.at for each in judged[::2]] == [after(60 * at) for at in range(6)]
    assert [at for at in range(6) if judged[2 * at].is_beyond and judged[2 * at + 1].is_beyond] == (
        beyond
    )


def test_fee_rule_fires_by_its_spells() -> None:
    rule = Rule("dear", RuleKind.FEE, measure=BASE_ABOVE, pending=seconds(60))
    values = [JudgedValue(after(each), 100 <= each < 200) for each in range(0, 300, 10)]

    assert fired_of_fees(rule, A_NETWORK, values, seconds(120)) == [
        Firing(after(160), after(200), A_NETWORK)
    ]
    assert fired_of_fees(rule, A_NETWORK, [], seconds(120)) == []


@pytest.mark.parametrize(
    ("hours", "words"),
    [
        ([], "busy would not have fired in the last 7 days."),
        ([12], "busy would have fired once in the last 7 days."),
        ([5, 6, 21, 22], "busy would have fired 4 times in the last 7 days, 2 of them at night."),
    ],
)
def test_preview_says_how_often_and_how_often_at_night(hours: list[int], words: str) -> None:
    firings = tuple(
        Firing(datetime(2026, 11, 20, hour, tzinfo=UTC), None, A_NETWORK) for hour in hours
    )
    preview = RulePreview(
        Rule("busy", RuleKind.BUSY), A_MOMENT - timedelta(days=7), A_MOMENT, firings
    )

    assert preview_in_words(preview, UTC) == words


def test_what_ends_later_than_now_lasts() -> None:
    firings = (
        Firing(A_MOMENT, A_MOMENT, A_NETWORK),
        Firing(A_MOMENT, after(1), A_NETWORK),
        Firing(A_MOMENT, None, A_NETWORK),
    )

    shown = RulePreview(REJECTED, A_MOMENT, A_MOMENT, firings).firings

    assert [each.ends for each in shown] == [A_MOMENT, None, None]


def test_night_is_that_of_the_zone_and_what_was_not_read_is_said() -> None:
    at = datetime(2026, 11, 20, 21, 30, tzinfo=UTC)
    firing = Firing(at, None, A_NETWORK, ((Dimension.MODULE, ""),))
    preview = RulePreview(REJECTED, at - MINUTE, at, (firing,), is_cut=True)

    assert (preview.at_night(UTC), preview.at_night(ZoneInfo("Europe/Berlin"))) == (0, 1)
    assert "only the latest part" in preview_in_words(preview, UTC)
    assert group_in_words(firing) == ""


def test_module_unknown_to_the_limits_file_is_said_of_a_firing() -> None:
    [firing] = firings_of_changes(
        REJECTED, [rejected_at(0, "Module BIN does not exist in the limits file.")]
    )

    assert group_in_words(firing) == "module BIN, stage RPC, missing from the limits file"
