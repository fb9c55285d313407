"""Whether rejections get more: only what was watched is compared, and chance is no trend."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.application.rejection_timeline import PERIODS, window_of
from dashboard.application.rejection_trend import Compared, Trend, trend_of, trend_words
from dashboard.domain.health.coverage import WatchedTime
from tests.builders import A_MOMENT

DAY = timedelta(hours=24)
NOON = A_MOMENT + DAY / 2
WHOLE = WatchedTime(A_MOMENT, A_MOMENT + DAY)
PARTLY = WatchedTime(A_MOMENT, A_MOMENT + DAY, ((A_MOMENT, NOON),))
NEVER = WatchedTime(A_MOMENT, A_MOMENT + DAY, ((A_MOMENT, A_MOMENT + DAY),))


@pytest.mark.parametrize(
    ("total", "before", "now", "earlier", "trend"),
    [
        (60, 20, WHOLE, WHOLE, Trend.WORSE),
        (20, 60, WHOLE, WHOLE, Trend.BETTER),
        (14, 8, WHOLE, WHOLE, Trend.SAME),
        (60, 20, PARTLY, WHOLE, Trend.WORSE),
        (20, 60, WHOLE, PARTLY, Trend.BETTER),
        (60, 20, WHOLE, PARTLY, Trend.UNKNOWN),
        (20, 60, PARTLY, WHOLE, Trend.UNKNOWN),
        (14, 8, PARTLY, WHOLE, Trend.UNKNOWN),
    ],
)
def test_trend_holds_whatever_was_missed(
    total: int, before: int, now: WatchedTime, earlier: WatchedTime, trend: Trend
) -> None:
    assert trend_of(Compared(total, before, now, earlier)) is trend


@pytest.mark.parametrize(
    ("compared", "words"),
    [
        (
            Compared(60, 20, WHOLE, WHOLE),
            "Getting worse: 60 rejections in the last 24 h, 20 in the 24 h before.",
        ),
        (
            Compared(1, 1, WHOLE, WHOLE),
            "No clear change: 1 rejection in the last 24 h, 1 in the 24 h before.",
        ),
        (
            Compared(0, 0, WHOLE, WHOLE),
            "No rejection in the last 24 h, and none in the 24 h before.",
        ),
        (
            Compared(7, 4, PARTLY, PARTLY),
            (
                "Trend not known: 7 rejections or more in the last 24 h (12 h of it watched), "
                "4 or more in the 24 h before (12 h of it watched)."
            ),
        ),
        (
            Compared(0, 0, NEVER, NEVER),
            (
                "No rejection seen in the last 24 h (none of it watched); the 24 h "
                "before was not watched."
            ),
        ),
    ],
)
def test_sentence_has_both_counts_and_what_was_not_watched(compared: Compared, words: str) -> None:
    assert trend_words(compared, window_of(PERIODS["24 h"], A_MOMENT)) == words
