"""What a page says of a network: busy, calm, stale, or why it cannot say."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

import pytest
from msgspec.structs import replace

from dashboard.application.failing_sources import failing_in_words, failing_of
from dashboard.application.network_status import (
    Activity,
    NetworkFigures,
    NetworkProfile,
    NetworkStatus,
    PolledValue,
    conclude_status,
)
from dashboard.application.overview import network_summary
from dashboard.domain.alerts.condition import Condition, State
from dashboard.domain.fees.gas import GasSource
from dashboard.domain.formatting import span
from dashboard.domain.health.observation import Failure, FailureKind, Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.fees.stored_fees import FeeBounds
from dashboard.store.monitoring.answer_counts import StandingFailure

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PERIOD = timedelta(seconds=4)
MINUTE = timedelta(minutes=1)
FEES, THRESHOLD = Operation.SUGGESTED_GAS_FEES, Operation.BUSY_THRESHOLD
EXCLUSION = Operation.EXCLUSION_STATUS
CARD = NetworkProfile(
    NetworkId(1), "Net", is_simulated=False, gas_period=PERIOD, threshold_period=15 * PERIOD
)


def seen(wei: int, age: timedelta = timedelta(0), period: timedelta = PERIOD) -> PolledValue[Wei]:
    """Return a fee that was asked for some time ago."""
    return PolledValue(Wei(wei), NOW - age, period)


def recent(*fees: int) -> FeeBounds:
    """Return the bounds of fees."""
    return FeeBounds(len(fees), Wei(min(fees)), Wei(max(fees)))


def figures(*fees: int, threshold: int = 10) -> NetworkFigures:
    """Return the figures of a network that was just asked; the last fee is the present one."""
    return NetworkFigures(
        CARD, base_fee=seen(fees[-1]), busy_threshold=seen(threshold), recent=recent(*fees)
    )


BUSY_FOR_20_MIN = Condition(State.BUSY, NOW - 20 * MINUTE)
NO_ANSWER = Failure(FailureKind.UNAVAILABLE, "The gas endpoint gave no answer within 5 s.")
CASES = {
    "above the threshold": (
        figures(11),
        Activity.BUSY,
        "The base fee is above the busy threshold.",
    ),
    "at the threshold": (
        figures(10),
        Activity.CALM,
        "The base fee is at or below the busy threshold.",
    ),
    "as busy as the incident says while the fee is low": (
        replace(figures(9), busyness=replace(BUSY_FOR_20_MIN, turning_since=NOW - 3 * MINUTE)),
        Activity.BUSY,
        (
            "Busy since 11:40:00 UTC; at or below the threshold for 3 min, over at 12:02:00 UTC if "
            "that lasts. The base fee is at or below the busy threshold."
        ),
    ),
    "over with the next answer": (
        replace(figures(9), busyness=replace(BUSY_FOR_20_MIN, turning_since=NOW - 5 * MINUTE)),
        Activity.BUSY,
        "*for 5 min, over with the next answer.*",
    ),
    "calm until the incident opens": (
        replace(
            figures(11),
            busyness=Condition(State.CALM, NOW - 20 * MINUTE, turning_since=NOW - PERIOD),
        ),
        Activity.CALM,
        "*above the threshold for 4 s, busy at 12:00:56 UTC if that lasts.*",
    ),
    "stale, and still counts as busy": (
        replace(figures(11), base_fee=seen(11, 9 * PERIOD), busyness=BUSY_FOR_20_MIN),
        Activity.STALE,
        "*Last seen busy, since 11:40:00 UTC.*",
    ),
    "stays busy while the threshold is missing": (
        replace(figures(11), busy_threshold=None, busyness=BUSY_FOR_20_MIN),
        Activity.BUSY,
        "*No busy threshold has been seen yet*",
    ),
    "two periods old": (replace(figures(9), base_fee=seen(9, 2 * PERIOD)), Activity.CALM, "*"),
    "older than two periods": (
        replace(figures(9), base_fee=seen(9, 2 * PERIOD + timedelta(milliseconds=1))),
        Activity.STALE,
        "The last answer came 8 s ago; one is due every 4 s.*",
    ),
    "dated in the future": (
        replace(figures(9), base_fee=seen(9, -timedelta(days=3))),
        Activity.STALE,
        "The last answer is dated in the future*",
    ),
    "dated a moment ahead": (
        replace(figures(9), base_fee=seen(9, -timedelta(seconds=5))),
        Activity.CALM,
        "*",
    ),
    "a threshold within its own period": (
        replace(figures(9), busy_threshold=seen(10, age=5 * PERIOD, period=15 * PERIOD)),
        Activity.CALM,
        "*",
    ),
    "a threshold beyond two of its periods": (
        replace(figures(9), busy_threshold=seen(10, age=31 * PERIOD, period=15 * PERIOD)),
        Activity.STALE,
        "*",
    ),
    "a constant fee": (figures(*[7] * 30, threshold=7), Activity.FLAT_FEE, "*"),
    "no threshold": (
        replace(figures(9), busy_threshold=None),
        Activity.UNKNOWN,
        "*threshold has been seen yet*",
    ),
    "nothing seen": (
        NetworkFigures(CARD),
        Activity.UNKNOWN,
        "No base fee has been seen yet; the first answer brings it.",
    ),
    "never answered": (
        NetworkFigures(
            CARD,
            failures=[StandingFailure(Operation.SUGGESTED_GAS_FEES, NOW - MINUTE, NOW, NO_ANSWER)],
        ),
        Activity.UNKNOWN,
        (
            "No base fee has been seen yet: no answer since 11:59:00 UTC (1 min ago). "
            "The gas endpoint gave no answer within 5 s."
        ),
    ),
    "no gas source": (
        NetworkFigures(dataclasses.replace(CARD, has_gas=False)),
        Activity.UNKNOWN,
        "*No gas API and no node is configured*",
    ),
}


@pytest.mark.parametrize(("known", "activity", "words"), CASES.values(), ids=CASES)
def test_activity_follows_from_what_is_known(
    known: NetworkFigures, activity: Activity, words: str
) -> None:
    status = conclude_status(known, NOW)

    assert status.activity is activity
    assert fnmatchcase(status.activity_reason, words)


@pytest.mark.parametrize(
    ("operations", "named"),
    [
        ([Operation.EXCLUSION_STATUS], "exclusion API"),
        ([Operation.BUSY_THRESHOLD, Operation.SUGGESTED_GAS_FEES], "gas API"),
        ([Operation.TRANSACTION_RECEIPT], "network's node"),
        ([Operation.EXCLUSION_STATUS, Operation.BASE_FEE_HISTORY], "exclusion API"),
    ],
)
def test_answer_names_each_api_that_gives_no_answer(
    operations: list[Operation], named: str
) -> None:
    failure = Failure(FailureKind.REFUSED, "key refused")
    silent = [StandingFailure(each, NOW - PERIOD, NOW, failure) for each in operations]
    calm = conclude_status(figures(9), NOW)
    unanswered = conclude_status(replace(figures(9), failures=silent), NOW)

    assert network_summary([calm, unanswered], NOW) == f"Net: {named} down {span(PERIOD)}."


def test_answer_waits_for_no_fees_where_none_are_watched() -> None:
    without_gas = conclude_status(NetworkFigures(dataclasses.replace(CARD, has_gas=False)), NOW)

    assert network_summary([without_gas], NOW) == "No network is busy or stale."


@pytest.mark.parametrize(
    ("failing", "answered", "words"),
    [
        ({FEES: 50, EXCLUSION: 50}, None, "gas API and exclusion API down 50 min"),
        ({FEES: 20, EXCLUSION: 50}, None, "exclusion API down 50 min"),
        ({THRESHOLD: 50}, 0, "busy threshold not answered for 50 min"),
        ({Operation.BASE_FEE_HISTORY: 90, EXCLUSION: 50}, 0, "exclusion API down 50 min"),
        ({THRESHOLD: 50, FEES: 20}, 21, "gas API down 20 min"),
        ({FEES: 50}, 3, "base fee, congestion, suggested fees not answered for 50 min"),
    ],
)
def test_source_is_down_only_if_it_answers_nothing_as_alerts_judge_it(
    failing: dict[Operation, int], answered: int | None, words: str
) -> None:
    failures = [
        StandingFailure(
            each, NOW - many * MINUTE, NOW, Failure(FailureKind.UNAVAILABLE, "no route")
        )
        for each, many in failing.items()
    ]
    last = None if answered is None else NOW - answered * MINUTE
    silent = replace(figures(9), failures=failures, fees_answered_at=last)

    assert failing_in_words("Net", failing_of(silent), NOW) == f"Net: {words}"


def test_overview_names_the_worst_first() -> None:
    busy = conclude_status(figures(11), NOW)
    calm = conclude_status(figures(9), NOW)
    stale = conclude_status(replace(figures(9), base_fee=seen(9, 9 * PERIOD)), NOW)

    assert network_summary([busy, stale], NOW) == "Net stale · Net busy."
    assert network_summary([stale] * 3, NOW) == "3 stale."
    assert network_summary([stale], NOW) == "Net is stale."
    unseen = conclude_status(replace(figures(9), base_fee=None), NOW)
    assert network_summary([unseen], NOW) == "Net is not evaluated yet."
    assert (
        network_summary([*_named(stale, "A"), calm, busy, busy], NOW) == "A stale · 2 others busy."
    )


def test_network_that_fails_is_not_named_again_as_stale() -> None:
    failure = Failure(FailureKind.UNAVAILABLE, "down")
    standing = StandingFailure(Operation.SUGGESTED_GAS_FEES, NOW - PERIOD, NOW, failure)
    old = replace(figures(9), base_fee=seen(9, 9 * PERIOD), failures=[standing])

    calm, failing = conclude_status(figures(9), NOW), conclude_status(old, NOW)

    down = f"Net: gas API down {span(PERIOD)}"
    assert network_summary([calm, failing], NOW) == f"{down}."
    assert network_summary([failing], NOW) == f"{down} · Net stale."
    assert network_summary([failing, failing, failing], NOW) == f"{down} · 2 others failing."


def _named(status: NetworkStatus, *names: str) -> list[NetworkStatus]:
    return [
        replace(
            status,
            figures=replace(status.figures, profile=dataclasses.replace(CARD, name=name)),
        )
        for name in names
    ]


def test_overview_calls_all_calm_only_if_all_are() -> None:
    calm = conclude_status(figures(9), NOW)
    flat = conclude_status(figures(*[7] * 30, threshold=7), NOW)

    assert network_summary([calm], NOW) == "Net is calm."
    assert network_summary([calm, flat], NOW) == "No network is busy or stale."


def test_source_of_fees_is_named_by_who_told_them() -> None:
    seen_last = figures(9)

    real = (GasSource.GAS_API, GasSource.NODE, GasSource.NODE_INSTEAD)
    told = [replace(seen_last, gas_source=each).gas_source_name() for each in real]

    assert told == [
        "the gas API",
        "the network's node",
        "the network's node, since the gas API does not answer",
    ]
