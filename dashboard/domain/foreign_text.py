"""Foreign text made honest: what could hide or disguise something shows as codes."""

from __future__ import annotations

import unicodedata
from typing import Final

_UNSEEN: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str, limit: int = 2000) -> str:
    r"""Show control, bidirectional and other unseen characters as codes such as ``\u202e``.

    The result is one line of at most `limit` characters of the text. It is still foreign: what
    it is put into must escape it.
    """
    shown = text[:limit]
    if not shown.isprintable():  # far quicker to tell than to spell
        shown = "".join(_visible_character(character) for character in shown)
    return shown if len(text) <= limit else f"{shown}…"


def _visible_character(character: str) -> str:
    if unicodedata.category(character) in _UNSEEN:
        return f"\\u{ord(character):04x}"
    return character
