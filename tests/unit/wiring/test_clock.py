"""The clock that is handed in tells times as the store keeps them."""

from __future__ import annotations

from dashboard.store.schema.columns import milliseconds_of, moment_of
from dashboard.wiring.clock import utc_now


def test_clock_tells_no_moment_that_the_store_would_cut() -> None:
    moments = [utc_now() for _ in range(100)]

    assert [moment_of(milliseconds_of(each)) for each in moments] == moments
