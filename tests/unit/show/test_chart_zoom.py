"""The time that a reader drags in a chart."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.application.time_ranges import Zoom, zoomed
from dashboard.show.parts.chart import dragged
from dashboard.show.parts.fee_summary import zone_named
from tests.builders import A_MOMENT, MINUTE


def test_edges_are_read_as_plotly_writes_them_in_either_order() -> None:
    edges = ["2026-11-20 11:45:00.1234", "2026-11-20 11:40"]

    assert dragged(edges, A_MOMENT) == Zoom(A_MOMENT - 20 * MINUTE, A_MOMENT - 15 * MINUTE)


@pytest.mark.parametrize("edges", [(), ("2026-11-20",), ("x", "y"), (3, 4)])
def test_edges_that_are_no_moments_choose_nothing(edges: tuple[object, ...]) -> None:
    assert dragged(edges, A_MOMENT) is None


def test_chosen_time_ends_now_at_the_latest() -> None:
    assert zoomed(A_MOMENT - MINUTE, A_MOMENT + MINUTE, A_MOMENT) == Zoom(
        A_MOMENT - MINUTE, A_MOMENT
    )
    assert zoomed(A_MOMENT + MINUTE, A_MOMENT + 2 * MINUTE, A_MOMENT) is None


def test_shorter_time_has_finer_steps() -> None:
    steps = [
        Zoom(A_MOMENT - length, A_MOMENT).step
        for length in (timedelta(days=300), timedelta(days=3), timedelta(minutes=5))
    ]

    assert steps == [timedelta(days=1), timedelta(hours=1), timedelta(seconds=1)]


def test_time_of_hours_is_named_without_seconds() -> None:
    assert Zoom(A_MOMENT - 60 * MINUTE, A_MOMENT).name == (
        "20 Nov 2026 11:00 to 20 Nov 2026 12:00 UTC"
    )


@pytest.mark.parametrize("name", [None, "", "UTC", "../../etc/passwd", "Nowhere/Land", "a" * 999])
def test_zone_that_is_none_is_utc(name: str | None) -> None:
    assert zone_named(name)[1] == "UTC"


def test_zone_of_the_browser_is_known_by_its_name() -> None:
    assert zone_named("Asia/Kolkata")[1] == "Asia/Kolkata"
