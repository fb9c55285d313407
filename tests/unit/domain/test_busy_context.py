"""How long busy spells usually last."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.fees.spells import (
    Spell,
    UsualFee,
    UsualSpells,
    difference_in_words,
    usual_fee,
    usual_spells,
)
from dashboard.domain.quantity import Wei
from tests.builders import A_MOMENT


def spells(*hours_and_minutes: tuple[float, int]) -> list[Spell]:
    """Return spells that began so many hours before now, with their length in minutes."""
    return [
        Spell(begin := A_MOMENT - timedelta(hours=hours), begin + timedelta(minutes=minutes))
        for hours, minutes in hours_and_minutes
    ]


def test_spells_of_about_the_same_hour_are_compared() -> None:
    found = spells((24, 10), (47, 12), (71.5, 14), (73.5, 90), (12, 500), (30, 600))

    assert usual_spells(found, A_MOMENT) == UsualSpells(
        4, timedelta(minutes=13), timedelta(minutes=90), is_of_hour=True
    )


def test_spells_of_any_hour_stand_in_where_those_are_too_few() -> None:
    found = spells((24, 10), (47, 12), (60, 200))

    assert usual_spells(found, A_MOMENT) == UsualSpells(
        3, timedelta(minutes=12), timedelta(minutes=200), is_of_hour=False
    )


def test_two_spells_make_nothing_usual() -> None:
    assert usual_spells(spells((24, 10), (48, 12)), A_MOMENT) is None


def test_hours_are_near_each_other_across_midnight() -> None:
    midnight = A_MOMENT.replace(hour=0) + timedelta(days=1)
    found = spells((12.5, 10), (36.5, 10), (11.5, 10))

    usual = usual_spells(found, midnight)

    assert usual is not None
    assert usual.is_of_hour


def test_fee_is_usual_that_lies_in_the_middle_of_the_days() -> None:
    assert usual_fee([30, 10, 20, 90]) == UsualFee(Wei(20), 4)


def test_two_days_make_no_fee_usual() -> None:
    assert usual_fee([10, 10]) is None


@pytest.mark.parametrize(
    ("fee", "words"),
    [
        (1_500, "50% above usual"),
        (1_004, "as usual"),
        (880, "12% below usual"),
        (13_000, "1,200% above usual"),
    ],
)
def test_fee_is_compared_with_what_is_usual(fee: int, words: str) -> None:
    difference = UsualFee(Wei(1_000), 30).difference(Wei(fee))

    assert difference is not None
    assert difference_in_words(difference) == words


def test_nothing_is_compared_with_no_fee_at_all() -> None:
    assert UsualFee(Wei(0), 30).difference(Wei(5)) is None


def test_spell_counts_for_nothing_while_it_lasts_or_where_its_end_is_unknown() -> None:
    lasting = Spell(A_MOMENT - timedelta(hours=1))
    lost = Spell(lasting.begins_at, A_MOMENT, is_end_known=False)

    assert usual_spells([*spells((24, 10), (48, 12)), lasting, lost], A_MOMENT) is None
