"""The picture of a fee in a mail."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.alert.fee_chart import HEIGHT, WIDTH, ChartPoint, draw_chart

_NOTHING, _THRESHOLD, _TINT, _FULL = 0, 1, 2, 17
_HALVES = st.lists(st.floats(0, 1), min_size=2, max_size=6).map(sorted)


def pixels(picture: bytes) -> list[bytes]:
    """Read the rows of a PNG, and check all that a reader of it checks."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    found, place = {}, 8
    while place < len(picture):
        length, name = struct.unpack(">I4s", picture[place : place + 8])
        content = picture[place + 8 : place + 8 + length]
        [checksum] = struct.unpack(">I", picture[place + 8 + length : place + 12 + length])
        assert zlib.crc32(name + content) == checksum
        found[name], place = content, place + 12 + length
    assert list(found) == [b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", found[b"IHDR"]) == (WIDTH, HEIGHT, 8, 3, 0, 0, 0)
    assert found[b"PLTE"][3:9].hex() == "7c8594d97706"  # grey, and amber for all that follows
    assert found[b"PLTE"][6:] == found[b"PLTE"][6:9] * 16
    assert found[b"tRNS"] == bytes((0, 255, 56, *range(17, 256, 17)))
    raw = zlib.decompress(found[b"IDAT"])
    assert len(raw) == HEIGHT * (WIDTH + 1)
    assert max(raw) < len(found[b"PLTE"]) // 3 == len(found[b"tRNS"])
    return [raw[row * (WIDTH + 1) + 1 : (row + 1) * (WIDTH + 1)] for row in range(HEIGHT)]


def drawn(rows: Sequence[bytes], number: int) -> dict[int, int]:
    """Return the colours of a column from top to bottom, without the ground."""
    return {at: row[number] for at, row in enumerate(rows) if row[number] != _NOTHING}


def column(rows: Sequence[bytes], number: int) -> set[int]:
    return {row[number] for row in rows}


def test_line_runs_from_left_to_right_with_the_threshold_beside_it() -> None:
    rows = pixels(draw_chart([ChartPoint(0, 10), ChartPoint(1, 10)], 20, 1))

    line, dash = dict.fromkeys(range(210, 214), _FULL), {8: _THRESHOLD, 9: _THRESHOLD}
    for number in range(WIDTH):
        assert drawn(rows, number) == (line if number // 14 % 2 else line | dash)


def test_only_what_is_above_the_threshold_is_tinted() -> None:
    rows = pixels(draw_chart([ChartPoint(0, 10), ChartPoint(1, 30)], 20, 1))

    assert _TINT not in column(rows, WIDTH // 4)
    line = {56: 5, 57: _FULL, 58: _FULL, 59: _FULL, 60: _FULL - 1}
    tint = dict.fromkeys(range(61, 110), _TINT)
    dash = {110: _THRESHOLD, 111: _THRESHOLD}
    assert drawn(rows, 3 * WIDTH // 4) == line | tint | dash


def test_gap_is_drawn_as_a_gap() -> None:
    points = [ChartPoint(0, 10), ChartPoint(0.2, 11), ChartPoint(0.8, 12), ChartPoint(1, 10)]

    rows = pixels(draw_chart(points, 20, 0.3))

    assert max(column(rows, WIDTH // 2)) <= _THRESHOLD
    assert max(column(rows, WIDTH // 10)) > _TINT


def test_fee_that_never_moves_is_a_level_line() -> None:
    rows = pixels(draw_chart([ChartPoint(0, 7), ChartPoint(1, 7)], 7, 1))

    assert column(rows, 0) == column(rows, WIDTH - 1)


def test_picture_of_a_day_is_small() -> None:
    points = [ChartPoint(each / 288, each * each % 97) for each in range(289)]

    assert len(draw_chart(points, 50, 1)) < 30_000


@settings(max_examples=10)
@given(_HALVES, st.floats(0, 1e18), st.floats(0, 1e18))
def test_any_fees_can_be_drawn(places: list[float], height: float, threshold: float) -> None:
    points = [ChartPoint(x, height * x) for x in places]

    assert pixels(draw_chart(points, threshold, 1))


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_points_draw_the_threshold_alone(count: int) -> None:
    rows = pixels(draw_chart([ChartPoint(0.5, 1)] * count, 1, 1))

    assert {value for row in rows for value in row} == {_NOTHING, _THRESHOLD}
