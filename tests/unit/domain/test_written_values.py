"""Durations and fees are written so that they are read back exactly."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.formatting import read_duration, read_fee, write_duration, write_fee
from dashboard.domain.quantity import LARGEST_FEE, Wei
from dashboard.errors import InputError


@given(st.integers(0, 999_999_999))
def test_duration_is_read_back_as_it_was_written(milliseconds: int) -> None:
    length = timedelta(milliseconds=milliseconds)

    assert read_duration(write_duration(length)) == length


@given(st.integers(0, LARGEST_FEE))
def test_fee_is_read_back_as_it_was_written(fee: int) -> None:
    assert read_fee(write_fee(Wei(fee))) == fee


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(), "0s"),
        (timedelta(days=2), "2d"),
        (timedelta(hours=36), "36h"),
        (timedelta(seconds=90), "90s"),
        (timedelta(milliseconds=250), "250ms"),
    ],
)
def test_duration_is_written_in_the_largest_unit_that_holds_it(
    length: timedelta, text: str
) -> None:
    assert write_duration(length) == text


@pytest.mark.parametrize(("fee", "text"), [(7, "7wei"), (1_500_000_000, "1.5gwei")])
def test_fee_is_written_in_the_unit_that_people_use(fee: int, text: str) -> None:
    assert write_fee(Wei(fee)) == text


@pytest.mark.parametrize("text", ["", "5", "1.5h", "-1s", "1 m", 4, None])
def test_what_has_another_form_is_no_duration(text: object) -> None:
    assert read_duration(text) is None


def test_duration_beyond_any_clock_is_refused() -> None:
    with pytest.raises(InputError, match="a hundred years"):
        read_duration("36501d")


@pytest.mark.parametrize("text", ["1", "gwei", "1e9gwei", ".5gwei", "1.5wei", f"{2**63}wei", 7])
def test_what_is_no_fee_is_refused_with_the_form_to_write(text: object) -> None:
    with pytest.raises(InputError, match="write an amount and a unit"):
        read_fee(text)
