"""Shares and times of answers are right, whatever was asked."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.health.observation import LIMITS, AnswerCounts, times_of

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


def test_slowest_answers_are_taken_for_the_deadline_at_most() -> None:
    assert taking(20_000).percentile(1) == timedelta(seconds=30)
    assert taking(3).percentile(1) == 5 * MS


def test_nothing_is_known_of_what_was_never_answered() -> None:
    assert AnswerCounts(failed=3).percentile(0.5) is None
