"""What of a paste could not be used, line by line."""

from __future__ import annotations

from typing import Final

import streamlit as st

from dashboard.domain.foreign_text import visible
from dashboard.domain.paste import Paste, WrongText
from dashboard.show.parts.markup import Markup, element, join

_MOST_NAMED: Final = 20
_LONGEST_TEXT: Final = 80


def wrong_texts(paste: Paste) -> None:
    """Name each piece that is no hash, with the reason; say how many hashes came twice."""
    if paste.wrong:
        more = len(paste.wrong) - _MOST_NAMED
        rest = element("li", f"and {more} more") if more > 0 else Markup()
        named = [_wrong_text(wrong) for wrong in paste.wrong[:_MOST_NAMED]]
        headline = element("strong", _headline(len(paste.wrong)))
        listed = element("ul", *named, rest)
        st.html(element("div", headline, listed, class_="lw-notice bad", role="alert"))
    if paste.repeated:
        many = "1 duplicate was" if paste.repeated == 1 else f"{paste.repeated:,} duplicates were"
        said = f"{many} left out."
        st.html(element("p", said, class_="lw-quiet"))


def _headline(count: int) -> str:
    return "One piece cannot be used:" if count == 1 else f"{count} pieces cannot be used:"


def _wrong_text(wrong: WrongText) -> Markup:
    text = element("code", visible(wrong.text, _LONGEST_TEXT))
    return element("li", join(f"Line {wrong.line}: ", text, f" {wrong.why}."))
