"""The wall: one screen for across the room, with a tile for each network, larger if more urgent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

from dashboard.application.attention import Attention
from dashboard.application.network_status import Activity, NetworkStatus
from dashboard.application.overview import above_usual, lasting
from dashboard.domain.alerts.condition import Signal
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.fees.busy_spells import difference_in_words
from dashboard.domain.formatting import capitalized, counted
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.quantity import NetworkId
from dashboard.errors import StoreError
from dashboard.show.parts.badges import network_badges, severity_kind, severity_sign
from dashboard.show.parts.frame import in_line
from dashboard.show.parts.network_rows import NetworkRow, age_markup, day_picture, fee_markup
from dashboard.show.parts.notices import store_trouble

WALL: Final = "wall"
"""The parameter of the address that shows the wall: `?wall=1`."""

_SCRIPT: Final = Path(__file__).parents[1] / "wall.js"
MOST_TILES: Final = 40
_LONGEST_NAME: Final = 40
_LONGEST_HEADLINE: Final = 120
_LONGEST_TROUBLE: Final = 400
_WIDEST: Final = 7
"""How many calm tiles are beside each other, below larger ones."""

_PER_LINE: Final = 0.7
"""Makes tiles on a wide screen some one and a half times as wide as they are high."""

_Tile = TypeVar("_Tile")


def wall(rows: Sequence[NetworkRow], needed: Sequence[Attention], now: datetime) -> None:
    """Show how much needs attention, the worst of it and the clock; below, a tile for each network.

    `rows` come in the order given, the worst first.
    """
    with in_line("wall-bar", "content"):
        _component()(key="wall-asks", data={"critical": critical(needed)})
        _leave_button()
    whys = {each.network.network_id: each for each in reversed(needed) if each.network is not None}
    shown = rows[:MOST_TILES]
    urgent = [each for each in shown if _is_urgent(each, whys)]
    calm = [each for each in shown if not _is_urgent(each, whys)]
    lines = [_line(each, whys, "lw-wall-line is-urgent") for each in split(urgent)]
    widest = _WIDEST if urgent else None
    lines += [_line(each, whys, "lw-wall-line") for each in split(calm, widest)]
    more = len(rows) - len(shown)
    rest = element("p", f"{more:,} more, none worse", class_="lw-wall-rest")
    st.html(element("div", _head(needed, now), *lines, rest if more else "", class_="lw-wall"))


@contextmanager
def wall_errors_shown() -> Iterator[None]:
    """Show an error of the store as large as a wall shows what is wrong."""
    try:
        yield
    except StoreError as trouble:
        with in_line("wall-bar", "content"):
            _leave_button()
        headline = element("h1", "The store cannot be read", class_="lw-wall-bad")
        text = visible(store_trouble(trouble), _LONGEST_TROUBLE)
        said = element("p", text, class_="lw-wall-trouble")
        st.html(element("div", element("header", headline), said, class_="lw-wall", role="alert"))


def wall_button() -> None:
    """Offer the wall. A link from the page to itself would leave the browser's address alone."""
    st.button("Wall mode", key="wall-enter", type="tertiary", on_click=_enter)


def _leave_button() -> None:
    st.button("Leave", key="wall-leave", type="tertiary", on_click=_leave)


def _enter() -> None:
    st.query_params[WALL] = "1"


def _leave() -> None:
    st.query_params.pop(WALL, None)


@cache
def _component() -> ComponentRenderer:
    """Return the mount of the buttons that ask for notifications and for a sound."""
    script = _SCRIPT.read_text(encoding="utf-8")
    return st.components.v2.component("linewatch.wall", js=script, isolate_styles=False)


def critical(needed: Sequence[Attention]) -> list[dict[str, str]]:
    """Return what is critical, each with an id that stays the same while it lasts.

    Incidents that share a line have an id each: the browser announces an id that it did not know.
    """
    return [
        {"id": one, "title": visible(each.title, _LONGEST_HEADLINE)}
        for each in needed
        if each.severity == Severity.CRITICAL
        for one in _ids_of(each)
    ]


def _ids_of(needed: Attention) -> list[str]:
    """Return the ids of its incidents, or else what its headline says before any figure."""
    return [*map(str, needed.incidents)] or [needed.headline.partition(":")[0]]


def split(tiles: Sequence[_Tile], widest: int | None = None) -> list[Sequence[_Tile]]:
    """Split tiles into lines of nearly equal length, the first ones the shorter.

    There are as many lines as suit a wide screen, or as few as `widest` tiles in each allow.
    """
    if not tiles:
        return []
    many = round(math.sqrt(len(tiles) * _PER_LINE)) if widest is None else 0
    lines = max(1, many, 0 if widest is None else -(-len(tiles) // widest))
    edges = [len(tiles) * each // lines for each in range(lines + 1)]
    return [tiles[begin:end] for begin, end in pairwise(edges)]


def _is_urgent(row: NetworkRow, whys: Mapping[NetworkId, Attention]) -> bool:
    status = row.status
    is_calm = status.activity in {Activity.CALM, Activity.FLAT_FEE}
    return status.profile.network_id in whys or bool(status.figures.failures) or not is_calm


def _head(needed: Sequence[Attention], now: datetime) -> Markup:
    worst = needed[0] if needed else None
    kind = "calm" if worst is None else severity_kind(worst.severity)
    many = counted(len(needed), "needs attention", "need attention")
    count = many if needed else "Nothing needs attention"
    said = "" if worst is None else visible(worst.title, _LONGEST_HEADLINE)
    sign = Markup() if worst is None else severity_sign(worst.severity)
    return element(
        "header",
        element("h1", count, class_=f"lw-wall-{kind}"),
        element("p", sign, " ", said, class_=f"lw-wall-worst lw-wall-{kind}"),
        element("time", f"{now:%H:%M:%S} UTC"),
    )


def _line(rows: Sequence[NetworkRow], whys: Mapping[NetworkId, Attention], class_: str) -> Markup:
    tiles = (tile(each, whys.get(each.status.profile.network_id)) for each in rows)
    return element("div", *tiles, class_=class_)


def tile(row: NetworkRow, why: Attention | None) -> Markup:
    """Build a tile; `why` is the worst that needs attention there. Fresh data needs no age."""
    status, difference = row.status, above_usual(row.status.figures, row.usual)
    kind = "failing" if status.figures.failures else status.activity.name.lower()
    severity = "" if why is None else f" needs-{severity_kind(why.severity)}"
    name = visible(status.profile.name, _LONGEST_NAME)
    head = join(network_badges(status), element("span", lasting(status, row.now)))
    reason = Markup()
    if why is not None:
        said = visible(why.title, _LONGEST_HEADLINE).removeprefix(f"{name}: ")
        said = capitalized(said.removeprefix(f"{name} is ").removeprefix(f"{name} "))
        if said.lower() != kind:  # the badge says that already
            reason = element("p", severity_sign(why.severity), " ", said, class_="lw-wall-why")
    foot = (rejected_words(row), age_markup(row) if row.is_stale else "")
    inner = element(
        "div",
        element("h2", name),
        element("p", head, class_="lw-row"),
        reason,
        element("p", fee_markup(row), class_="lw-wall-fee"),
        element("p", _beside_usual(status, difference), class_="lw-wall-usual")
        if difference is not None
        else Markup(),
        day_picture(row),
        element("p", *(element("span", each) for each in foot if each), class_="lw-row"),
    )
    old = " is-old" if row.is_stale else ""
    return element("section", inner, class_=f"lw-wall-tile is-{kind}{severity}{old}")


def _beside_usual(status: NetworkStatus, difference: float) -> str:
    """Compare the fee with the usual one, and name it if it is not the base fee."""
    signal, words = status.figures.signal, difference_in_words(difference)
    return words if signal is Signal.BASE_FEE else f"{signal.capitalize()} {words}"


def rejected_words(row: NetworkRow) -> str:
    """Count the rejections of the last hour; empty if nobody asks for them, or there is none."""
    if row.hourly is None:
        return ""
    if row.hourly.ended_at is not None and not row.hourly.count:
        return "no line limits"
    if row.hourly.watched.is_whole:
        return f"{row.hourly.count:,} rejected in 1 h" if row.hourly.count else ""
    more = f"{row.hourly.count:,} or more rejected in 1 h"
    return more if row.hourly.count else "no rejection seen in 1 h, with gaps"
