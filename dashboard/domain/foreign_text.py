"""Foreign text made safe to show: unseen characters are shown as codes."""

from __future__ import annotations

import unicodedata
from typing import Final

_UNSEEN: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str, limit: int = 2000) -> str:
    r"""Show control, bidirectional and other unseen characters as codes such as ``\u202e``.

    The result is one line of at most `limit` characters of the text. It must still be escaped for
    the format that it is put into.
    """
    shown = text[:limit]
    if not shown.isprintable():  # much faster than looking at each character
        shown = "".join(_visible_character(character) for character in shown)
    return shown if len(text) <= limit else f"{shown}…"


def _visible_character(character: str) -> str:
    if unicodedata.category(character) in _UNSEEN:
        return f"\\u{ord(character):04x}"
    return character
