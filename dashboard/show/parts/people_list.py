"""People and their sessions on a page: who may do what, and who is signed in where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import streamlit as st
from msgspec import Struct

from dashboard.application.accounts import INVITED_FOR, Account
from dashboard.application.application import Application
from dashboard.application.text import age
from dashboard.domain.formatting import capitalized, counted, moment
from dashboard.domain.markup import Markup, breakable, element, join, visible
from dashboard.domain.people.access import LEAST_ROLES, LONGEST_NAME, Action, Actor, Role
from dashboard.show.parts.acting import HEEDED_FOR, IDENTITY, Done, act, act_button, may, pressed
from dashboard.show.parts.badges import badge
from dashboard.show.parts.frame import card, popover
from dashboard.show.parts.list_page import filter_bar, page_of_rows, search_filter
from dashboard.show.parts.notices import empty, notice
from dashboard.show.parts.table import entry, entry_markup, table
from dashboard.store.access.people import Person, Session

SEARCH: Final = "person"
ROWS: Final = 20
_INVITED: Final = "invitation_made"
_READ: Final = "people_and_sessions_read"
_LONGEST: Final = 160
_Item = TypeVar("_Item")
_ROLES: Final = [each.value for each in Role]
_BADGES: Final = {
    "can sign in": ("calm", "✓"),
    "invited": ("stale", "…"),
    "invitation expired": ("busy", "!"),
    "disabled": ("bad", "✕"),
}


def people_headline(queries: Application) -> str:
    """Say how many people there are, and how many sessions; the part below shows the same ones."""
    known = st.session_state[_READ] = queries.people.all(), queries.people.sessions()
    people = counted(len(known[0]), "person", "people")
    return f"{people}, {counted(len(known[1]), 'open session')}."


def people_part(queries: Application) -> None:
    """Show everybody with what can be done, and every open session."""
    if not queries.people.must_sign_in:
        notice(
            "busy",
            "Nobody has to sign in.",
            join(
                "Everybody who reaches these pages may do everything. Set ",
                element("code", "accounts = true", class_="lw-whole"),
                " in ",
                element("code", "[sign_in]"),
                " and restart the pages to let only these people in.",
            ),
        )
    with filter_bar():
        words = search_filter(SEARCH, "Name, role or device").lower()
    known = st.session_state.pop(_READ, None)
    everybody, signed_in = known or (queries.people.all(), queries.people.sessions())
    accounts = [each for each in everybody if _holds(words, _texts_of(each))]
    sessions = [each for each in signed_in if _holds(words, _texts_at(each))]
    with card("people", "People", "A change takes effect at once, also on pages that are open."):
        _invite(queries)
        if not accounts:
            empty("Nobody is listed", "Clear the search, or invite somebody.")
        _paged(accounts, "people_page", partial(_person, queries))
        with st.expander("What each role may do"):
            st.html(_table_of_roles())
    with card("sessions", "Sessions", "One per sign-in on a device, most recently used first."):
        if not sessions:
            empty("No session is listed", "Nobody is signed in, or the search matches nobody.")
        _paged(sessions, "sessions_page", partial(_session, queries))


def _paged(items: Sequence[_Item], key: str, draw: Callable[[_Item], None]) -> None:
    def rows(number: int) -> None:
        for each in items[(number - 1) * ROWS : number * ROWS]:
            draw(each)

    page_of_rows(len(items), ROWS, key, rows)


def _texts_of(each: Account) -> str:
    person = each.person
    return f"{person.name} {person.role} {each.state} {person.issuer or 'password'}"


def _texts_at(each: Session) -> str:
    return f"{each.person.name} {each.person.role} {each.device} {each.address}"


def _holds(words: str, text: str) -> bool:
    return all(word in text.lower() for word in words.split())


def _person(queries: Application, each: Account) -> None:
    person = each.person
    with entry(f"person-{person.person_id}", person_markup(queries, each)):
        popover("Change", f"change-{person.person_id}", partial(_changes, queries, each))


def person_markup(queries: Application, each: Account) -> Markup:
    """Build the entry of a person: state, role, way of sign-in and last use."""
    person = each.person
    kind, sign = _BADGES[each.state]
    used = "never signed in"
    if each.last_used_at is not None:
        used = f"last used {age(each.last_used_at, queries.now())}"
    until = "" if each.invited_until is None else f"invited until {moment(each.invited_until)}"
    return entry_markup(
        badge(kind, sign, capitalized(each.state)),
        breakable(visible(person.name, LONGEST_NAME)),
        person.role.value,
        _way(queries, person),
        used,
        until,
        f"since {moment(person.created_at)}",
    )


def _way(queries: Application, person: Person) -> str:
    """Say how they sign in; an issuer has its label in the settings, if there is one."""
    issuer = person.issuer
    if issuer is None:
        return f"signs in with {', '.join(('a password', *person.factors))}"
    policy = queries.people.policy
    known = () if policy is None else (*policy.issuers.values(), policy.proxy)
    label = next((each.label for each in known if each and each.url == issuer), issuer)
    return visible(f"signs in with {label}", _LONGEST)


def _changes(queries: Application, each: Account) -> None:
    people, person = queries.people, each.person
    name, key = person.name, person.person_id
    if person.issuer is not None:
        st.caption("The role comes from groups at the provider.")
    elif not person.is_disabled:
        _role(queries, each)
        label = "Make a link for a new password"
        if may(queries, Action.INVITE):
            ask = partial(_ask_for_link, queries, name, None)
            st.button(label, key=f"link-{key}", width="stretch", on_click=ask)
    offer = partial(act_button, queries, width="stretch")
    change: Callable[[Actor], object] = partial(people.end_sessions_of, name)
    done: Callable[[Any], Done] | Done = partial(_signed_out, name)
    offer(Action.END_SESSION, "Sign out everywhere", f"out-{key}", change, done)
    if person.factors:
        change = partial(people.reset_factors, name)
        done = Done(f"{name} signs in with the password alone, and is signed out")
        offer(Action.RESET_FACTORS, "Remove second factors", f"factors-{key}", change, done)
    if person.is_disabled:
        done = Done(f"{name} can sign in again")
        offer(Action.ENABLE_PERSON, "Enable", f"enable-{key}", partial(people.enable, name), done)
    else:
        change, done = partial(people.disable, name), partial(_disabled, queries, name)
        offer(Action.DISABLE_PERSON, "Disable", f"disable-{key}", change, done)
    change, done = partial(people.remove, name), partial(_removed, name)
    offer(Action.REMOVE_PERSON, "Remove for good", f"remove-{key}", change, done)


def _role(queries: Application, each: Account) -> None:
    person = each.person
    if not may(queries, Action.CHANGE_ROLE):
        return
    key = f"role-{person.person_id}-{person.role.value}"
    chosen = Role(st.selectbox("Role", _ROLES, _ROLES.index(person.role.value), key=key))
    if chosen is person.role:
        return
    label, button = f"Make them {chosen.with_article}", f"give-{key}-{chosen.value}"
    if pressed(queries, label, button, type="primary"):
        people = queries.people
        back = partial(people.change_role, person.name, person.role)
        done = Done(f"{person.name} is {chosen.with_article} now", back)
        act(queries, partial(people.change_role, person.name, chosen), done, button=button)


def _signed_out(name: str, ended: int) -> Done:
    return Done(f"{name} is signed out: {counted(ended, 'session')} ended")


def _removed(name: str, tokens: list[str]) -> Done:
    return Done(f"{name} is removed; what they did stays in the audit log{_ended(tokens)}")


def _disabled(queries: Application, name: str, tokens: list[str]) -> Done:
    said = f"{name} is signed out, and cannot sign in until you enable them{_ended(tokens)}"
    return Done(said, partial(queries.people.enable, name))


def _ended(tokens: list[str]) -> str:
    """Name what does not come back when the person does."""
    return f". Their tokens ended for good: {', '.join(tokens)}" if tokens else ""


def _invite(queries: Application) -> None:
    """Offer to invite somebody by a link, and show the link this one time."""
    asked: _Invitation | None = st.session_state.get(_INVITED)
    if asked is not None and asked.link:
        hours = int(INVITED_FOR.total_seconds()) // 3600
        who = element("b", visible(asked.name, LONGEST_NAME))
        said = f", and to nobody else: it works once, for {hours} hours."
        st.html(element("p", "Send this link to ", who, said))
        st.code(asked.link, language=None, wrap_lines=True)
        forget = partial(st.session_state.pop, _INVITED, None)
        st.button("Hide the link", key="hide-link", on_click=forget)
    policy = queries.people.policy
    if (policy is not None and not policy.accounts) or not may(queries, Action.INVITE):
        return
    with (
        st.expander("Invite somebody", key="invite"),
        st.form("invite-form", border=False, clear_on_submit=True),
    ):
        st.text_input("Name", key="invited_name", max_chars=LONGEST_NAME)
        st.selectbox("Role", _ROLES, key="invited_role")
        st.form_submit_button("Make a link", type="primary", on_click=_note, args=(queries,))
    if asked is not None and not asked.link and queries.now() - asked.at < HEEDED_FOR:
        _make_link(queries, asked)


class _Invitation(Struct):
    """Whom to invite, and the link once it is made.

    A run may be cut short wherever it uses the session, so the link is put into what the session
    has already: otherwise it would be made and never shown.
    """

    name: str
    role: Role | None
    at: datetime
    link: str = ""


def _note(queries: Application) -> None:
    """Remember whom to invite: a run that is cut short loses the form."""
    name, role = st.session_state["invited_name"], st.session_state["invited_role"]
    _ask_for_link(queries, " ".join((name or "").split()), Role(role))


def _ask_for_link(queries: Application, name: str, role: Role | None) -> None:
    st.session_state[_INVITED] = _Invitation(name, role, queries.now())


def _make_link(queries: Application, asked: _Invitation) -> None:
    def invite(by: Actor) -> None:
        asked.link, _ = queries.people.invitation(asked.name, asked.role, by, _here())

    act(queries, invite, failed="Nobody was invited.")
    st.session_state.pop(_INVITED, None)  # it was refused, or the page would be drawn again


def _here() -> str:
    """Return where this person opens these pages."""
    here = urlsplit(st.context.url or "")
    return f"{here.scheme}://{here.netloc}" if here.netloc else ""


def _session(queries: Application, each: Session) -> None:
    key = each.session_id.hex
    with entry(f"session-{key}", session_markup(queries, each)):
        ended = Done(f"{each.person.name} is signed out there")
        end = partial(queries.people.end_session, each.session_id)
        act_button(queries, Action.END_SESSION, "Sign out", f"end-{key}", end, ended)


def session_markup(queries: Application, each: Session) -> Markup:
    """Build the entry of a session: its person, the device, since and until when."""
    now = queries.now()
    is_own = st.user.get(IDENTITY) == str(each.session_id)
    mark = badge("calm", "●", "This session") if is_own else Markup()
    return entry_markup(
        mark,
        breakable(visible(each.person.name, LONGEST_NAME)),
        each.person.role.value,
        visible(each.label, LONGEST_NAME),
        visible(each.device, _LONGEST),
        visible(each.address, _LONGEST),
        f"last used {age(each.last_used_at, now)}",
        f"signed in {moment(each.created_at)}",
        f"ends {moment(each.ends_at)} at the latest",
    )


def _table_of_roles() -> Markup:
    special = frozenset[Action]().union(*LEAST_ROLES.values())
    rows: list[tuple[str, str]] = []
    for role in Role:
        acts = LEAST_ROLES.get(role, frozenset(Action) - special)
        reads = () if rows else ("reads every page but this section and the audit log",)
        said = ", ".join((*reads, *sorted(each.value for each in acts)))
        rows.append((role.value, said))
    return table(("Role", "May, besides the above"), rows, "What each role may do")
