"""Notices in place of content or beside it: empty, in trouble, simulated, ignored, unusable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.application.network_status import NetworkProfile
from dashboard.application.text import sentence
from dashboard.domain.formatting import capitalized, counted
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.tracking.hashes_in_text import Paste, WrongText
from dashboard.errors import StoreError
from dashboard.show.parts.badges import simulated_badge
from dashboard.show.parts.frame import HEADED, heading, quiet

_SEEN: Final = "simulated_notice_seen"
_UNREAD: Final = "store_was_unread"


def empty(headline: str, what_to_do: str) -> None:
    """Say that there is nothing yet, and how to get something."""
    st.html(
        element("div", element("strong", headline), element("span", what_to_do), class_="lw-empty")
    )


def no_base_fee(range_name: str | None) -> None:
    """Say that a chart has no fee to draw, in a range up to now or, for None, in a chosen time."""
    empty(
        "No base fee seen then" if range_name is None else f"No base fee seen in the {range_name}",
        "Choose a longer time, or look at Health: it says which source does not answer.",
    )


def no_network() -> None:
    """Say that nothing is watched, and how to change that."""
    empty(
        "No network is configured",
        "Add one under [networks] in linewatch.toml, or start with no configuration at all "
        "to try the simulated devnet.",
    )


def notice(kind: str, headline: str, text: str) -> None:
    """Show one sentence in a box; `kind` is bad, busy, calm, simulated or empty."""
    role = "alert" if kind == "bad" else None
    said = join(element("strong", headline), " ", with_code(text))
    st.html(element("p", said, class_=f"lw-notice {kind}", role=role))


_CODE: Final = re.compile(r"`([^`]+)`")


def with_code(text: str) -> Markup:
    """Mark commands, which our own sentences have between backticks, as code."""
    if isinstance(text, Markup):
        return text
    parts = _CODE.split(text)
    return join(*(element("code", each) if n % 2 else each for n, each in enumerate(parts)))


def mistakes(headline: str, found: Sequence[str], most: int) -> None:
    """List what is wrong in a box, `most` of it at the most; other text than Markup is escaped."""
    named = [element("li", each) for each in found[:most]]
    more = len(found) - most
    rest = element("li", f"and {more} more") if more > 0 else Markup()
    listed = element("ul", *named, rest)
    st.html(
        element("div", element("strong", headline), listed, class_="lw-notice bad", role="alert")
    )


def limits_notes(sentences: Sequence[str]) -> None:
    """Say which networks have no line limits any more, or soon; nothing if all have them."""
    if sentences:
        quiet(" ".join(sentences))


@contextmanager
def store_errors_shown(
    title: str = "", head: DeltaGenerator | None = None, *, is_said_below: bool = False
) -> Iterator[None]:
    """Show an error of the store as a notice in place of the content.

    Content that begins with the heading of its page gives its `title`: a page without a heading has
    no name in a screen reader. `head` is the place of the heading, if that is above what is drawn
    first. A heading needs no notice if the part below it says the same.
    """
    if title:
        st.session_state[HEADED] = False
    try:
        yield
    except StoreError as trouble:
        st.session_state[_UNREAD] = True
        if title and not st.session_state[HEADED]:
            with head or st.container():
                heading(title, "Nothing can be shown now.")
        if is_said_below:
            return
        notice("bad", "The store cannot be read.", store_trouble(trouble))


def store_trouble(error: StoreError) -> str:
    """Say why the store cannot be read, and what helps."""
    return (
        f"{sentence(capitalized(str(error)))} This page tries again automatically; "
        "if the error lasts, check the worker's log and the disk."
    )


def simulated_mark(profiles: Sequence[NetworkProfile], notes: DeltaGenerator) -> None:
    """Say on every page which networks are simulated: by a badge, at first sight in `notes` too."""
    *others, last = [profile.name for profile in profiles if profile.is_simulated] or [""]
    if not last:
        return
    names = f"{', '.join(others)} and {last} are chains" if others else f"{last} is a chain"
    said = (
        f"{names} that Linewatch simulates on this machine, to try it without an account. "
        "No real network is involved."
    )
    st.html(element("p", simulated_badge("Simulated data"), title=said))
    if not st.session_state.get(_SEEN):
        st.session_state[_SEEN] = True
        with notes:
            notice("simulated", "Simulated data.", said)


def missing_links_shown(public_url: str) -> None:
    """Say what messages lack if nobody configured the address at which people open the pages."""
    if not public_url:
        quiet(
            "Messages hold no links, so nobody can acknowledge, silence or unsubscribe from a "
            "mail: set public_url in [pages] to the address at which people open these pages."
        )


_LONGEST_PARAMETER: Final = 60
_MOST_NAMED_PARAMETERS: Final = 5


@contextmanager
def ignored_parameters_shown(place: DeltaGenerator, known: frozenset[str]) -> Iterator[None]:
    """List in `place` the parameters of the address that the page drawn meanwhile could not use.

    A parameter belongs to a widget of the same key, or is `known`. Streamlit removes a parameter
    from the address if its widget has no such choice, or if it is the usual one. Where the store
    cannot be read, no widget stands that could use one.
    """
    asked = st.query_params.to_dict()
    st.session_state[_UNREAD] = False
    yield
    if st.session_state[_UNREAD]:
        return
    wrong = [
        remark for name, value in asked.items() if (remark := _wrong_parameter(name, value, known))
    ]
    if wrong:
        more = (
            f"; and {len(wrong) - _MOST_NAMED_PARAMETERS} more"
            if len(wrong) > _MOST_NAMED_PARAMETERS
            else ""
        )
        with place:
            remarks = f"{'; '.join(wrong[:_MOST_NAMED_PARAMETERS])}{more}."
            notice("busy", "Part of the address was ignored:", remarks)


def _wrong_parameter(name: str, value: str, known: frozenset[str]) -> str | None:
    if not value:
        return None
    shown = visible(name, _LONGEST_PARAMETER)
    if name not in st.session_state:
        return None if name in known else f"{shown} is not a parameter of this page"
    if name in st.query_params or str(st.session_state[name]) == value:
        return None
    return f"{visible(value, _LONGEST_PARAMETER)} is not an option of {shown} here"


_MOST_TEXTS: Final = 20
_LONGEST_TEXT: Final = 80
_FEW_LINES: Final = 3


def unusable_texts(paste: Paste) -> None:
    """Name each piece that is not a hash, with the reason; say what was left out.

    Words around hashes, such as a greeting, are not mistakes: they are only mentioned.
    """
    prose = [each for each in paste.wrong if paste.hashes and each.is_prose]
    wrong = [each for each in paste.wrong if not (paste.hashes and each.is_prose)]
    if wrong:
        many = "One piece" if len(wrong) == 1 else f"{len(wrong)} pieces"
        mistakes(f"{many} cannot be used:", list(map(_text_error, wrong)), _MOST_TEXTS)
    if prose:
        lines = counted(len(prose), "line holds", "lines hold")
        texts = ", ".join(f"“{visible(each.text, _LONGEST_TEXT)}”" for each in prose[:_FEW_LINES])
        more_lines = ", …" if len(prose) > _FEW_LINES else ""
        said = f"{lines} no transaction: {texts}{more_lines}"
        quiet(said)
    if paste.repeated:
        many = counted(paste.repeated, "duplicate was", "duplicates were")
        quiet(f"{many} left out.")
    if paste.left_out:
        quiet(paste.left_out)


def _text_error(wrong: WrongText) -> Markup:
    text = element("code", visible(wrong.text, _LONGEST_TEXT))
    return join(f"Line {wrong.line}: ", text, f" {wrong.why}.")
