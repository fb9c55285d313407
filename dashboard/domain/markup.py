"""Foreign text made safe to show, and our own markup, in which all other text is escaped."""

from __future__ import annotations

import re
import unicodedata
from html import escape
from typing import Final

_MARKDOWN: Final = re.compile(r"([!-/:-@\[-`{-~])")
_JOINTS: Final = re.compile(r"(?<=[_@])(?=.)")
_BEFORE_UNIT: Final = re.compile(
    r" (?<=\d )(?=(?:[gk]?wei|m?s|min|h|d|days?|bytes|[kMG]B|lines|gas|times|µ?[A-Z]{3,5})\b)"
)


class Markup(str):
    """HTML that `element` built; all other text is foreign and is escaped."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | None) -> Markup:
    """Build one HTML element; attribute names lose a trailing ``_`` and turn ``_`` into ``-``.

    An attribute that is None is left out. Addresses (``href``, ``src``) and handlers are not
    built from foreign text anywhere: links of pages are Streamlit's own. Code stays as it is, to
    be copied.
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag == "code":
        children = tuple(c if isinstance(c, Markup) else Markup(escape(c)) for c in children)
    return Markup(f"<{tag}{named}>{join(*children)}</{tag}>")


def join(*children: str) -> Markup:
    """Concatenate pieces and escape the foreign ones, in which numbers keep their units."""
    return Markup("".join(c if isinstance(c, Markup) else escape(with_units(c)) for c in children))


def with_units(text: str) -> str:
    """Keep each number and its unit on one line."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)


def breakable(name: str) -> Markup:
    """Allow a long name or address to wrap between its parts, and elsewhere only if needed."""
    return Markup("<wbr>".join(escape(part) for part in _JOINTS.split(name)))


def plain_label(text: str, limit: int) -> str:
    """Escape text for the label of a widget, which Streamlit would read as Markdown."""
    return _MARKDOWN.sub(r"\\\1", with_units(visible(text, limit)))


_UNSEEN: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

_LINK_JOINTS: Final = (
    ".\u2024\u2025\u2026\u2488-\u249b\u3002\u33c2\u33c7\u33d8\ufe12\ufe19\ufe30\ufe52\uff0e\uff61"
    "\U0001f100:\u2a74\ufe13\ufe55\uff1a@\ufe6b\uff20"
)
"""Dots, colons and at signs, and characters that normalisation (NFKC) turns into these."""

_LINK_MARK: Final = re.compile(
    r"(?P<plain>(?<!\S)\d\d(?::\d\d)+"
    r"|(?<![^\s(\"“])(?:[A-Za-z](?:\.[A-Za-z])+\.?|v?\d+(?:,\d{3})*(?:\.\d+){1,2})"
    r"[.,;!?)\"”]*:?(?!\S))"
    rf"|(?<=[^\s\[\"{_LINK_JOINTS}])[{_LINK_JOINTS}]+(?=[^\s)\"”{_LINK_JOINTS}])"
    r"|(?<![\\\ufe68\uff3c])[\\\ufe68\uff3c]{2,}(?=[^\s\]\\\ufe68\uff3c])"
)
"""Characters that turn the text around them into a link; `plain` are words that no program links.
The plain ones are times, abbreviations such as e.g., and numbers or versions of up to three
parts: the last part of a host name has at least two characters, unless all four are numbers."""

_MAIL_ADDRESS: Final = re.compile(
    r"(?!(?i:www|ftp)\.)[\w.+-]{1,64}@[\w-]{1,63}(\.[\w-]{1,63}){1,9}", re.ASCII
)


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
    """Show foreign text in a mail: like `visible`, and so that no program turns it into a link.

    ``https://evil.example/`` becomes ``https[:]//evil[.]example/``. A second time changes nothing.
    """
    return _LINK_MARK.sub(lambda found: found["plain"] or f"[{found[0]}]", visible(text, limit))


def unlinked_name(text: str, limit: int = 80) -> str:
    """Show a person's name: like `unlinked`, but an email address stays as it is."""
    return text if len(text) <= limit and _MAIL_ADDRESS.fullmatch(text) else unlinked(text, limit)


def _visible_character(character: str) -> str:
    if unicodedata.category(character) in _UNSEEN:
        return f"\\u{ord(character):04x}"
    return character
