"""Gaps in what was watched, how long they are, and what they leave of a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from dashboard.domain.health.coverage import (
    SHORTEST_GAP,
    Covered,
    Gap,
    GapCause,
    Watched,
    WatchedTime,
)
from tests.builders import A_MOMENT, A_NETWORK, seconds

HOUR = timedelta(hours=1)
LASTING = Gap(A_NETWORK, Watched.FEES, A_MOMENT, None, GapCause.NOT_WATCHED)


def test_gap_that_lasts_is_as_long_as_it_has_been_until_now() -> None:
    assert LASTING.length(A_MOMENT + seconds(90)) == seconds(90)


def test_gap_that_ended_stays_as_long_as_it_was() -> None:
    ended = replace(LASTING, ends_at=A_MOMENT + seconds(30))

    assert ended.length(A_MOMENT + seconds(90)) == seconds(30)


def test_gap_that_begins_later_than_now_has_no_length() -> None:
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
    assert replace(held, silence=None).unseen(A_MOMENT, later) == (unwatched,)
    assert held.unseen(A_MOMENT, later - seconds(1)) == ()


def hours(begins: float, ends: float) -> tuple[datetime, datetime]:
    return A_MOMENT + begins * HOUR, A_MOMENT + ends * HOUR


def test_what_was_missed_of_a_time_is_joined_and_cut_to_it() -> None:
    missed = [hours(5, 6), hours(3, 4), hours(-2, 1), hours(3.5, 3.8), hours(-3, -2), hours(9, 12)]

    time = WatchedTime.of(*hours(0, 10), missed)

    assert time.missed == (hours(0, 1), hours(3, 4), hours(5, 6), hours(9, 10))
    assert time.watched == 6 * HOUR
    assert not time.is_whole
    assert time.within(*hours(3.5, 5)) == WatchedTime(*hours(3.5, 5), (hours(3.5, 4),))


def test_time_is_watched_as_a_whole_in_spite_of_a_restart() -> None:
    assert WatchedTime.of(*hours(0, 10), [hours(4, 4.2)]).is_whole
    assert not WatchedTime.of(*hours(0, 10), [hours(4, 4.3)]).is_whole
