"""The figure of the Fees page: what goes to the browser, in parts that lie in order."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import numpy as np

from dashboard.domain.quantity import Wei
from dashboard.show.fee_chart import fee_drawing, fee_figure
from tests.builders import A_MOMENT, GWEI
from tests.unit.show.stories import STEP, a_step, a_story

GAPS, BUSY, BAND, USUAL, THRESHOLD, LINE = range(6)


def milliseconds(at: datetime) -> float:
    """Return a moment as figures have it."""
    return at.timestamp() * 1000


def test_line_breaks_at_a_gap_right_after_its_last_value() -> None:
    line = fee_figure(a_story(1, 2, None, None, 3), A_MOMENT).data[LINE]

    holes = np.flatnonzero(np.isnan(line.y)).tolist()
    assert line.connectgaps is False
    assert line.x[holes[0]] == milliseconds(A_MOMENT + STEP) + 1


def test_gap_and_busy_time_are_shaded_over_the_whole_height() -> None:
    data = fee_figure(a_story(11, 9, None, None, 9), A_MOMENT).data

    gap, busy = data[GAPS], data[BUSY]
    ends = milliseconds(A_MOMENT + STEP), milliseconds(A_MOMENT + 4 * STEP)
    assert (gap.x[0], gap.x[2]) == ends
    assert gap.fillpattern.shape == "/"
    assert (busy.x[0], busy.x[2]) == (milliseconds(A_MOMENT), milliseconds(A_MOMENT + STEP))
    assert busy.y[1] == np.float32(11 * 1.12)


def test_band_goes_round_the_lowest_and_highest_of_each_step() -> None:
    steps = [a_step(0, 1, 5), a_step(1, 2, 8)]
    story = a_story(1, 1, steps=steps)

    band = fee_figure(story, A_MOMENT).data[BAND]

    assert band.y.tolist()[:-1] == [5, 8, 8, 2, 2, 1]


def test_levels_are_drawn_as_they_were() -> None:
    story = a_story(1, 1, 1, 1, threshold=[Wei(10), Wei(10), Wei(12), Wei(12)])

    level = fee_figure(story, A_MOMENT).data[THRESHOLD]

    assert level.x[1] == milliseconds(A_MOMENT + 2 * STEP)
    assert level.y.tolist() == [10, 12, 12, 12]


def test_level_that_is_not_known_is_neither_drawn_nor_named() -> None:
    figure = fee_figure(a_story(1, 1, usual=[None, None]), A_MOMENT)

    assert np.isnan(figure.data[USUAL].y).all()
    assert [annotation.text for annotation in figure.layout.annotations] == ["busy"]


def test_unit_fits_the_largest_of_fees_and_levels() -> None:
    figure = fee_figure(a_story(7, 7, threshold=[Wei(2 * GWEI)] * 2), A_MOMENT)

    assert figure.layout.yaxis.ticksuffix == " gwei"
    assert figure.data[THRESHOLD].y[0] == 2.0


def test_arrays_go_out_typed_and_a_year_stays_small() -> None:
    length = timedelta(hours=12)
    steps = [
        a_step(0, 9 * GWEI, 12 * GWEI + number)._replace(
            first_at=A_MOMENT + number * length, last_at=A_MOMENT + number * length + length * 0.9
        )
        for number in range(730)
    ]
    story = a_story(
        steps=steps,
        usual=[Wei(9 * GWEI)] * 730,
        threshold=[Wei(10 * GWEI + number) for number in range(730)],
        longest_step=length,
        until=steps[-1].last_at,
    )

    payload = fee_figure(story, A_MOMENT).to_json()

    assert len(payload) < 100_000
    assert {trace["x"]["dtype"] for trace in json.loads(payload)["data"][BAND:]} == {"f8"}


def test_words_say_what_the_figure_shows() -> None:
    drawing = fee_drawing(a_story(5 * GWEI, 9 * GWEI), A_MOMENT, "Net")

    assert drawing.words == (
        "Base fee of Net from 20 Nov 2026 12:00 to 20 Nov 2026 12:00 UTC, "
        "between 5.0000 gwei and 9.0000 gwei."
    )


def test_words_say_where_a_fee_never_moved() -> None:
    assert fee_drawing(a_story(7, 7), A_MOMENT, "Net").words.endswith("UTC, always 7 wei.")
