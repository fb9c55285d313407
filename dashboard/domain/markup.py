"""Markup of our own, where every text is escaped unless it was built here."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from dashboard.domain.foreign_text import visible

_MARKDOWN: Final = re.compile(r"([!-/:-@\[-`{-~])")
_JOINTS: Final = re.compile(r"(?<=[_@])(?=.)")


class Markup(str):
    """HTML that `element` built; any other text is foreign and gets escaped."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | None) -> Markup:
    """Build one HTML element; attribute names lose a trailing ``_`` and turn ``_`` into ``-``.

    An attribute that is None is left out. Addresses (``href``, ``src``) and handlers are not
    built from foreign text anywhere: links of pages are Streamlit's own.
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{named}>{join(*children)}</{tag}>")


def join(*children: str) -> Markup:
    """Put pieces one after the other, each foreign one escaped."""
    return Markup("".join(c if isinstance(c, Markup) else escape(c) for c in children))


def breakable(name: str) -> Markup:
    """Let a long name or address break where its parts meet, and only else inside of them."""
    return Markup("<wbr>".join(escape(part) for part in _JOINTS.split(name)))


def plain_label(text: str, limit: int) -> str:
    """Return text for the label of a widget, which Streamlit would read as Markdown."""
    return _MARKDOWN.sub(r"\\\1", visible(text, limit))
