"""A list of entries, each with a line on what it is, one on the rest, and acts beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import streamlit as st

from dashboard.domain.markup import Markup, element, join
from dashboard.show.parts.frame import in_line


@contextmanager
def entry(key: str, said: Markup) -> Iterator[None]:
    """Show what is said of one, and beside it the buttons and links that are drawn meanwhile."""
    with in_line(f"entry-{key}"):
        st.html(said)
        with in_line(f"acts-{key}", width="content"):
            yield


def entry_markup(
    mark: Markup, title: str, *about: str, also: Iterable[Markup] = (), rest: str = ""
) -> Markup:
    """Build what is said of one: a badge, its title, what is `also` true of it, and the facts.

    `rest` is a sentence between both lines. What is no Markup is escaped, and so is a title.
    """
    head = element("div", mark, element("b", title, class_="lw-what"), *also, class_="lw-row")
    between = element("p", rest, class_="lw-reason") if rest else Markup()
    facts = (each if isinstance(each, Markup) else element("span", each) for each in about if each)
    return join(head, between, element("div", *facts, class_="lw-row lw-facts-line"))
