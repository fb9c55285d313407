"""What a fee did: busy strictly above, gaps known as gaps, levels as they were then."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from dashboard.application.fee_timeline import (
    FeeMarks,
    FeeTimeline,
    busy_in_words,
    longest_usual_pause,
)
from dashboard.application.time_ranges import TIME_RANGES
from dashboard.domain.fees.busy_spells import BusyTime
from dashboard.domain.health.coverage import WatchedTime
from dashboard.show.parts.fee_summary import timeline_in_words
from tests.builders import A_MOMENT, seconds
from tests.unit.show.fee_timelines import STEP, a_step, a_timeline, busy, in_columns
from tests.unit.show.page_runs import with_blanks


def words_of_timeline(timeline: FeeTimeline, name: str, step: timedelta, **how: Any) -> str:  # noqa: ANN401 - marks, or whether it is a table
    """Say what the chart or its table shows."""
    return with_blanks(timeline_in_words(timeline, name, step, **how))


def test_busy_part_of_a_step_is_its_time_in_spells_over_its_time_watched() -> None:
    watched = WatchedTime.of(
        A_MOMENT, A_MOMENT + 5 * STEP, [(A_MOMENT + 2.5 * STEP, A_MOMENT + 4 * STEP)]
    )
    spells = busy((0.5, 1.75), (2, 2.25), (4.5, 9)).spells
    timeline = a_timeline(9, 9, 9, 9, 9, busy=BusyTime(spells, watched))

    assert timeline.busy_parts.tolist() == pytest.approx([0.5, 0.75, 0.5, np.nan, 0.5], nan_ok=True)


def test_nobody_knows_how_busy_it_was_while_nobody_watched() -> None:
    assert np.isnan(a_timeline(11, 9, busy=BusyTime()).busy_parts).all()


def test_gap_is_told_also_one_that_lasts() -> None:
    until = A_MOMENT + seconds(60)

    assert a_timeline(11, 9, None, None, 11).gaps() == [(A_MOMENT + STEP, A_MOMENT + 4 * STEP)]
    assert a_timeline(1, 1, until=until).gaps() == [(A_MOMENT + STEP, until)]


def test_level_that_swings_all_the_time_is_noise() -> None:
    timeline = a_timeline(*[10] * 50)
    swinging = np.tile([1, 9], 25)

    assert timeline.can_be_read(np.full(50, 9))
    assert timeline.can_be_read(np.arange(50))
    assert not timeline.can_be_read(swinging)


def test_share_of_blocks_leaves_gaps_out_and_is_never_above_all() -> None:
    some = a_timeline(5, 5, 5, None, None, None, 5, value_time=seconds(5))

    assert some.block_share() == pytest.approx(4 / 6)
    assert a_timeline(5, 5, value_time=seconds(60)).block_share() == 1.0
    assert a_timeline(5, 5).block_share() is None


def test_words_tell_the_share_and_of_what_it_is() -> None:
    assert busy_in_words(a_timeline(11, 9)) == "Busy for 50% of the time, in 1 spell."
    some = busy((0, 1), watched=(0, 2))
    missed = WatchedTime.of(
        A_MOMENT, A_MOMENT + 4 * STEP, [(A_MOMENT + 2 * STEP, A_MOMENT + 4 * STEP)]
    )
    assert busy_in_words(a_timeline(1, 1, 1, 1, busy=BusyTime(some.spells, missed))) == (
        "Busy for 50% of the time that was watched (50% of this range), in 1 spell."
    )
    assert "less than 1%" in str(busy_in_words(a_timeline(11, *[9] * 400)))
    assert busy_in_words(a_timeline(9)) == "Busy for 0% of the time."
    assert busy_in_words(a_timeline(1, 2, busy=BusyTime())) == (
        "The busy time is not known: the network was not watched."
    )
    assert busy_in_words(a_timeline(1, 2, threshold=None)) is None


def test_peak_outside_of_spells_is_no_busy_time() -> None:
    calm = a_timeline(9, 11, 9, busy=busy(watched=(0, 3)))

    assert busy_in_words(calm) == (
        "Busy for 0% of the time. Brief peaks above the threshold do not count."
    )
    assert not a_timeline(9, 11, 9).has_brief_peaks
    assert not a_timeline(9, 11, 9, threshold=None).has_brief_peaks


def test_flat_timeline_has_one_value() -> None:
    assert a_timeline(7, 7, 7).is_flat
    assert not a_timeline(7, 8).is_flat


def test_pause_inside_of_a_step_is_told_where_it_is_longer_than_usual() -> None:
    hour = timedelta(hours=1)
    quiet = a_step(0, 1, 2, lasts=hour, longest_gap=seconds(15))
    silent = a_step(1, 1, 2, lasts=hour, longest_gap=seconds(16))

    assert a_timeline(steps=[quiet, silent]).pauses_inside() == [silent]


def test_words_never_say_that_there_are_no_gaps_beside_one() -> None:
    hour = timedelta(hours=1)
    silent = a_step(0, 1, 2, lasts=hour, longest_gap=seconds(30))

    words = words_of_timeline(
        a_timeline(steps=[silent, a_step(1, 1, 2, lasts=hour)], busy=BusyTime()),
        "Fee",
        TIME_RANGES[5].step,
    )

    assert "1 step has a gap too short to be drawn, the longest: 30 s between" in words
    assert "No gaps" not in words


def test_gaps_are_those_of_health_and_other_silences_are_pauses() -> None:
    missed = [(A_MOMENT - STEP, A_MOMENT), (A_MOMENT + 1.5 * STEP, A_MOMENT + 4 * STEP)]
    watched = WatchedTime.of(A_MOMENT - STEP, A_MOMENT + 9 * STEP, missed)
    timeline = a_timeline(1, 2, None, None, 1, 2, None, None, 1, busy=BusyTime((), watched))

    words = words_of_timeline(timeline, "Fee", TIME_RANGES[0].step)

    assert "Not watched before 20 Nov 2026 12:00 UTC." in words
    assert "1 gap (hatched): 25 s from 20 Nov 12:00 UTC." in words
    assert "1 pause (hatched: watched, but no fee came): 30 s from" in words
    assert "No gaps" not in words


def test_words_of_a_table_do_not_say_how_a_chart_is_drawn() -> None:
    missed = [(A_MOMENT + 1.5 * STEP, A_MOMENT + 4 * STEP)]
    watched = WatchedTime.of(A_MOMENT, A_MOMENT + 9 * STEP, missed)
    timeline = a_timeline(1, 2, None, None, 1, 2, None, None, 1, busy=BusyTime((), watched))

    words = words_of_timeline(timeline, "Fee", TIME_RANGES[0].step, is_table=True)

    assert "1 gap: 25 s from 20 Nov 12:00 UTC." in words
    assert "1 pause (watched, but no fee came): 30 s from" in words
    assert "Each row is" in words
    assert not [each for each in ("hatched", "Shaded", "drawn", "The line") if each in words]


def test_fees_of_a_gap_that_were_filled_in_leave_the_gap() -> None:
    missed = [(A_MOMENT + STEP, A_MOMENT + 2 * STEP), (A_MOMENT + 3 * STEP, A_MOMENT + 5 * STEP)]
    watched = WatchedTime.of(A_MOMENT, A_MOMENT + 6 * STEP, missed)

    words = words_of_timeline(
        a_timeline(1, 2, 3, 4, 5, 6, busy=BusyTime((), watched)), "Fee", TIME_RANGES[0].step
    )

    assert "2 gaps (hatched), the longest: 20 s from" in words
    assert "pause" not in words


def test_time_since_the_first_look_without_a_gap_is_said_to_have_none() -> None:
    watched = WatchedTime.of(A_MOMENT, A_MOMENT + 3 * STEP, [(A_MOMENT, A_MOMENT + STEP)])

    words = words_of_timeline(
        a_timeline(1, 2, 3, busy=BusyTime((), watched)), "Fee", TIME_RANGES[0].step
    )

    assert "Not watched before 20 Nov 2026 12:00 UTC. No gaps since." in words


def test_silence_before_a_step_is_not_one_inside_of_it() -> None:
    step = a_step(0, 1, 2, lasts=seconds(20), longest_gap=seconds(21))

    assert a_timeline(steps=[step]).pauses_inside() == []


def test_silence_is_measured_by_the_poll_period() -> None:
    steps = in_columns([a_step(number, 1) for number in range(5)])

    assert longest_usual_pause(steps, seconds(10)) == seconds(30)


def test_silence_is_measured_by_what_was_usual_then() -> None:
    steps = in_columns([a_step(number, 1) for number in range(5)])

    assert longest_usual_pause(steps, seconds(4)) == seconds(30)


def test_single_value_leaves_the_poll_period() -> None:
    assert longest_usual_pause(in_columns([a_step(0, 1)]), seconds(4)) == seconds(12)


def test_words_below_a_chart_name_the_marks_that_it_has() -> None:
    timeline, step, happened = a_timeline(1, 2), TIME_RANGES[0].step, [(A_MOMENT, 1)]
    ticks, triangles = "Ticks at the bottom are rejections.", "Triangles at the top are incidents."

    words = words_of_timeline(timeline, "Fee", step, marks=FeeMarks(happened))
    both = words_of_timeline(timeline, "Fee", step, marks=FeeMarks(happened, happened))
    table = words_of_timeline(
        timeline, "Fee", step, marks=FeeMarks(happened, happened), is_table=True
    )

    assert ticks in words
    assert triangles not in words
    assert f"{ticks} {triangles}" in both
    assert ticks not in table
