"""Fee demand computed for many moments at once is the same as for each alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.devnet.chain import FeeDemand, SeededRandom

MOMENTS = st.lists(st.integers(1_500_000_000, 1_500_600_000), min_size=1, max_size=20, unique=True)


@settings(max_examples=30)
@given(moments=MOMENTS, seed=st.integers(0, 5))
def test_prices_of_many_moments_are_those_of_each(moments: list[int], seed: int) -> None:
    demand = FeeDemand(SeededRandom(seed))
    ascending = sorted(moments)

    prices = demand.prices(np.array(ascending))

    assert prices.tolist() == [demand.price(at) for at in ascending]
