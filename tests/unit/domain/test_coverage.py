"""Gaps in what was watched, and how long they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from dashboard.domain.coverage import Gap, GapCause, Watched
from tests.builders import A_MOMENT, A_NETWORK, seconds

LASTING = Gap(A_NETWORK, Watched.FEES, A_MOMENT, None, GapCause.NOT_WATCHED)


def test_gap_that_lasts_is_as_long_as_it_has_been_until_now() -> None:
    assert LASTING.length(A_MOMENT + seconds(90)) == seconds(90)


def test_gap_that_ended_stays_as_long_as_it_was() -> None:
    ended = replace(LASTING, ends_at=A_MOMENT + seconds(30))

    assert ended.length(A_MOMENT + seconds(90)) == seconds(30)


def test_gap_that_begins_later_than_now_has_no_length() -> None:
    assert LASTING.length(A_MOMENT - seconds(5)) == timedelta()
