"""Settings answers: what is configured and who may do what, who did what, and how to change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import groupby
from operator import attrgetter
from typing import Final

import streamlit as st

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import (
    LONGEST_SETTINGS,
    CheckedText,
    ConfigurationState,
    SettingChange,
    ShownSetting,
)
from dashboard.application.listing import Column, Listing
from dashboard.domain.formatting import counted, moment
from dashboard.domain.markup import Markup, breakable, element, join, plain_label, visible
from dashboard.domain.people.access import READS_ACCESS
from dashboard.domain.secret import MASK
from dashboard.show.parts.acting import admits, done_shown, name_input
from dashboard.show.parts.audit_list import audit_headline, audit_part
from dashboard.show.parts.chosen_settings import chosen_settings_part
from dashboard.show.parts.frame import card, heading, live, quiet, section
from dashboard.show.parts.list_page import choice_filter, filter_bar, search_filter
from dashboard.show.parts.notices import empty, mistakes, notice, store_errors_shown, with_code
from dashboard.show.parts.people_list import people_headline, people_part
from dashboard.show.parts.table import list_table

REFRESH: Final = timedelta(seconds=15)
SECTION: Final = "section"
"""The parameter of the address that names the section."""

CONFIGURATION: Final = "Configuration"
PEOPLE: Final = "People and sessions"
AUDIT_LOG: Final = "Audit log"
SEARCH: Final = "setting"
_MOST_NAMED: Final = 12
_MOST_CHANGES: Final = 50
_LONGEST: Final = 400
_RELOAD: Final = join(
    "Run ",
    element("code", "systemctl reload linewatch@up"),
    ", or without systemd ",
    element("code", "linewatch reload"),
)


def page() -> None:
    """Show the chosen section; people who may read only one need not choose."""
    queries = application.current()
    if not admits(queries, READS_ACCESS)():
        heading("Settings", headline(queries))
        _what_is_set()
        _all_settings()
        return
    head = st.container(key="settings-head")
    with st.container(key="settings-bar", horizontal=True, vertical_alignment="center"):
        chosen = choice_filter("Section", list(_SECTIONS), SECTION, CONFIGURATION, wraps=True)
        if chosen != AUDIT_LOG:
            name_input(queries)
    answer, draw = _SECTIONS[chosen]
    with store_errors_shown("Settings", head):
        with head:
            heading("Settings", answer(queries))
        done_shown(queries)
        draw()


def _configuration() -> None:
    _chosen()
    _what_is_set()
    _check(application.current())
    _all_settings()


@st.fragment
def _chosen() -> None:
    _for_admins(chosen_settings_part)


def headline(queries: Application) -> str:
    """Say in one sentence how much is set, and since when it holds."""
    found = queries.chosen_settings.configuration()
    if found is None:
        return "This process was started without a configuration."
    own = sum(not each.is_default for each in found.settings)
    which = {0: "Every setting is a default", 1: "1 setting is set here"}
    said = which.get(own, f"{own} settings are set here")
    return f"{said}. The file was read at the start, {moment(found.started_at)}."


@live(REFRESH)
def _what_is_set() -> None:
    """Show what is set here, what is wrong or new in the files by now, and how to change it."""
    found = application.current().chosen_settings.configuration()
    if found is None:
        return
    own = [each for each in found.settings if not each.is_default]
    _since_start(found)
    if own:
        with card("own-settings", "Set here"):
            st.html(list_table(_SETTINGS, own, "Settings that are not defaults"))
    _how_to_change(found.own_file)


def _since_start(found: ConfigurationState) -> None:
    """Say what the files hold by now that a reload would refuse, or bring."""
    if found.mistakes:
        _mistakes("With the present files Linewatch would not start again:", found.mistakes)
    elif found.changed:
        many = counted(len(found.changed), "setting")
        notice(
            "busy",
            f"A reload would change {many}.",
            join(_RELOAD, f" to use what the files say now.{_restart(found.changed)}"),
        )
        _changes(found.changed, "card-changes")


def _restart(found: Sequence[SettingChange]) -> str:
    """Name what takes more than a reload."""
    names = ", ".join(visible(each.name, _LONGEST) for each in found if each.needs_restart)
    return f" Restart it instead for {names}." if names else ""


def _changes(found: Sequence[SettingChange], key: str) -> None:
    """Show each setting as it is in force, and as it would be after a reload."""
    with st.container(key=key, gap="small"):
        section("After a reload")
        st.html(list_table(_CHANGES, found[:_MOST_CHANGES], "What a reload would change"))
        if len(found) > _MOST_CHANGES:
            quiet(f"and {len(found) - _MOST_CHANGES} more")


def _mistakes(headline: str, found: Sequence[str]) -> None:
    mistakes(headline, [visible(each, _LONGEST) for each in found], _MOST_NAMED)


def _check(queries: Application) -> None:
    """Check a text before it is the settings file; it is forgotten when it is checked."""
    check = queries.context.settings.check_text
    if check is None:
        return
    with (
        st.expander("Check a text before you save it as linewatch.toml", key="check-text"),
        st.form("check-settings", border=False, clear_on_submit=True),
    ):
        text = st.text_area(
            "Text of linewatch.toml",
            height=200,
            max_chars=LONGEST_SETTINGS,
            help="It is only checked: nothing is stored or logged.",
        )
        if st.form_submit_button("Check") and text and text.strip():
            _checked(check(text))


def _checked(found: CheckedText) -> None:
    if found.mistakes:
        _mistakes("With this text Linewatch would not start:", found.mistakes)
    else:
        many = counted(len(found.changes), "setting") if found.changes else "nothing"
        said = f"A reload with it would change {many}.{_restart(found.changes)}"
        notice("calm", "The text is good.", said)
    if found.unread:
        names = ", ".join(visible(each, _LONGEST) for each in found.unread[:_MOST_NAMED])
        said = "These settings name files or variables that were not read:"
        more = "; `linewatch config check` on the machine reads them"
        quiet(f"{said} {names}", with_code(f"{more}."))
    if found.changes:
        _changes(found.changes, "card-checked")


def _how_to_change(own_file: str) -> None:
    with card("change", "Change a setting"):
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
            join(
                _RELOAD,
                ". Restart it instead if you changed a variable, ",
                element("code", "store.url"),
                " or ",
                element("code", "devnet.mode"),
                ", or added the first network.",
            ),
        )
        st.html(element("ol", *(element("li", each) for each in steps), class_="lw-steps"))


@st.fragment
def _all_settings() -> None:
    """Show every setting with its value, its meaning and where it stands, and search them."""
    state = application.current().chosen_settings.configuration()
    if state is None:
        return
    with card("settings", "All settings", "A value that may be secret is shown as •••."):
        with filter_bar():
            words = search_filter(SEARCH, "Name, value or meaning")
        found = [each for each in state.settings if each.holds(words)]
        if not found:
            empty("No setting matches", "Change or clear the search to see all settings.")
        for name, group in groupby(found, attrgetter("section")):
            label = plain_label(name, _LONGEST)
            with st.expander(label, expanded=bool(words), key=f"settings-{name}"):
                st.html(list_table(_SETTINGS, group, f"Settings of {name}"))


def _name(each: ShownSetting) -> Markup:
    name = element("span", breakable(visible(each.name, _LONGEST)), class_="lw-mono")
    return join(name, _below(each.meaning))


def _value(each: ShownSetting) -> Markup:
    return join(_text(each.value), _below(each.default and f"default: {each.default}"))


def _below(text: str) -> Markup:
    said = with_code(visible(text, _LONGEST))
    return element("div", said, class_="lw-quiet") if text else Markup()


_SETTINGS: Final[Listing[ShownSetting]] = Listing(
    "settings",
    (
        Column("Setting", _name),
        Column("Value", _value),
        Column("From", lambda each: breakable(visible(each.source, _LONGEST))),
    ),
)


def _after(each: SettingChange) -> Markup:
    if each.after == each.running == MASK:
        return element("span", "another secret", class_="lw-quiet")
    return _text(each.after)


def _text(value: str) -> Markup:
    shown = visible(value, _LONGEST)
    return element("span", shown or "empty", class_=None if shown else "lw-quiet")


_CHANGES: Final[Listing[SettingChange]] = Listing(
    "changes",
    (
        Column(
            "Setting",
            lambda each: element("span", breakable(visible(each.name, _LONGEST)), class_="lw-mono"),
        ),
        Column("Now", lambda each: _text(each.running)),
        Column("After a reload", _after),
    ),
)


@st.fragment
def _people() -> None:
    _for_admins(people_part)


@st.fragment
def _audit_log() -> None:
    _for_admins(audit_part)


def _for_admins(part: Callable[[Application], None]) -> None:
    """Draw a part for who may read it now: a role may have changed since the page was opened."""
    queries = application.current()
    if not admits(queries, READS_ACCESS)():
        st.rerun()
    with store_errors_shown():
        part(queries)


_SECTIONS: Final[dict[str, tuple[Callable[[Application], str], Callable[[], None]]]] = {
    CONFIGURATION: (headline, _configuration),
    PEOPLE: (people_headline, _people),
    AUDIT_LOG: (audit_headline, _audit_log),
}
