"""Settings answers: what is configured, where it comes from, and how it is changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby
from operator import attrgetter
from typing import Final

import streamlit as st

from dashboard.application import application
from dashboard.application.context import ConfigurationState, ShownSetting
from dashboard.application.listing import Column, Listing
from dashboard.application.text import moment
from dashboard.domain.markup import Markup, breakable, element, join, plain_label, visible
from dashboard.show.parts.frame import heading, live, section
from dashboard.show.parts.list_page import filter_bar, search_filter
from dashboard.show.parts.notices import empty, notice
from dashboard.show.parts.table import list_table

SEARCH: Final = "setting"
REFRESH: Final = timedelta(seconds=15)
_MOST_NAMED: Final = 12
_LONGEST: Final = 400


def page() -> None:
    """Show the page: what becomes of the files is noticed without a reload."""
    _live()


@live(REFRESH)
def _live() -> None:
    read = application.current().context.settings.configuration
    if read is None:
        heading("Settings", "This process was started without a configuration.")
        return
    found = read()
    own = [each for each in found.settings if not each.is_default]
    heading("Settings", headline(found, len(own)))
    _mistakes(found)
    if own:
        with st.container(key="card-own-settings", gap="small"):
            section("Set here")
            st.html(list_table(_SETTINGS, own, "Settings that are not defaults"))
    _how_to_change(found.own_file)
    with st.container(key="card-settings", gap="small"):
        _all(found.settings)


def headline(found: ConfigurationState, own: int) -> str:
    """Say in one sentence how much is set, and since when it holds."""
    which = {0: "Every setting is a default", 1: "1 setting is set here"}
    said = which.get(own, f"{own} settings are set here")
    return f"{said}, as read when these pages started, {moment(found.started_at)}."


def _mistakes(found: ConfigurationState) -> None:
    """Say what the files hold by now that a restart would refuse, or bring."""
    if found.mistakes:
        named = (element("li", visible(each, _LONGEST)) for each in found.mistakes[:_MOST_NAMED])
        more = len(found.mistakes) - _MOST_NAMED
        rest = element("li", f"and {more} more") if more > 0 else Markup()
        told = element("strong", "With the files as they are now, Linewatch does not start again:")
        listed = element("ul", *named, rest)
        st.html(element("div", told, listed, class_="lw-notice bad", role="alert"))
    elif found.changed:
        names = ", ".join(visible(each, _LONGEST) for each in found.changed[:_MOST_NAMED])
        more = len(found.changed) - _MOST_NAMED
        others = f" and {more} more" if more > 0 else ""
        notice("busy", "Changed since the start:", f"{names}{others}. Restart Linewatch to use it.")


def _how_to_change(own_file: str) -> None:
    with st.container(key="card-change", gap="small"):
        section("Change a setting")
        steps = (
            join(
                "Write it into ",
                element("code", breakable(own_file)),
                ", such as ",
                element("code", "port = 9000"),
                " below ",
                element("code", "[pages]"),
                ". Or set its variable, such as ",
                element("code", "LINEWATCH_PAGES_PORT=9000"),
                "; a variable overrides the file.",
            ),
            join(
                "Check it: ",
                element("code", "linewatch config check"),
                " names each mistake with its line, ",
                element("code", "linewatch config try"),
                " asks every endpoint once.",
            ),
            "Restart Linewatch.",
        )
        st.html(element("ol", *(element("li", each) for each in steps), class_="lw-steps"))


def _all(settings: Sequence[ShownSetting]) -> None:
    section("All settings", "A value that may be secret is shown as •••.")
    with filter_bar():
        words = search_filter(SEARCH, "Name, value or meaning")
    found = [each for each in settings if each.holds(words)]
    if not found:
        empty("No setting matches", "Change or clear the search to see all settings.")
    for name, group in groupby(found, attrgetter("section")):
        with st.expander(plain_label(name, _LONGEST), expanded=bool(words), key=f"settings-{name}"):
            st.html(list_table(_SETTINGS, group, f"Settings of {name}"))


def _name(each: ShownSetting) -> Markup:
    name = element("span", breakable(visible(each.name, _LONGEST)), class_="lw-mono")
    return join(name, _below(each.meaning))


def _value(each: ShownSetting) -> Markup:
    value = visible(each.value, _LONGEST)
    shown = element("span", value or "empty", class_=None if value else "lw-quiet")
    return join(shown, _below(each.default and f"default: {each.default}"))


def _below(text: str) -> Markup:
    return element("div", visible(text, _LONGEST), class_="lw-quiet") if text else Markup()


_SETTINGS: Final[Listing[ShownSetting]] = Listing(
    "settings",
    (
        Column("Setting", _name),
        Column("Value", _value),
        Column("From", lambda each: visible(each.source, _LONGEST)),
    ),
)
