"""A spell runs from the first value beyond the limit to the first that is not."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from dashboard.domain.fees.busy_spells import (
    BusyTime,
    HoldPeriods,
    JudgedValue,
    Spell,
    SpellState,
    follow,
    longest_pause,
    spells_of,
)
from dashboard.domain.health.coverage import WatchedTime
from tests.builders import A_MOMENT

HOLDS = HoldPeriods(timedelta(minutes=1), timedelta(minutes=5))
SILENCE = timedelta(minutes=2)


def after(seconds: float) -> datetime:
    return A_MOMENT + timedelta(seconds=seconds)


def values(until: int, *beyond: tuple[int, int], step: int = 10) -> list[JudgedValue]:
    """Return a value every ten seconds, beyond the limit from one moment to before another."""
    return [
        JudgedValue(after(at), any(begin <= at < end for begin, end in beyond))
        for at in range(0, until + 1, step)
    ]


def found(some: Iterable[JudgedValue], holds: HoldPeriods = HOLDS) -> list[Spell]:
    return spells_of(some, holds, SILENCE)


def state_after(some: Iterable[JudgedValue]) -> SpellState:
    held: SpellState | None = None
    for each in some:
        held = follow(held, each, HOLDS, SILENCE)[-1]
    assert held is not None
    return held


def test_spell_is_dated_back_to_its_first_values() -> None:
    assert found(values(1000, (100, 190))) == [Spell(after(100), after(190))]


@pytest.mark.parametrize(("end", "is_one"), [(160, False), (170, True)])
def test_spell_counts_once_it_has_lasted_for_the_pending_time(end: int, *, is_one: bool) -> None:
    assert bool(found(values(1000, (100, end)))) is is_one


def test_one_value_at_the_limit_breaks_the_waiting() -> None:
    assert found(values(1000, (100, 150), (160, 210))) == []


@pytest.mark.parametrize(("calm", "many"), [(300, 1), (310, 2)])
def test_spell_is_over_once_calm_has_lasted_for_the_keep_firing_time(calm: int, many: int) -> None:
    assert len(found(values(2000, (100, 200), (200 + calm, 900)))) == many


def test_spell_lasts_until_its_end_is_certain() -> None:
    assert found(values(400, (100, 200))) == [Spell(after(100))]
    assert state_after(values(400, (100, 200))) == SpellState(
        is_within=True, since=after(100), seen_at=after(400), turning_since=after(200)
    )


def test_what_may_become_a_spell_is_known_since_its_first_value() -> None:
    assert state_after(values(140, (100, 200))) == SpellState(
        is_within=False, since=after(0), seen_at=after(140), turning_since=after(100)
    )


def test_gap_ends_a_spell_with_an_end_that_is_not_known() -> None:
    some = [*values(200, (100, 900)), JudgedValue(after(400), is_beyond=False)]

    assert found(some) == [Spell(after(100), after(200), is_end_known=False)]
    assert state_after(some) == SpellState(is_within=False, since=after(400), seen_at=after(400))


def test_gap_after_the_first_calm_value_ends_a_spell_at_that_value() -> None:
    some = [*values(250, (100, 200)), JudgedValue(after(700), is_beyond=True)]

    assert found(some) == [Spell(after(100), after(200), is_end_known=False)]
    assert state_after(some) == SpellState(
        is_within=None, since=after(200), seen_at=after(700), turning_since=after(700)
    )


def test_gap_does_not_end_what_was_over_before_it() -> None:
    some = [*values(500, (100, 200)), JudgedValue(after(900), is_beyond=False)]

    assert found(some) == [Spell(after(100), after(200))]


def test_gap_breaks_the_waiting() -> None:
    some = [*values(140, (100, 900)), JudgedValue(after(300), is_beyond=True)]

    assert found(some) == []


def test_silence_that_is_no_gap_breaks_nothing() -> None:
    some = [*values(110, (100, 900)), JudgedValue(after(230), is_beyond=True)]

    assert found(some) == [Spell(after(100))]


def test_values_at_which_nothing_changes_may_be_left_out() -> None:
    every = values(3000, (100, 300), (500, 520), (1200, 1210), (1700, 1800))
    some = [
        JudgedValue(each.at, each.is_beyond, before.at)
        for before, each in pairwise(every)
        if before.is_beyond is not each.is_beyond or each is every[-1]
    ]

    assert found([every[0], *some]) == found(every)


def test_without_waiting_each_value_decides() -> None:
    at_once = HoldPeriods(timedelta())

    assert found(values(100, (30, 50), (60, 70)), at_once) == [
        Spell(after(30), after(50)),
        Spell(after(60), after(70)),
    ]


def test_first_value_of_all_may_begin_a_spell() -> None:
    assert found(values(60, (0, 200))) == [Spell(after(0))]


def test_clock_that_was_set_back_lets_waiting_begin_again() -> None:
    some = [*values(140, (100, 900)), JudgedValue(after(20), is_beyond=True)]

    assert state_after(some).turning_since == after(20)


def test_share_is_the_time_in_spells_over_the_time_watched() -> None:
    watched = WatchedTime.of(after(0), after(1000), [(after(900), after(1000))])
    spells = (Spell(after(-50), after(50)), Spell(after(200), after(300)), Spell(after(870)))

    assert BusyTime(spells, watched).share == pytest.approx(0.2)


def test_share_of_what_nobody_watched_is_not_known() -> None:
    missed = WatchedTime.of(after(0), after(10), [(after(0), after(10))])

    assert BusyTime((Spell(after(0)),), missed).share is None
    assert BusyTime((Spell(after(0)),)).share is None


def test_length_of_a_spell_is_until_now_while_it_lasts() -> None:
    assert Spell(after(0)).length(after(70)) == timedelta(seconds=70)
    assert Spell(after(0), after(60)).length(after(70)) == timedelta(seconds=60)


@pytest.mark.parametrize(("period", "expected"), [(12, 120), (300, 600)])
def test_values_may_be_two_periods_apart(period: int, expected: int) -> None:
    assert longest_pause(timedelta(seconds=period)) == timedelta(seconds=expected)
