"""A small chart of a fee as PNG: mail programs show no SVG, and this needs no library.

A picture has a transparent background and colours that stand out on light and on dark. It has no
letters: the text beside it, which every reader gets, says what it shows.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from struct import pack
from typing import Final, NamedTuple

WIDTH: Final = 1120
HEIGHT: Final = 220
"""Pixels, twice as many as are shown, for fine screens."""

_MARGIN: Final = 8
_HALF_LINE: Final = 2.0
_DASH: Final = 14
_LEVELS: Final = 15
_THRESHOLD: Final = 1
_ABOVE: Final = 2
_LINE: Final = 2
"""The line is drawn with the indices above this one, from faint to full."""

_GREY: Final = (124, 133, 148)
_AMBER: Final = (217, 119, 6)
_PALETTE: Final = ((0, 0, 0), _GREY, _AMBER, *([_AMBER] * _LEVELS))
_ALPHAS: Final = (0, 255, 56, *(level * 255 // _LEVELS for level in range(1, _LEVELS + 1)))
_INDEXED: Final = 3


class ChartPoint(NamedTuple):
    """A point of the line: `x` from 0 at the left to 1 at the right, `y` in any unit."""

    x: float
    y: float


def draw_chart(points: Sequence[ChartPoint], threshold: float, widest_gap: float) -> bytes:
    """Draw a line above and below a dashed threshold; what is above is tinted.

    If two points are further apart than `widest_gap`, nothing was seen between them, and no line is
    drawn.
    """
    heights = [threshold, *(point.y for point in points)]
    scale = _Scale(min(heights), max(heights))
    rows = [bytearray(WIDTH) for _ in range(HEIGHT)]
    level = scale.row_of(threshold)
    for one, other in pairwise(points):
        if other.x - one.x <= widest_gap:
            _draw_segment(rows, _scaled(one, scale), _scaled(other, scale), level)
    for column in range(WIDTH):
        if column // _DASH % 2 == 0:
            _set(rows, column, round(level), _THRESHOLD)
            _set(rows, column, round(level) + 1, _THRESHOLD)
    return _png(rows)


class _Scale(NamedTuple):
    """The values at the lower and the upper end of a picture."""

    lowest: float
    highest: float

    def row_of(self, value: float) -> float:
        """Return how many pixels below the upper edge a value is drawn."""
        room = HEIGHT - 2 * _MARGIN
        share = (self.highest - value) / ((self.highest - self.lowest) or 1.0)
        return _MARGIN + share * room


class _Spot(NamedTuple):
    """A place in the picture, in pixels from its upper left corner."""

    x: float
    y: float


def _scaled(point: ChartPoint, scale: _Scale) -> _Spot:
    return _Spot(point.x * (WIDTH - 1), scale.row_of(point.y))


def _draw_segment(rows: list[bytearray], begin: _Spot, end: _Spot, level: float) -> None:
    for column in range(round(begin.x), round(end.x) + 1):
        heights = [_height(begin, end, column + half) for half in (-0.5, 0.5)]
        for row in range(round(max(heights)), round(level)):
            if rows[row][column] == 0:
                rows[row][column] = _ABOVE
        for row, share in _covered(min(heights) - _HALF_LINE, max(heights) + _HALF_LINE):
            _set(rows, column, row, _LINE + max(1, round(share * _LEVELS)))


def _height(begin: _Spot, end: _Spot, x: float) -> float:
    """Return how many pixels below the upper edge the line is at a column."""
    share = (x - begin.x) / ((end.x - begin.x) or 1.0)
    return begin.y + (end.y - begin.y) * min(1.0, max(0.0, share))


def _covered(top: float, bottom: float) -> Iterator[tuple[int, float]]:
    """Yield the pixels between two heights, each with how much of it lies between them."""
    for row in range(int(top), int(bottom) + 1):
        share = min(row + 1.0, bottom) - max(float(row), top)
        if share > 0:
            yield row, share


def _set(rows: list[bytearray], column: int, row: int, index: int) -> None:
    """Colour a pixel, unless the line covers it with more."""
    rows[row][column] = max(rows[row][column], index)


def _png(rows: Sequence[bytearray]) -> bytes:
    """Write indexed pixels as PNG (RFC 2083)."""
    header = pack(">IIBBBBB", WIDTH, HEIGHT, 8, _INDEXED, 0, 0, 0)
    colours = bytes(value for colour in _PALETTE for value in colour)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", colours),
        (b"tRNS", bytes(_ALPHAS)),
        (b"IDAT", pixels),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(name + content)
    return pack(">I", len(content)) + name + content + pack(">I", checksum)
