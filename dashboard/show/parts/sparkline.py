"""A day in one small picture: the fee as a line, busy time as a strip below it."""

from __future__ import annotations

from base64 import b64encode
from typing import Final

from dashboard.show.charts.figure import LINE
from dashboard.show.parts.markup import Markup, element
from dashboard.show.queries.overview import DayLine

_WIDTH: Final = 192
_HEIGHT: Final = 30
_STRIP: Final = 4
_TOP: Final = 2
_BUSY: Final = "#cf7a24"
_BASE: Final = "#8696a3"


def sparkline(line: DayLine, words: str) -> Markup:
    """Draw it as a picture, inert wherever it stands; `words` say what it shows."""
    picture = b64encode(_svg(line).encode("ascii")).decode("ascii")
    return element(
        "img",
        src=f"data:image/svg+xml;base64,{picture}",
        alt=words,
        title=words,
        class_="lw-spark",
        decoding="sync",
    )


def _svg(line: DayLine) -> str:
    """Write the picture: colours that read on light and on dark."""
    height = _HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'preserveAspectRatio="none"><path d="M0 {height - 1.5}H{_WIDTH}" stroke="{_BASE}" '
        f'stroke-opacity=".35" stroke-width="3"/><path d="{_strip(line)}" stroke="{_BUSY}" '
        f'stroke-width="{_STRIP - 1}"/><path d="{_path(line)}" fill="none" stroke="{LINE}" '
        'stroke-width="1.6" stroke-linejoin="round" vector-effect="non-scaling-stroke"/></svg>'
    )


def _path(line: DayLine) -> str:
    """Draw the fees from zero to their highest; where nothing was seen the line breaks."""
    highest = max((each for each in line.fees if each is not None), default=0.0)
    room = _HEIGHT - _STRIP - 2 * _TOP
    step = _WIDTH / max(1, len(line.fees) - 1)
    words, is_down = [], False
    for place, fee in enumerate(line.fees):
        if fee is None:
            is_down = False
            continue
        y = _TOP + room * (1 - (fee / highest if highest else 0.5))
        x = place * step
        words.append(f"{'L' if is_down else 'M'}{x:.0f} {y:.1f}" + ("" if is_down else "h1"))
        is_down = True
    return "".join(words)


def _strip(line: DayLine) -> str:
    step = _WIDTH / max(1, len(line.is_busy))
    return "".join(
        f"M{place * step:.1f} {_HEIGHT - 1.5}h{step + 0.3:.1f}"
        for place, is_busy in enumerate(line.is_busy)
        if is_busy
    )
