"""Who acts on a page, and the result of an act: done, undone, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypedDict, TypeVar, Unpack
from uuid import UUID

import streamlit as st
from msgspec import Struct

from dashboard.application.application import Application
from dashboard.application.text import sentence
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_table import (
    RuleDifference,
    Rules,
    merged_with,
    read_rule,
    write_rule,
)
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import element, visible
from dashboard.domain.people.access import (
    LONGEST_NAME,
    Action,
    Actor,
    Role,
    Way,
    least_role,
    parse_name,
)
from dashboard.errors import InputError, LinewatchError, NotAllowed, StoreError
from dashboard.show.parts.frame import in_line
from dashboard.show.parts.notices import notice

IDENTITY: Final = "session"
"""Streamlit's name for the id of the session, which the gate passes in a header."""

_NAME: Final = "name_of_who_acts"
_TAKEN: Final = "names_taken"
"""How many names did not come from the field. Each makes a new field: at a refresh, the browser's
state of the old one would empty the name."""

_DONE: Final = "what_was_done"
_UNDO_PRESSED: Final = "undo_pressed"
_UNCHANGED: Final = "Nothing was changed."
_SAID_FOR: Final = timedelta(minutes=5)
HEEDED_FOR: Final = timedelta(seconds=30)
"""How long a press counts if its run was cut short."""

_LONGEST: Final = 400

_Result = TypeVar("_Result")


class ButtonLook(TypedDict, total=False):
    """How a button looks, in the words of `st.button`."""

    type: Literal["primary", "secondary"]
    help: str | None
    width: Literal["stretch", "content"]


class Done(Struct, frozen=True):
    """The result of an act, as a sentence that may contain foreign text, and how to undo it."""

    said: str
    undo: Callable[[Actor], object] | None = None


class _Press(Struct):
    """A press of a button: when, and what its act did, once that is done."""

    at: datetime
    done: Done | None = None


def pressed(queries: Application, label: str, key: str, **look: Unpack[ButtonLook]) -> bool:
    """Offer a button; return whether it was pressed and `act` has not finished what that asked for.

    If another run cuts this one short, such as one for a name typed last, Streamlit forgets the
    press: it is kept until `act` or `forget_press` takes it.
    """

    def note() -> None:
        known = _known_press(queries, key)
        if known is None or known.done is None:
            st.session_state[_press_of(key)] = _Press(queries.now())

    st.button(label, key=key, on_click=note, **look)
    return _known_press(queries, key) is not None


def _known_press(queries: Application, key: str) -> _Press | None:
    press: _Press | None = st.session_state.get(_press_of(key))
    return press if press is not None and queries.now() - press.at < HEEDED_FOR else None


def forget_press(key: str) -> None:
    """Forget the press of a button that cannot be heeded."""
    st.session_state.pop(_press_of(key), None)


def _press_of(key: str) -> str:
    return f"pressed-{key}"


def signed_in(queries: Application) -> Actor | None:
    """Return who is signed in, with their present role; None if nobody has to sign in.

    NotAllowed if the sign-in ended while the page was open.
    """
    if not queries.people.must_sign_in:
        return None
    session = st.user.get(IDENTITY)
    if not isinstance(session, str):
        raise NotAllowed("you are signed out: reload this page and sign in again")
    return queries.people.actor(UUID(session))


def may(queries: Application, action: Action) -> bool:
    """Whether the viewer of the page may do something: what they may not is not offered."""
    return admits(queries, least_role(action))()


def admits(queries: Application, least: Role) -> Callable[[], bool]:
    """Return a function that tells whether the viewer of this page has a role, now and later.

    A file is written when somebody asks for it, perhaps long after its button was drawn.
    """
    session = st.user.get(IDENTITY) if queries.people.must_sign_in else None

    def is_admitted() -> bool:
        if not queries.people.must_sign_in:
            return True
        try:
            return isinstance(session, str) and queries.people.role_shown(UUID(session)).includes(
                least
            )
        except (NotAllowed, StoreError):
            return False

    return is_admitted


def account_link(queries: Application) -> None:
    """Link to the page where people sign out, if they sign in."""
    if queries.people.must_sign_in:
        st.html(element("a", "Account", href="account", class_="lw-account"), width="content")


def name_input(queries: Application) -> None:
    """Ask once on a page who acts; the session remembers it, on other pages as well.

    People who are signed in act under their own name.
    """
    if queries.people.must_sign_in:
        return
    key = f"who_acts-{st.session_state.get(_TAKEN, 0)}"
    st.session_state.setdefault(key, _name())  # as a default it would make another field of it
    st.text_input(
        "Your name",
        key=key,
        max_chars=LONGEST_NAME,
        placeholder="Your name",
        help="Shown with what you change here, and kept in the audit log.",
        label_visibility="collapsed",
        width=260,
        on_change=_note_name,
        args=(key,),
    )


def _note_name(key: str) -> None:
    """Remember the name in the field; if it is empty, a new field shows the known name again.

    A browser that missed the run with a new field reports it as empty: the name would be lost.
    """
    if name := str(st.session_state[key]).strip():
        st.session_state[_NAME] = name
    else:
        take_name(_name())


def take_name(name: str) -> None:
    """Remember a name that was given elsewhere than in the field of the page."""
    st.session_state[_NAME] = name
    st.session_state[_TAKEN] = st.session_state.get(_TAKEN, 0) + 1


def first_name(queries: Application, key: str) -> None:
    """Ask for the name together with the first act; nothing is asked if it is known."""
    if is_named(queries):
        return
    field = f"who-{key}"

    def keep() -> None:
        if name := str(st.session_state.get(field) or ""):
            take_name(name)

    st.text_input("Your name", key=field, max_chars=LONGEST_NAME, on_change=keep)


def _name() -> str:
    return str(st.session_state.get(_NAME) or "")


def is_named(queries: Application) -> bool:
    return queries.people.must_sign_in or bool(_name().strip())


def known_actor(queries: Application) -> Actor:
    """Return who acts, by the name of the session if there is one: no name is required.

    NotAllowed if they are signed out.
    """
    if (by := signed_in(queries)) is not None:
        return by
    try:
        return _unsigned(queries)
    except InputError:
        return queries.context.unnamed()


def _unsigned(queries: Application) -> Actor:
    """Return the named actor if nobody signs in; InputError if there is no name."""
    if not _name().strip():
        raise InputError("fill in “Your name” first: the audit log says who acted")
    return Actor(parse_name(_name()), queries.now(), way=Way.PAGE)


@contextmanager
def trouble_shown(failed: str = _UNCHANGED) -> Iterator[None]:
    """Say why an act is not possible; `failed` is the headline."""
    try:
        yield
    except InputError as mistake:
        notice("bad", failed, sentence(visible(capitalized(str(mistake)))))
    except StoreError as trouble:
        notice("bad", failed, f"{trouble} Try again in a moment.")


def act(
    queries: Application,
    change: Callable[[Actor], _Result],
    done: Callable[[_Result], Done] | Done | None = None,
    *,
    failed: str = _UNCHANGED,
    needs_name: bool = True,
    button: str = "",
    then: Callable[[], object] = lambda: None,
) -> None:
    """Do what a person asked for, and redraw the page; say why if it is not possible.

    `done` says what was done, `failed` that it was not. If nobody signs in, the name is required
    only if the act `needs_name`. `then` follows on the page. With the key of a `button` that was
    `pressed`, a run that is cut short in between does not act twice.
    """
    press: _Press = st.session_state.get(_press_of(button)) or _Press(queries.now())
    with trouble_shown(failed), _forgetting(button):
        if press.done is None:
            who = signed_in(queries) or _unsigned(queries) if needs_name else known_actor(queries)
            result = change(who)
            press.done = Done("")  # at once, since a run may be cut short within `done`
            press.done = _done(done, result)
        if done is not None:
            st.session_state.pop(_UNDO_PRESSED, None)
            st.session_state[_DONE] = (queries.now(), press.done)
        then()
        forget_press(button)
        st.rerun()


def _done(done: Callable[[_Result], Done] | Done | None, result: _Result) -> Done:
    return done if isinstance(done, Done) else Done("") if done is None else done(result)


@contextmanager
def _forgetting(button: str) -> Iterator[None]:
    """Forget the press of a button that cannot be heeded; one that is cut short stays."""
    try:
        yield
    except LinewatchError:
        forget_press(button)
        raise


def act_button(
    queries: Application,
    action: Action,
    label: str,
    key: str,
    change: Callable[[Actor], object],
    done: Callable[[Any], Done] | Done,
    *,
    note: str | None = None,
    width: Literal["stretch", "content"] = "content",
) -> None:
    """Offer an act to people who may do it; a press does it, and `note` is its hint."""
    if may(queries, action) and pressed(queries, label, key, help=note, width=width):
        act(queries, change, done, button=key)


def done_shown(queries: Application) -> None:
    """Say what the last act did, for some minutes, and offer Undo if that makes sense.

    Its container is always there: a new one would push the parts below it, while they are redrawn.
    """
    with st.container():
        _last_act(queries)


def _last_act(queries: Application) -> None:
    held: tuple[datetime, Done] | None = st.session_state.get(_DONE)
    if held is None:
        return
    at, done = held
    if queries.now() - at > _SAID_FOR:
        del st.session_state[_DONE]
        return
    with in_line("done"):
        notice("calm", "Done.", sentence(visible(done.said, _LONGEST)))
        if done.undo is None:
            return
        st.button("Undo", key="undo", on_click=_note_undo)
        if st.session_state.pop(_UNDO_PRESSED, False):
            act(
                queries,
                done.undo,
                lambda _: Done("Undone"),
                failed="Nothing was undone.",
            )


def _note_undo() -> None:
    """Remember the press: a run that is cut short loses it."""
    st.session_state[_UNDO_PRESSED] = True


def undone(queries: Application, found: Sequence[RuleDifference]) -> Done:
    """Say what was changed back; Undo restores the rules that differ."""
    if not found:
        return Done("No change was needed")

    def edit(held: Rules) -> Rules:
        now = {each.name: write_rule(each) for each in held}
        for each in found:
            if now.get(each.name) != each.after:
                raise InputError(f"somebody else changed the rule {each.name} since: look again")
        new = {each.name for each in found if each.before is None}
        return merged_with(_before(found))(tuple(each for each in held if each.name not in new))

    def undo(by: Actor) -> list[RuleDifference]:
        return queries.rules.change(edit, by)

    return Done(". ".join(map(_words, found)), undo)


def _before(found: Sequence[RuleDifference]) -> list[Rule]:
    rules = (read_rule(each.name, each.before) for each in found if each.before is not None)
    return [each for each in rules if isinstance(each, Rule)]


def _words(each: RuleDifference) -> str:
    if each.before is None:
        return f"The rule {each.name} is added"
    return f"The rule {each.name} is {'removed' if each.after is None else 'changed'}"
