"""Pictures without a script: a day as a line, strips of time, bars, tiles and lists of counts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby
from typing import Final
from urllib.parse import quote

import streamlit as st
from msgspec import Struct

from dashboard.application.overview import DayLine
from dashboard.domain.health.observation import AnswerCounts
from dashboard.domain.markup import Markup, breakable, element, join, plain_label, visible
from dashboard.show.charts.figure import LINE
from dashboard.show.parts.table import table

_SAFE: Final = " /:=.()"
"""Characters that need no escaping in the address of a picture, and in an attribute."""

_STEP: Final = 2
_LINE_HEIGHT: Final = 100
_STRIP: Final = 10
_FLOOR: Final = _LINE_HEIGHT - _STRIP // 2
_TOP: Final = 7
_ROOM: Final = 73
_BUSY: Final = "#cf7a24"
_BASE: Final = "#8696a3"


def sparkline(line: DayLine, words: str) -> Markup:
    """Draw it as a picture, inert everywhere; `words` say what it shows."""
    picture = quote(_svg(line), safe=_SAFE)
    return element(
        "img",
        src=f"data:image/svg+xml,{picture}",
        alt=words,
        title=words,
        class_="lw-spark",
        decoding="sync",
    )


def _svg(line: DayLine) -> str:
    """Write the picture, in colours that read on light and on dark, and in whole numbers.

    That keeps a row of networks below 2,048 bytes: for more, the digest that Streamlit computes
    lets other threads run first.
    """
    width = _STEP * len(line.fees)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_LINE_HEIGHT}" '
        f'preserveAspectRatio="none"><path d="M0 {_FLOOR}h{width}" stroke="{_BASE}" '
        f'stroke-opacity=".35" stroke-width="{_STRIP}"/><path d="{_strip(line)}" '
        f'fill="{_BUSY}"/><path d="{_path(line)}" fill="none" '
        f'stroke="{LINE}" stroke-width="1.6" stroke-linejoin="round" '
        'vector-effect="non-scaling-stroke"/></svg>'
    )


def _path(line: DayLine) -> str:
    """Draw the fees from zero to their highest; where nothing was seen the line breaks."""
    highest = max((each for each in line.fees if each is not None), default=0.0)
    words, before = [], None
    for place, fee in enumerate(line.fees):
        if fee is None:
            before = None
            continue
        y = _TOP + round(_ROOM * (1 - (fee / highest if highest else 0.5)))
        words.append(f"M{_STEP * place} {y}h1" if before is None else f"l{_STEP} {y - before}")
        before = y
    return "".join(words).replace(" -", "-")


def _strip(line: DayLine) -> str:
    """Fill each column of the strip as high as the share of it that was busy."""
    heights = (0 if not part else max(1, round(_STRIP * part)) for part in line.busy_parts)
    words = [
        f"V{_LINE_HEIGHT - height}h{_STEP * len(list(steps))}" for height, steps in groupby(heights)
    ]
    return f"M0 {_LINE_HEIGHT}{''.join(words)}V{_LINE_HEIGHT}z"


_GOOD: Final = "#23917a"
_BAD: Final = "#d4483d"
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

    Each of `gaps`, and `between`, the period that is drawn, is a beginning and an end.
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


def _plain(amount: int) -> str:
    return f"{amount:,}"


def bars(
    counted: Sequence[tuple[str, int]],
    of: str,
    words: str,
    amount_words: Callable[[int], str] | None = None,
) -> Markup:
    """Draw amounts from left to right, each by the name of its time; a table says the same.

    `of` is what they are; `words` say what they show to someone who cannot see them. Counts have a
    total; an amount that `amount_words` format, such as bytes, has its last one.
    """
    said = amount_words or _plain
    highest = max((count for _, count in counted), default=0)
    drawn = (_bar(name, count, f"{said(count)} {of}", highest or 1) for name, count in counted)
    plot = element("div", *drawn, class_="lw-plot")
    top = element("span", said(highest), class_="lw-top", aria_hidden="true")
    names = [counted[place][0] for place in (0, len(counted) // 2, -1)] if counted else []
    axis = element("div", *(element("span", name) for name in names), class_="lw-axis")
    figure = element("div", top, plot, axis, class_="lw-bars", role="img", aria_label=words)
    sign = element("i", class_="a", aria_hidden="true")
    total = sum(count for _, count in counted) if amount_words is None else counted[-1][1]
    last = element("span", sign, f"{of} ", element("b", said(total)))
    rows = [(name, said(count)) for name, count in counted if count]
    return join(figure, element("p", last, class_="lw-legend"), _as_table(rows, of))


def _bar(name: str, count: int, words: str, highest: int) -> Markup:
    drawn = element("i", class_="a", style=f"height: {count / highest:.2%}") if count else Markup()
    return element("div", drawn, title=f"{name}: {words if count else 'none'}")


def _as_table(said: Sequence[tuple[str, str]], of: str) -> Markup:
    if not said:
        return Markup()
    numbers = table(("Time (UTC)", of), said[::-1], "Amounts over time", {of})
    return element("details", element("summary", "The same as a table"), numbers, class_="lw-more")


class Tile(Struct, frozen=True):
    """One count; `is_wrong` if it needs attention."""

    name: str
    number: int
    note: str
    is_wrong: bool = False


def tiles(*shown: Tile) -> None:
    st.html(element("dl", *map(_tile, shown), class_="lw-figures lw-tiles"))


def _tile(tile: Tile) -> Markup:
    return element(
        "div",
        element("dt", tile.name),
        element("dd", f"{tile.number:,}"),
        element("dd", tile.note, class_="lw-note"),
        class_="is-wrong" if tile.is_wrong else None,
    )


_LONGEST_NAME: Final = 64


class CountRow(Struct, frozen=True):
    """One count: its name, which may be foreign, what a click chooses, and a remark beside it.

    If `value` is empty, it cannot be chosen. `colour` is that of its bar, if it has one of its own.
    """

    name: str
    value: str
    count: int
    note: str = ""
    colour: str = ""


def count_list(
    key: str, rows: Sequence[CountRow], chosen: str | None, choose: Callable[[str], None]
) -> None:
    """Show counts; a click on one, or Enter, calls `choose` with its value, chosen or not."""
    highest = max((each.count for each in rows), default=0) or 1
    with st.container(key=f"counts-{key}", gap=None):
        for number, row in enumerate(rows):
            kind = "count" if row.value else "counted"
            with st.container(key=f"{kind}-{key}-{number}", gap=None):
                is_chosen = row.value == chosen
                st.html(_cells(row, highest, is_chosen=is_chosen))
                if not row.value:
                    continue
                doing = "All, not only" if is_chosen else "Only"
                st.button(
                    f"{doing} {plain_label(row.name, _LONGEST_NAME)}: {row.count:,}",
                    key=f"choose-{key}-{row.value}",
                    on_click=choose,
                    args=(row.value,),
                )


def _cells(row: CountRow, highest: int, *, is_chosen: bool) -> Markup:
    colour = f"; background: {row.colour}" if row.colour else ""
    bar = element("i", style=f"width: {row.count / highest:.1%}{colour}", aria_hidden="true")
    name = breakable(visible(row.name, _LONGEST_NAME))
    return element(
        "div",
        element("span", name, class_="lw-mono" if row.name.startswith("0x") else None),
        element("small", row.note) if row.note else Markup(),
        element("b", f"{row.count:,}"),
        element("div", bar, class_="lw-meter"),
        class_="lw-count is-chosen" if is_chosen else "lw-count",
        aria_hidden="true" if row.value else None,
    )
