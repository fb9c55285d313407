"""What a page says of a network: busy, calm, stale, or why it cannot say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from dashboard.domain.observation import Failure, FailureKind, GasSource, Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.show.networks import (
    Activity,
    Datum,
    NetworkCard,
    NetworkFigures,
    conclude_status,
)
from dashboard.show.outlook import answer
from dashboard.store.failing import StandingFailure

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PERIOD = timedelta(seconds=4)
CARD = NetworkCard(
    NetworkId(1), "Net", is_simulated=False, gas_period=PERIOD, threshold_period=15 * PERIOD
)


def seen(wei: int, age: timedelta = timedelta(0), period: timedelta = PERIOD) -> Datum[Wei]:
    """Return a fee that was asked for some time ago."""
    return Datum(Wei(wei), NOW - age, period)


def recent(*fees: int) -> list[tuple[datetime, Wei]]:
    """Return fees four seconds apart, the last one now."""
    return [(NOW - PERIOD * i, Wei(fee)) for i, fee in enumerate(reversed(fees))][::-1]


def figures(*fees: int, threshold: int = 10) -> NetworkFigures:
    """Return the figures of a network that was just asked; the last fee is the present one."""
    return NetworkFigures(
        CARD, base_fee=seen(fees[-1]), busy_threshold=seen(threshold), recent=recent(*fees)
    )


def test_fee_above_the_threshold_is_busy_since_it_crossed() -> None:
    status = conclude_status(figures(9, 10, 11, 12, 13), NOW)

    assert status.activity is Activity.BUSY
    assert status.activity_reason == "The base fee has been above the busy threshold for 8 s."


def test_fee_equal_to_the_threshold_is_calm() -> None:
    status = conclude_status(figures(11, 10), NOW)

    assert status.activity is Activity.CALM
    assert "stayed at or below" in status.activity_reason


def test_duration_that_began_before_what_was_seen_is_said_to_be_longer() -> None:
    status = conclude_status(figures(11, 12), NOW)

    assert status.activity_reason.endswith("for at least 4 s.")


def test_fee_of_two_periods_ago_is_still_fresh() -> None:
    status = conclude_status(replace(figures(9), base_fee=seen(9, 2 * PERIOD)), NOW)

    assert status.activity is Activity.CALM


def test_fee_older_than_two_periods_is_stale_and_not_called_calm() -> None:
    old = seen(9, 2 * PERIOD + timedelta(milliseconds=1))

    status = conclude_status(replace(figures(9), base_fee=old), NOW)

    assert status.activity is Activity.STALE
    assert status.activity_reason.startswith("The last answer came 8 s ago; one is due every 4 s.")


def test_fee_dated_in_the_future_is_stale_whatever_it_says() -> None:
    ahead = replace(figures(9), base_fee=seen(9, -timedelta(days=3)))

    status = conclude_status(ahead, NOW)

    assert status.activity is Activity.STALE
    assert status.activity_reason.startswith("The last answer is dated in the future")


def test_fee_dated_a_moment_ahead_is_fresh() -> None:
    status = conclude_status(replace(figures(9), base_fee=seen(9, -timedelta(seconds=5))), NOW)

    assert status.activity is Activity.CALM


def test_threshold_ages_by_its_own_period() -> None:
    slow = seen(10, age=5 * PERIOD, period=15 * PERIOD)

    status = conclude_status(replace(figures(9), busy_threshold=slow), NOW)

    assert status.activity is Activity.CALM


def test_stale_threshold_makes_busyness_stale() -> None:
    old = seen(10, age=31 * PERIOD, period=15 * PERIOD)

    status = conclude_status(replace(figures(9), busy_threshold=old), NOW)

    assert status.activity is Activity.STALE


def test_chain_with_a_constant_fee_is_said_to_be_one() -> None:
    status = conclude_status(figures(*[7] * 30, threshold=7), NOW)

    assert status.activity is Activity.FLAT_FEE


def test_missing_threshold_is_named_as_the_reason() -> None:
    status = conclude_status(replace(figures(9), busy_threshold=None), NOW)

    assert status.activity is Activity.UNKNOWN
    assert "threshold was not seen yet" in status.activity_reason


def test_network_never_seen_waits_for_its_first_poll() -> None:
    status = conclude_status(NetworkFigures(CARD), NOW)

    assert status.activity is Activity.UNKNOWN
    assert "first poll" in status.activity_reason


def test_network_without_a_gas_endpoint_says_so() -> None:
    status = conclude_status(NetworkFigures(replace(CARD, has_gas=False)), NOW)

    assert status.activity is Activity.UNKNOWN
    assert "No gas API and no node is configured" in status.activity_reason


def test_answer_names_a_network_that_gives_no_answer_before_all_others() -> None:
    failure = Failure(FailureKind.REFUSED, "key refused")
    silent = StandingFailure(Operation.EXCLUSION_STATUS, NOW - PERIOD, NOW, failure)
    calm = conclude_status(figures(9), NOW)
    unanswered = conclude_status(replace(figures(9), failures=[silent]), NOW)

    assert answer([calm, unanswered]) == "No answer from: Net."


def test_answer_waits_for_no_fees_where_none_are_watched() -> None:
    without_gas = conclude_status(NetworkFigures(replace(CARD, has_gas=False)), NOW)

    assert answer([without_gas]) == "No network is busy or stale."


def test_longest_failure_of_each_kind_is_told_apart() -> None:
    failures = [
        StandingFailure(operation, NOW - age, NOW, Failure(FailureKind.UNAVAILABLE, "down"))
        for operation, age in (
            (Operation.BUSY_THRESHOLD, PERIOD),
            (Operation.SUGGESTED_GAS_FEES, 2 * PERIOD),
            (Operation.EXCLUSION_STATUS, 3 * PERIOD),
        )
    ]
    silent = replace(figures(9), failures=failures)

    assert silent.gas_failure() == failures[1]
    assert silent.exclusion_failure() == failures[2]


def test_overview_names_the_worst_first() -> None:
    busy = conclude_status(figures(11), NOW)
    stale = conclude_status(replace(figures(9), base_fee=seen(9, 9 * PERIOD)), NOW)

    assert answer([busy, stale]) == "Stale: Net. Busy: Net."


def test_overview_calls_all_calm_only_if_all_are() -> None:
    calm = conclude_status(figures(9), NOW)
    flat = conclude_status(figures(*[7] * 30, threshold=7), NOW)

    assert answer([calm]) == "Every network is calm."
    assert answer([calm, flat]) == "No network is busy or stale."


def test_source_of_fees_is_named_by_who_told_them() -> None:
    seen_last = figures(9)

    real = (GasSource.GAS_API, GasSource.NODE, GasSource.NODE_INSTEAD)
    told = [replace(seen_last, gas_source=each).gas_source_name() for each in real]

    assert told == [
        "the gas API",
        "the network's node",
        "the network's node, since the gas API does not answer",
    ]
