"""What a fee did: busy strictly above, gaps known as gaps, levels as they were then."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from dashboard.show.charts.fee_timeline import BusyCounts, busy_in_words, longest_usual_silence
from dashboard.show.parts.fee_summary import story_in_words
from dashboard.show.time_ranges import TIME_RANGES
from dashboard.store.fees.steps import FeeMeans
from tests.builders import A_MOMENT, seconds
from tests.unit.show.fee_stories import STEP, a_step, a_story, in_columns


def test_busy_part_of_a_step_is_that_of_the_values_that_were_judged() -> None:
    counts = BusyCounts(np.array([4, 2, 0]), np.array([1, 2, 0]))
    story = a_story(steps=[a_step(each, 9, 9, 11, 12) for each in range(3)], busy=counts)

    assert story.busy_parts.tolist() == pytest.approx([0.25, 1.0, np.nan], nan_ok=True)
    assert story.judged_share() == pytest.approx((1 + 0.5 + 0) / 3)
    assert story.busy_share() == pytest.approx((1 * 0.25 + 0.5 * 1) / 1.5)


def test_values_are_counted_in_the_step_of_the_fees_that_they_lie_in() -> None:
    steps = in_columns([a_step(0, 1, 2, 3), a_step(1, 1, 2), a_step(2, 1)])
    busy = in_columns([a_step(0, 0, 1, lasts=seconds(1)), a_step(0.5, 1), a_step(2, 0)])

    counts = BusyCounts.of(steps, FeeMeans(busy.first_at, busy.means, busy.values))

    assert counts.judged.tolist() == [3, 0, 1]
    assert counts.above.tolist() == [2, 0, 0]


def test_gap_is_told_and_belongs_to_no_share() -> None:
    story = a_story(11, 9, None, None, 11)

    assert story.gaps() == [(A_MOMENT + STEP, A_MOMENT + 4 * STEP)]
    assert story.busy_share() == pytest.approx(1.0)


def test_silence_until_now_is_a_gap_too() -> None:
    story = a_story(1, 1, until=A_MOMENT + seconds(60))

    assert story.gaps() == [(A_MOMENT + STEP, A_MOMENT + seconds(60))]


def test_busy_share_counts_only_time_that_was_seen() -> None:
    story = a_story(11, 9, 9, 9, None, None, None, 9)

    assert story.busy_share() == pytest.approx(1 / 4)


def test_level_that_swings_all_the_time_is_noise() -> None:
    story = a_story(*[10] * 50)
    swinging = np.tile([1, 9], 25)

    assert story.can_be_read(np.full(50, 9))
    assert story.can_be_read(np.arange(50))
    assert not story.can_be_read(swinging)


def test_share_of_blocks_leaves_gaps_out_and_is_never_above_all() -> None:
    some = a_story(5, 5, 5, None, None, None, 5, value_time=seconds(5))

    assert some.block_share() == pytest.approx(4 / 6)
    assert a_story(5, 5, value_time=seconds(60)).block_share() == 1.0
    assert a_story(5, 5).block_share() is None


def test_share_of_one_moment_is_all_or_nothing() -> None:
    assert a_story(11, until=A_MOMENT).busy_share() == 1.0


def test_words_tell_the_share_and_of_what_it_is() -> None:
    part = BusyCounts(np.array([1, 0, 0, 0]), np.array([1, 0, 0, 0]))
    nothing = BusyCounts(np.zeros(2, int), np.zeros(2, int))

    assert (
        busy_in_words(a_story(11, 9))
        == "Above the busy threshold for 50% of the time that was seen."
    )
    assert busy_in_words(a_story(1, 1, 1, 1, busy=part)) == (
        "Above the busy threshold for 100% of the time that was judged, which is 25% of the time "
        "that was seen."
    )
    assert "less than 1%" in str(busy_in_words(a_story(11, *[9] * 400)))
    assert (
        busy_in_words(a_story(1, 2, busy=nothing)) == "How long it was busy was not counted then."
    )
    assert "where the base fee never moves" in str(busy_in_words(a_story(1, 2, busy=None)))
    assert busy_in_words(a_story(1, 2, threshold=None)) is None


def test_flat_story_has_one_value() -> None:
    assert a_story(7, 7, 7).is_flat
    assert not a_story(7, 8).is_flat


def test_silence_inside_of_a_step_is_told_where_it_is_longer_than_usual() -> None:
    hour = timedelta(hours=1)
    quiet = a_step(0, 1, 2, lasts=hour, longest_gap=seconds(15))
    silent = a_step(1, 1, 2, lasts=hour, longest_gap=seconds(16))

    assert a_story(steps=[quiet, silent]).silences_inside() == [silent]


def test_words_never_say_that_there_are_no_gaps_beside_one() -> None:
    hour = timedelta(hours=1)
    silent = a_step(0, 1, 2, lasts=hour, longest_gap=seconds(30))

    words = story_in_words(
        a_story(steps=[silent, a_step(1, 1, 2, lasts=hour)]), "Fee", TIME_RANGES[5].step
    )

    assert "1 step has a gap too short to be drawn, the longest: 30 s between" in words
    assert "No gaps" not in words


def test_silence_before_a_step_is_not_one_inside_of_it() -> None:
    step = a_step(0, 1, 2, lasts=seconds(20), longest_gap=seconds(21))

    assert a_story(steps=[step]).silences_inside() == []


def test_silence_is_measured_by_the_poll_period() -> None:
    steps = in_columns([a_step(number, 1) for number in range(5)])

    assert longest_usual_silence(steps, seconds(10)) == seconds(30)


def test_silence_is_measured_by_what_was_usual_then() -> None:
    steps = in_columns([a_step(number, 1) for number in range(5)])

    assert longest_usual_silence(steps, seconds(4)) == seconds(30)


def test_single_value_leaves_the_poll_period() -> None:
    assert longest_usual_silence(in_columns([a_step(0, 1)]), seconds(4)) == seconds(12)


def test_little_time_that_was_judged_is_not_none() -> None:
    steps = [1] * 1_000
    counted = BusyCounts(np.array([0] * 999 + [1]), np.array([0] * 999 + [1]))

    words = busy_in_words(a_story(*steps, busy=counted))

    assert words is not None
    assert "which is less than 1% of the time that was seen" in words
