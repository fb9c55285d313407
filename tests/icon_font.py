"""Writes the small font of signs: `python -m tests.icon_font`, with fonttools installed.

That is no dependency of ours: a font is made when a page shows a new sign.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import streamlit

from tests.processes import PROJECT

FONT: Final = PROJECT / "dashboard" / "web" / "icons.woff2"
_STATIC: Final = Path(streamlit.__file__).parent / "static" / "static"
_SIGN: Final = re.compile(r":material/(\w+):")
NOT_IN_ANY_FONT: Final = frozenset({"star_filled"})
"""A sign that Streamlit's scripts name by mistake: its font lacks it too."""

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789_"
_LIGATURES: Final = 4


def signs() -> set[str]:
    """Return the names of the signs that our pages and the scripts of Streamlit name."""
    sources = [*(PROJECT / "dashboard").rglob("*.py"), *(_STATIC / "js").glob("*.js")]
    return {name for each in sources for name in _SIGN.findall(each.read_text("utf-8", "replace"))}


def write() -> None:
    """Cut these signs, and the letters that name them, out of the font of Streamlit."""
    fonts, subset = (import_module(f"fontTools.{each}") for each in ("ttLib", "subset"))
    whole: Any = fonts.TTFont(next((_STATIC / "media").glob("MaterialSymbols-Rounded.*.woff2")))
    glyphs, letters = whole.getBestCmap(), {}
    for letter in _LETTERS:
        letters[glyphs[ord(letter)]] = letter
    wanted = signs()
    kept = {
        each.LigGlyph
        for lookup in whole["GSUB"].table.LookupList.Lookup
        for table in (getattr(each, "ExtSubTable", each) for each in lookup.SubTable)
        if table.LookupType == _LIGATURES
        for first, ligatures in table.ligatures.items()
        for each in ligatures
        if "".join(letters.get(part, " ") for part in (first, *each.Component)) in wanted
    }
    options = subset.Options(layout_closure=False, layout_features=["*"], hinting=False)
    cutter = subset.Subsetter(options)
    cutter.populate(glyphs=[*letters, *kept])
    cutter.subset(whole)
    whole.flavor = "woff2"
    whole.save(FONT)


if __name__ == "__main__":
    write()
