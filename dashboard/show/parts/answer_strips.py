"""The strip beside a source: how it was answered in each quarter of an hour; and gaps in days."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from dashboard.domain.health.observation import AnswerCounts
from dashboard.domain.markup import Markup, element

_GOOD: Final = "#23917a"
_BAD: Final = "#d4483d"
_BASE: Final = "#8696a3"
_HEIGHT: Final = 20
_CELL: Final = 4
_WIDTH: Final = 960
_LANE: Final = 14


class CellState(StrEnum):
    """The result of a question in a quarter of an hour."""

    ANSWERED = "answered"
    INSTEAD = "answered by the node instead"
    SOME_FAILED = "some failed"
    FAILED = "failed"
    NOT_ASKED = "nothing asked"


_SHAPES: Final[dict[CellState, tuple[tuple[str, float, float], ...]]] = {
    CellState.ANSWERED: ((_GOOD, 1, 18),),
    CellState.INSTEAD: ((_GOOD, 1, 6), (_GOOD, 9, 10)),
    CellState.SOME_FAILED: ((_GOOD, 1, 8), (_BAD, 12, 7)),
    CellState.FAILED: ((_BAD, 12, 7),),
    CellState.NOT_ASKED: ((_BASE, 9, 2),),
}
"""The bars of each state: colour, distance from above, and height."""


def cell_state(counts: AnswerCounts | None) -> CellState:
    """Return the state of a quarter of an hour; None for one in which nothing was asked."""
    if counts is None or not counts.asked:
        return CellState.NOT_ASKED
    if counts.failed:
        return CellState.SOME_FAILED if counts.answered + counts.instead else CellState.FAILED
    return CellState.INSTEAD if counts.instead else CellState.ANSWERED


def answer_strip(quarters: Sequence[AnswerCounts | None], name: str) -> Markup:
    """Draw how a question was answered; `name` says whose strip it is."""
    states = [cell_state(each) for each in quarters]
    paths = [
        f'<path d="{_bars(states, state, top, height)}" fill="{colour}"/>'
        for state, bars in _SHAPES.items()
        for colour, top, height in bars
        if state in states
    ]
    return _picture(_CELL * len(states), _HEIGHT, "".join(paths), f"{name}: {_in_words(states)}")


def _bars(states: Sequence[CellState], wanted: CellState, top: float, height: float) -> str:
    """Draw a bar in each cell of a state; cells without a question become one line."""
    width = _CELL if wanted is CellState.NOT_ASKED else _CELL - 1
    return "".join(
        f"M{place * _CELL} {top:g}h{width}v{height:g}h-{width}z"
        for place, state in enumerate(states)
        if state is wanted
    )


def _in_words(states: Sequence[CellState]) -> str:
    counted = [f"{state} in {many}" for state in CellState if (many := states.count(state))]
    return f"of {len(states)} quarters of an hour: {', '.join(counted)}."


def strip_legend(shown: Sequence[CellState]) -> Markup:
    items = (
        element("span", _sample(state), state.value.capitalize())
        for state in CellState
        if state in shown
    )
    return element("p", *items, class_="lw-strip-legend lw-quiet")


def _sample(state: CellState) -> Markup:
    paths = "".join(
        f'<path d="M0 {top:g}h8v{height:g}h-8z" fill="{colour}"/>'
        for colour, top, height in _SHAPES[state]
    )
    return _picture(8, _HEIGHT, paths, "", "lw-strip-sample")


def gap_strip(
    gaps: Sequence[tuple[datetime, datetime]],
    between: tuple[datetime, datetime],
    began_at: datetime | None,
    name: str,
) -> Markup:
    """Draw watched time as a thin line, a gap as a block on it, and nothing before watching began.

    `between`, the period drawn, and each of `gaps` are a beginning and an end.
    """
    since, until = between

    def place(at: datetime) -> float:
        return _WIDTH * ((at - since) / (until - since))

    begins = 0.0 if began_at is None else max(0.0, place(began_at))
    midnight = since.replace(hour=0, minute=0, second=0, microsecond=0)
    days = (place(midnight + timedelta(days=each)) for each in range(1, 9))
    ticks = "".join(f"M{each:.0f} 0v{_LANE}" for each in days if each <= _WIDTH)
    blocks = "".join(_block(place(a), place(b)) for a, b in gaps)
    drawn = (
        f'<path d="{ticks}" stroke="{_BASE}" stroke-opacity=".45" '
        'vector-effect="non-scaling-stroke"/>'
    )
    if begins < _WIDTH:
        drawn += f'<path d="M{begins:.0f} 6h{_WIDTH - begins:.0f}v2H{begins:.0f}z" fill="{_GOOD}"/>'
    drawn += f'<path d="{blocks}" fill="{_BAD}"/>'
    return _picture(_WIDTH, _LANE, drawn, name)


def _block(begins: float, ends: float) -> str:
    """Draw a gap, three units wide at least, so that a short one is seen."""
    left, width = max(0.0, begins), max(3.0, ends - max(0.0, begins))
    left = min(left, _WIDTH - width)
    return f"M{left:.1f} 0h{width:.1f}v{_LANE}h-{width:.1f}z"


def _picture(width: int, height: int, drawn: str, words: str, class_: str = "lw-strip") -> Markup:
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'preserveAspectRatio="none">{drawn}</svg>'
    )
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode('ascii')).decode('ascii')}"
    title = words or None
    return element("img", src=source, alt=words, title=title, class_=class_, decoding="sync")
