"""The colours of prover modules, the same for a module wherever it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from colorsys import hls_to_rgb
from functools import cache
from typing import Final
from zlib import crc32

from dashboard.domain.rejections.reasons import KNOWN_MODULES

_TURN: Final = 0.381966
"""The part of a circle of hues between one module and the next, so that each is far from the
others."""

_BRIGHTNESS: Final = (0.17, 0.24)
"""Luminance of the colours of modules: at least 3:1 on white and on the dark panel."""

_SATURATION: Final = 0.62
_PALER: Final = 0.34
"""Saturation of unknown modules, so that none looks like a known one."""

_LINEAR_BELOW: Final = 0.04045


@cache
def module_colour(module: str) -> str:
    """Return the colour of a prover module, which follows from its name: everywhere the same.

    Known modules are far apart from each other; the colour of others is a hash of the name.
    """
    is_known = module in KNOWN_MODULES
    place = (
        KNOWN_MODULES.index(module) if is_known else crc32(module.encode("utf-8", "replace")) % 997
    )
    saturation = _SATURATION if is_known else _PALER
    hue, wanted = place * _TURN % 1, _BRIGHTNESS[place % len(_BRIGHTNESS)]
    low, high = 0.0, 1.0
    for _ in range(10):
        middle = (low + high) / 2
        is_dark = _luminance(hls_to_rgb(hue, middle, saturation)) < wanted
        low, high = (middle, high) if is_dark else (low, middle)
    return "#" + "".join(f"{round(each * 255):02x}" for each in hls_to_rgb(hue, low, saturation))


def _luminance(parts: Sequence[float]) -> float:
    """Return the relative luminance of red, green and blue (0 to 1), as WCAG defines it."""
    linear = (c / 12.92 if c <= _LINEAR_BELOW else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return sum(share * each for share, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
