"""Observations, counts of answers, coverage, clocks that jump, and troubles that pages tell."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import combinations

import pytest
from msgspec.structs import replace

from dashboard.domain.fees.gas import GasObservation, GasSource
from dashboard.domain.health.coverage import (
    SHORTEST_GAP,
    Covered,
    Gap,
    GapCause,
    Watched,
    WatchedTime,
)
from dashboard.domain.health.mail_outages_and_failing_roles import MailTrouble
from dashboard.domain.health.observation import (
    LIMITS,
    AnswerCounts,
    Failure,
    FailureKind,
    Operation,
    Spent,
    longest_retry_after,
    times_of,
)
from dashboard.domain.health.retention import (
    CONFIRMED_BY,
    FURTHEST,
    ClockJump,
    StoreSize,
    growth_of,
    unconfirmed_jump,
)
from tests.builders import A_MOMENT, A_NETWORK, DAY, HOUR, seconds


def test_what_was_made_up_gives_way_to_the_node_instead_and_that_to_all_others() -> None:
    worst_first = (GasSource.DEMO_HISTORY, GasSource.NODE_INSTEAD, GasSource.GAS_API)

    for worse, better in combinations(worst_first, 2):
        assert better.is_better_than(worse)
        assert not worse.is_better_than(better)


def test_node_and_gas_api_are_believed_alike() -> None:
    assert not GasSource.NODE.is_better_than(GasSource.GAS_API)
    assert not GasSource.GAS_API.is_better_than(GasSource.NODE)


def test_source_that_is_not_named_is_the_gas_api() -> None:
    sources = {Operation.BUSY_THRESHOLD: GasSource.NODE}
    observation = GasObservation(A_NETWORK, A_MOMENT, sources=sources)

    assert observation.source_of(Operation.BUSY_THRESHOLD) is GasSource.NODE
    assert observation.source_of(Operation.SUGGESTED_GAS_FEES) is GasSource.GAS_API


def test_calls_and_credits_add_up() -> None:
    assert Spent(1, 80) + Spent(2) == Spent(3, 80)


def test_longest_of_the_pauses_that_an_upstream_asks_for_is_kept() -> None:
    waits = (None, timedelta(seconds=30), timedelta(minutes=2))
    failures = [Failure(FailureKind.THROTTLED, "", wait) for wait in waits]

    assert longest_retry_after(failures) == timedelta(minutes=2)
    assert longest_retry_after(failures[:1]) == timedelta()


MS = timedelta(milliseconds=1)


def taking(*milliseconds: int) -> AnswerCounts:
    """Count answers that took so long."""
    each = (AnswerCounts(answered=1, times=times_of(took * MS)) for took in milliseconds)
    return sum(each, AnswerCounts())


def test_share_counts_what_the_node_answered_instead() -> None:
    counts = AnswerCounts(answered=6, instead=3, failed=1)

    assert counts.share() == 0.9
    assert counts.asked == 10
    assert AnswerCounts().share() is None


@pytest.mark.parametrize(
    ("took", "place"), [(0, 0), (5, 0), (6, 1), (10_000, 10), (10_001, 11), (99_999, 11)]
)
def test_answer_counts_up_to_its_limit(took: int, place: int) -> None:
    times = times_of(took * MS)

    assert times.index(1) == place
    assert sum(times) == 1
    assert len(times) == len(LIMITS) + 1


def test_percentiles_lie_where_the_answers_do() -> None:
    counts = taking(*[7] * 90, *[200] * 10)

    half, most = counts.percentile(0.5), counts.percentile(0.95)
    assert half is not None
    assert most is not None
    assert 5 * MS < half < 10 * MS
    assert 100 * MS < most < 250 * MS
    assert taking(7, 7).percentile(0.5) == 7.5 * MS


def test_slowest_answers_are_taken_for_the_deadline_at_most() -> None:
    assert taking(20_000).percentile(1) == timedelta(seconds=30)
    assert taking(3).percentile(1) == 5 * MS


def test_nothing_is_known_of_what_was_never_answered() -> None:
    assert AnswerCounts(failed=3).percentile(0.5) is None


LASTING = Gap(A_NETWORK, Watched.FEES, A_MOMENT, None, GapCause.NOT_WATCHED)


def test_gap_is_as_long_as_it_was_or_has_been_until_now() -> None:
    ended = replace(LASTING, ends_at=A_MOMENT + seconds(30))

    assert LASTING.length(A_MOMENT + seconds(90)) == seconds(90)
    assert ended.length(A_MOMENT + seconds(90)) == seconds(30)
    assert LASTING.length(A_MOMENT - seconds(5)) == timedelta()


def test_gap_ends_at_its_own_beginning_by_a_clock_that_was_set_back() -> None:
    assert LASTING.ended(A_MOMENT + HOUR).ends_at == A_MOMENT + HOUR
    assert LASTING.ended(A_MOMENT - HOUR).ends_at == A_MOMENT


def test_time_without_a_worker_ends_the_silence_before_it() -> None:
    silence = replace(LASTING, cause=GapCause.NOT_ANSWERED)
    held = Covered(A_NETWORK, Watched.FEES, A_MOMENT, A_MOMENT, silence)
    later = A_MOMENT + SHORTEST_GAP

    unwatched = replace(LASTING, ends_at=later)
    assert held.unseen(A_MOMENT, later) == (silence.ended(A_MOMENT), unwatched)
    assert replace(held, open_gap=None).unseen(A_MOMENT, later) == (unwatched,)
    assert held.unseen(A_MOMENT, later - seconds(1)) == ()


def hours(begins: float, ends: float) -> tuple[datetime, datetime]:
    return A_MOMENT + begins * HOUR, A_MOMENT + ends * HOUR


def test_what_was_missed_of_a_time_is_joined_and_cut_to_it() -> None:
    missed = [hours(5.5, 6), hours(5, 5.5), hours(3, 4), hours(-2, 1), hours(3.5, 3.8)]

    time = WatchedTime.of(*hours(0, 10), [*missed, hours(-3, -2), hours(9, 12)])

    assert time.missed == (hours(0, 1), hours(3, 4), hours(5, 6), hours(9, 10))
    assert time.watched == 6 * HOUR
    assert not time.is_whole
    assert time.within(*hours(3.5, 5)) == WatchedTime(*hours(3.5, 5), (hours(3.5, 4),))


def test_time_is_watched_as_a_whole_in_spite_of_a_restart() -> None:
    assert WatchedTime.of(*hours(0, 10), [hours(4, 4.2)]).is_whole
    assert not WatchedTime.of(*hours(0, 10), [hours(4, 4.3)]).is_whole


DECADE = 3650 * DAY
LAST_WEEK = [A_MOMENT - number * DAY for number in range(7)]


AHEAD = A_MOMENT + FURTHEST + timedelta(milliseconds=1)
AFTER = [A_MOMENT + DECADE + number * DAY for number in range(CONFIRMED_BY)]
FORTNIGHTLY = [A_MOMENT + 14 * number * DAY for number in range(10)]


@pytest.mark.parametrize(
    ("measured", "now", "jump"),
    [
        ([], A_MOMENT, None),
        (LAST_WEEK, A_MOMENT + FURTHEST, None),
        (LAST_WEEK, AHEAD, ClockJump(A_MOMENT, AHEAD)),
        ([*LAST_WEEK, *AFTER[:-1]], AFTER[-1], ClockJump(A_MOMENT, AFTER[0])),
        ([*LAST_WEEK, *AFTER], AFTER[-1], None),
        ([*LAST_WEEK, *AFTER], AFTER[-1] + DECADE, ClockJump(AFTER[-1], AFTER[-1] + DECADE)),
        ([*LAST_WEEK, *AFTER[:2]], A_MOMENT + DAY, None),
        (
            FORTNIGHTLY,
            FORTNIGHTLY[-1] + 14 * DAY,
            ClockJump(FORTNIGHTLY[-CONFIRMED_BY], FORTNIGHTLY[-CONFIRMED_BY + 1]),
        ),
    ],
    ids=[
        "new store",
        "three days without a worker",
        "leap",
        "not believed yet",
        "believed after some days",
        "second leap",
        "clock set right",
        "machine that runs once a fortnight",
    ],
)
def test_leap_of_the_clock_is_doubted_until_days_were_measured_after_it(
    measured: list[datetime], now: datetime, jump: ClockJump | None
) -> None:
    assert unconfirmed_jump(measured, now) == jump


@pytest.mark.parametrize(
    ("pending", "after", "is_outage"), [(1, 600, True), (1, 599, False), (0, 9999, False)]
)
def test_trouble_is_an_outage_once_it_lasted_and_holds_mail_back(
    pending: int, after: int, *, is_outage: bool
) -> None:
    trouble = MailTrouble(7, A_MOMENT, pending, "421 later")

    assert trouble.is_outage(A_MOMENT + seconds(after), timedelta(minutes=10)) is is_outage


def a_store(growth: float | None, inside: int = 0, on_disk: int | None = 1000) -> StoreSize:
    """Return a store of 100 bytes that grows."""
    return StoreSize(A_MOMENT, 100, growth, inside, on_disk)


def test_room_inside_of_the_file_is_used_before_the_disk_is_full() -> None:
    assert a_store(100.0).full_in == 10 * DAY
    assert a_store(100.0, inside=500).full_in == 15 * DAY


@pytest.mark.parametrize(
    "store", [*map(a_store, (None, 0.0, -5.0)), a_store(5.0, on_disk=None)], ids=repr
)
def test_store_that_does_not_grow_or_knows_no_room_fills_no_disk(store: StoreSize) -> None:
    assert store.full_in is None


def test_time_beyond_a_century_is_told_as_one() -> None:
    assert a_store(1e-300).full_in == 100 * 365 * DAY


@pytest.mark.parametrize(
    ("hours", "grown"), [(19, None), (20, 1200), (24, 1000), (48, 500), (240, 100)]
)
def test_growth_is_that_of_a_day_and_needs_nearly_one(hours: int, grown: float | None) -> None:
    then = A_MOMENT - timedelta(hours=hours)

    assert growth_of((then, 500), (A_MOMENT, 1500)) == grown
