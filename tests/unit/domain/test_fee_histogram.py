"""A histogram of fees tells quantiles to one part in 64, and its parts add up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.fees.percentiles import nearest_rank
from dashboard.domain.fees.rollup import FeeHistogram, middle_of, part_of
from dashboard.domain.quantity import LARGEST_FEE, Wei

FEES = st.integers(0, LARGEST_FEE) | st.integers(0, 300) | st.integers(10**9, 10**9 + 10**8)
MANY = st.lists(FEES.map(Wei), min_size=1, max_size=60)


def counted(fees: list[Wei]) -> FeeHistogram:
    histogram = FeeHistogram()
    for fee in fees:
        histogram.add(fee)
    return histogram


@given(FEES.map(Wei))
def test_part_stands_for_a_fee_at_most_a_128th_away(fee: Wei) -> None:
    assert 128 * abs(middle_of(part_of(fee)) - fee) <= fee


@given(FEES.map(Wei), FEES.map(Wei))
def test_larger_fee_is_never_in_a_smaller_part(one: Wei, other: Wei) -> None:
    assert (part_of(one) <= part_of(other)) or one > other


@given(MANY, st.lists(st.integers(0, 100), min_size=1, max_size=5).map(sorted))
def test_quantile_lies_within_a_64th_of_the_exact_one(fees: list[Wei], percents: list[int]) -> None:
    exact = [nearest_rank(sorted(fees), percent) for percent in percents]

    found = counted(fees).quantiles(*percents)

    assert all(64 * abs(it - fee) <= fee for it, fee in zip(found, exact, strict=True))


@given(MANY, MANY)
def test_merged_histogram_is_that_of_all_fees(some: list[Wei], others: list[Wei]) -> None:
    merged = counted(some)
    merged.merge(counted(others))

    assert merged == counted(some + others)


@given(MANY, FEES.map(Wei))
def test_fee_that_is_taken_back_was_never_counted(fees: list[Wei], fee: Wei) -> None:
    histogram = counted([*fees, fee])
    histogram.remove(fee)

    assert histogram == counted(fees)


@given(MANY)
def test_histogram_is_read_back_from_its_bytes(fees: list[Wei]) -> None:
    histogram = counted(fees)

    assert FeeHistogram.decode(histogram.encode()) == histogram


@pytest.mark.parametrize("count", [1, 255, 256, 65_536, 2**32])
def test_count_of_any_size_is_read_back(count: int) -> None:
    histogram = FeeHistogram({7: count, 3711: 1})

    assert FeeHistogram.decode(histogram.encode()) == histogram


def test_histogram_of_nothing_takes_no_bytes() -> None:
    assert FeeHistogram().encode() == b""
    assert FeeHistogram.decode(b"") == FeeHistogram()


def test_histogram_tells_its_counts() -> None:
    assert repr(counted([Wei(9), Wei(7), Wei(7)])) == "FeeHistogram({7: 2, 9: 1})"


@pytest.mark.parametrize("octets", [b"\3abc", b"\1abcd", b"\0"])
def test_bytes_that_are_no_histogram_are_refused(octets: bytes) -> None:
    with pytest.raises(ValueError, match="no histogram of fees"):
        FeeHistogram.decode(octets)


def test_histogram_of_nothing_has_no_quantile() -> None:
    with pytest.raises(ValueError, match="no quantile"):
        FeeHistogram().quantiles(50)


def test_fee_that_was_not_counted_cannot_be_taken_back() -> None:
    with pytest.raises(ValueError, match="no fee like 8 wei"):
        counted([Wei(7)]).remove(Wei(8))


@given(MANY, MANY)
def test_histogram_holds_those_of_its_own_fees(some: list[Wei], others: list[Wei]) -> None:
    all_of_them = counted(some + others)

    assert all_of_them.holds(counted(some))
    assert not counted(some).holds(all_of_them)
