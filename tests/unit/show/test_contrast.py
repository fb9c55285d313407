"""Colours of the pages: texts are read (4.5 : 1), fields and marks are seen (3 : 1), by WCAG."""

from __future__ import annotations

import re
import tomllib
from itertools import product
from pathlib import Path
from typing import Final

import dashboard.show
from dashboard.domain.rejections.reasons import KNOWN_MODULES
from dashboard.show.charts.rejection_chart import module_colour
from tests.processes import PROJECT

_SHOW: Final = Path(dashboard.show.__file__).parent
_PAIR: Final = re.compile(r"--lw-([\w-]+): light-dark\((#\w{6}), (#\w{6})\)")
_MARKS: Final = re.compile(r"Final = .*(?:#\w{6}.*)+")
_TEXTS: Final = ("text", "quiet", "accent")
_STATES: Final = ("busy", "calm", "bad", "sim")


def test_texts_and_fields_stand_out_in_both_schemes() -> None:
    sheet = (_SHOW / "style.css").read_text(encoding="utf-8").partition("font-variant-numeric")[0]
    pairs = {name: (light, dark) for name, light, dark in _PAIR.findall(sheet)}
    themes = tomllib.loads((PROJECT / ".streamlit/config.toml").read_text(encoding="utf-8"))
    for number, theme in enumerate((themes["theme"]["light"], themes["theme"]["dark"])):
        colours = {name: pair[number] for name, pair in pairs.items()}
        grounds = [colours["panel"], theme["backgroundColor"], theme["secondaryBackgroundColor"]]
        fills = {colours[f"{state}-fill"]: colours[state] for state in _STATES}
        texts = [*product((colours[name] for name in _TEXTS), grounds), *fills.items()]
        edges = [*product((theme["borderColor"], colours["hatch"]), grounds)]

        assert [two for two in texts if _contrast(*two) < 4.5] == []
        assert [two for two in edges if _contrast(*two) < 3] == []


def test_marks_of_charts_stand_out_in_both_schemes() -> None:
    files = [*(_SHOW / "charts").glob("*.py"), *(_SHOW / "parts").glob("*.py")]
    lines = [line for file in files for line in _MARKS.findall(file.read_text(encoding="utf-8"))]
    marks = {colour for line in lines for colour in re.findall(r"#\w{6}", line)}

    assert marks
    assert [two for two in product(marks, ("#ffffff", "#161e25")) if _contrast(*two) < 3] == []


def test_colour_of_a_module_follows_from_its_name_and_stands_out() -> None:
    colours = [module_colour(each) for each in (*KNOWN_MODULES, "NEW_MODULE", "é\ud800<b>")]

    assert len(set(colours[: len(KNOWN_MODULES)])) == len(KNOWN_MODULES)
    assert module_colour("HUB") == colours[KNOWN_MODULES.index("HUB")]
    assert [two for two in product(colours, ("#ffffff", "#161e25")) if _contrast(*two) < 3] == []


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
