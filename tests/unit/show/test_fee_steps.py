"""What a fee did: busy strictly above, gaps known as gaps, levels as they were then."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from dashboard.show.fee_steps import longest_usual_silence
from tests.builders import A_MOMENT, seconds
from tests.unit.show.stories import STEP, a_step, a_story, in_columns


def test_busy_is_strictly_above_the_threshold() -> None:
    story = a_story(9, 10, 11)

    assert story.is_busy.tolist() == [False, False, True]


def test_busy_steps_that_touch_are_one_stretch() -> None:
    story = a_story(11, 12, 9, 13)

    assert story.busy_stretches() == [
        (A_MOMENT, A_MOMENT + 2 * STEP),
        (A_MOMENT + 3 * STEP, A_MOMENT + 4 * STEP),
    ]


def test_unknown_threshold_makes_nothing_busy() -> None:
    story = a_story(99, threshold=None)

    assert story.busy_stretches() == []
    assert story.busy_share() is None


def test_gap_ends_what_was_busy() -> None:
    story = a_story(11, None, None, 11)

    assert story.gaps() == [(A_MOMENT, A_MOMENT + 3 * STEP)]
    assert story.busy_stretches()[0] == (A_MOMENT, A_MOMENT)


def test_silence_until_now_is_a_gap_too() -> None:
    story = a_story(1, 1, until=A_MOMENT + seconds(60))

    assert story.gaps() == [(A_MOMENT + STEP, A_MOMENT + seconds(60))]


def test_busy_share_counts_only_time_that_was_seen() -> None:
    story = a_story(11, 9, 9, 9, None, None, None, 9)

    assert story.busy_share() == pytest.approx((1 / 4, 1 / 4))


def test_step_on_both_sides_of_its_threshold_may_be_busy_for_any_part_of_it() -> None:
    steps = [a_step(0, 9, 11), a_step(1, 11, 12), a_step(2, 3, 50), a_step(3, 4, 9)]
    story = a_story(steps=steps)

    assert story.busy_share() == pytest.approx((1 / 4, 3 / 4))
    assert story.is_busy.tolist() == [False, True, False, False]


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
    assert a_story(11, until=A_MOMENT).busy_share() == (1.0, 1.0)


def test_flat_story_has_one_value() -> None:
    assert a_story(7, 7, 7).is_flat
    assert not a_story(7, 8).is_flat


def test_silence_inside_of_a_step_is_told_where_it_is_longer_than_usual() -> None:
    hour = timedelta(hours=1)
    quiet = a_step(0, 1, 2, lasts=hour, longest_gap=seconds(15))
    silent = a_step(1, 1, 2, lasts=hour, longest_gap=seconds(16))

    assert a_story(steps=[quiet, silent]).silences_inside() == [silent]


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
