"""The last day of a network as a small line, drawn without a script."""

from __future__ import annotations

from itertools import groupby
from typing import Final
from urllib.parse import quote

from dashboard.application.overview import DayLine
from dashboard.domain.markup import Markup, element
from dashboard.show.charts.figure import LINE

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
    """Draw the fees from zero to their highest; the line breaks if nothing was seen."""
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
