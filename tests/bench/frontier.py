"""The chart of docs/networks.md: mean delay over calls, both on logarithmic scales, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10
from typing import Final

from tests.bench.processes import PROJECT

CHART: Final = PROJECT / "docs" / "pictures" / "cadence.svg"

_CALLS: Final = (10.0, 100_000.0)
_DELAYS: Final = (1.0, 10_000.0)
_LEFT, _TOP, _WIDTH, _HEIGHT = 70, 20, 600, 320
_HEAD: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" width="720" height="400" \
font-family="sans-serif" font-size="13" fill="#24292f">
<title>Mean delay of a rejection over calls about a transaction without one</title>
<rect width="720" height="400" fill="#ffffff"/>
"""


@dataclass(frozen=True, slots=True)
class Curve:
    """Points of calls and seconds, what the line is called, and where its name stands."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]
    is_below: bool = False


def drawn(*curves: Curve, chosen: tuple[float, float]) -> str:
    """Draw curves, and a dot at the `chosen` point."""
    x, y = _place(chosen)
    dot = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="5" fill="#1f6feb"/>'
    label = f'<text x="{x + 9:.0f}" y="{y - 7:.0f}">default: {chosen[0]:.0f} calls, '
    label += f"{chosen[1]:.0f} s</text>"
    return _HEAD + "\n".join([*_grid(), *map(_line, curves), dot, label, "</svg>", ""])


def _grid() -> Iterator[str]:
    for calls in (10, 100, 1_000, 10_000, 100_000):
        x, bottom = _place((calls, _DELAYS[0]))
        yield f'<path d="M{x:.0f} {_TOP}V{bottom:.0f}" stroke="#d0d7de"/>'
        yield f'<text x="{x:.0f}" y="{bottom + 18:.0f}" text-anchor="middle">{calls:,}</text>'
    for delay, name in (
        (1, "1 s"),
        (10, "10 s"),
        (100, "100 s"),
        (1_000, "17 min"),
        (10_000, "2.8 h"),
    ):
        left, y = _place((_CALLS[0], delay))
        yield f'<path d="M{left:.0f} {y:.0f}h{_WIDTH}" stroke="#d0d7de"/>'
        yield f'<text x="{left - 8:.0f}" y="{y + 4:.0f}" text-anchor="end">{name}</text>'
    yield '<text x="370" y="385" text-anchor="middle">calls in seven days</text>'
    turned = 'transform="rotate(-90 18 180)"'
    yield f'<text x="18" y="180" text-anchor="middle" {turned}>mean delay</text>'


def _line(curve: Curve) -> str:
    inside = [_place(each) for each in curve.points if _is_inside(each)]
    path = " ".join(f"{x:.0f},{y:.0f}" for x, y in inside)
    x, y = inside[len(inside) // 3]
    place = f'x="{x + 8:.0f}" y="{y - 8:.0f}"'
    if curve.is_below:
        place = f'x="{x - 8:.0f}" y="{y + 16:.0f}" text-anchor="end"'
    name = f'<text {place} fill="{curve.colour}">{curve.name}</text>'
    return (
        f'<polyline points="{path}" fill="none" stroke="{curve.colour}" stroke-width="2"/>\n{name}'
    )


def _is_inside(point: tuple[float, float]) -> bool:
    calls, delay = point
    return _CALLS[0] <= calls <= _CALLS[1] and _DELAYS[0] <= delay <= _DELAYS[1]


def _place(point: tuple[float, float]) -> tuple[float, float]:
    across, up = (
        log10(value / low) / log10(high / low)
        for value, (low, high) in zip(point, (_CALLS, _DELAYS), strict=True)
    )
    return _LEFT + _WIDTH * across, _TOP + _HEIGHT * (1 - up)
