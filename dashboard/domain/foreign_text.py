"""Foreign text made safe to show: unseen characters as codes, and in mails no links."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_UNSEEN: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

_DOT_OF_NAME: Final = re.compile(
    r"(?P<address>(?<!\S)[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}(?!\S))"
    r"|(?<=\w)[.\u3002\uff0e\uff61](?=[^\W\d_]{2})"
)
"""A dot that may stand in the name of a host, also as other scripts write it, or a mail address."""


def visible(text: str, limit: int = 2000) -> str:
    r"""Show control, bidirectional and other unseen characters as codes such as ``\u202e``.

    The result is one line of at most `limit` characters of the text. It must still be escaped for
    the format that it is put into.
    """
    shown = text[:limit]
    if not shown.isprintable():  # much faster than looking at each character
        shown = "".join(_visible_character(character) for character in shown)
    return shown if len(text) <= limit else f"{shown}…"


def unlinked(text: str, limit: int = 2000) -> str:
    """Show foreign text in a mail: as `visible`, and so that no mail program makes a link of it.

    ``https://evil.example/`` becomes ``https[:]//evil[.]example/``. A mail address stays: people
    are called so.
    """
    shown = visible(text, limit).replace("://", "[:]//")
    return _DOT_OF_NAME.sub(lambda found: found["address"] or "[.]", shown)


def _visible_character(character: str) -> str:
    if unicodedata.category(character) in _UNSEEN:
        return f"\\u{ord(character):04x}"
    return character
