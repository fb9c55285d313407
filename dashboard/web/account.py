"""Pages of people's own accounts: sign in, accept an invitation, change a password, sign out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar
from urllib.parse import quote
from uuid import UUID

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from dashboard.application.people import People
from dashboard.application.text import sentence
from dashboard.domain.formatting import capitalized, moment
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.people.access import LONGEST_NAME
from dashboard.domain.people.sign_in import LONGEST_PASSWORD, SHORTEST_PASSWORD, Issuer
from dashboard.domain.secret import Secret
from dashboard.errors import InputError
from dashboard.store.access.people import Person, Session
from dashboard.web.plain_page import OWN_FORM, plain_page, read_form, text_field
from dashboard.web.session_cookie import COOKIE, KEPT, device_of, known_place, signed_in

INVITATION: Final = "/invitation/"
"""What the path of an invitation begins with; its token follows."""

_SIGN_IN: Final = "/sign-in"
_SIGN_OUT: Final = "/sign-out"
_ACCOUNT: Final = "/account"

_AT_ONCE: Final = CapacityLimiter(2)
"""Passwords hashed at the same time; each takes 64 MiB for a tenth of a second."""

_NOT_KEPT: Final = (
    "your browser did not keep the sign-in: open this Linewatch by its https address, and allow "
    "its cookie"
)

_Form = Mapping[str, str]
_Result = TypeVar("_Result")


def is_about_accounts(path: str) -> bool:
    """Whether a path is one that `answer_account` answers."""
    return path in {_SIGN_IN, _SIGN_OUT, _ACCOUNT} or path.startswith(INVITATION)


async def answer_account(people: People, session: Session | None, request: Request) -> Response:
    """Answer on a path of accounts; a form acts only if one of our own pages sent it."""
    if request.method not in {"GET", "HEAD", "POST"}:
        return PlainTextResponse("A page is opened, or its form sent.", 405)
    if request.method == "POST" and "origin" not in request.headers:
        return PlainTextResponse("The form does not say which page sent it.", 403)
    try:
        form = await read_form(request)
    except InputError as mistake:
        return PlainTextResponse(sentence(capitalized(str(mistake))), 400)
    path = request.url.path
    if path.startswith(INVITATION):
        response = await _accept(people, form, request)
    elif path == _SIGN_IN:
        response = await _sign_in(people, session, form, request)
    elif session is None:
        response = RedirectResponse("sign-in", 303)
    elif path == _SIGN_OUT:
        response = await _sign_out(people, session, form)
    else:
        response = await _change_account(people, session, form)
    response.headers.update(OWN_FORM)
    return response


async def _sign_in(
    people: People, session: Session | None, form: _Form | None, request: Request
) -> Response:
    asked = request.query_params if form is None else form
    place = known_place(asked.get("next", ""))
    if form is None:
        if session is not None:
            return RedirectResponse(f"./{place}", 303)
        mistake = _NOT_KEPT if KEPT in request.query_params else ""
        return HTMLResponse(_sign_in_page(people, place, mistake=mistake))
    name, password = form.get("name", ""), Secret(form.get("password", ""))
    try:
        begun = await _in_turn(partial(people.sign_in, name, password, device_of(request)))
    except InputError as mistake:
        return HTMLResponse(_sign_in_page(people, place, name, str(mistake)), 403)
    if session is not None:
        await _end(people, session, session.session_id)
    return signed_in(begun, "sign-in", place)


async def _accept(people: People, form: _Form | None, request: Request) -> Response:
    token = request.url.path.removeprefix(INVITATION)
    person = await to_thread.run_sync(people.invited, token)
    if person is None:
        said = element("p", "It was used or has expired: ask an admin for another one.")
        back = element("p", element("a", "Sign in", href="../sign-in"))
        return HTMLResponse(plain_page("This invitation is not valid", said, back), 404)
    if form is None:
        return HTMLResponse(_invitation_page(person))
    password = Secret(form.get("password", ""))
    try:
        begun = await _in_turn(partial(people.accept, token, password, device_of(request)))
    except InputError as mistake:
        return HTMLResponse(_invitation_page(person, str(mistake)), 400)
    return signed_in(begun, "../sign-in")


async def _sign_out(people: People, session: Session, form: _Form | None) -> Response:
    if form is None:
        return RedirectResponse("account", 303)
    await _end(people, session, session.session_id)
    response = RedirectResponse("sign-in", 303)
    response.delete_cookie(COOKIE, secure=True, httponly=True, samesite="lax")
    return response


async def _change_account(people: People, session: Session, form: _Form | None) -> Response:
    said, status = "", 200
    try:
        if form is not None and "session" in form:
            await _end(people, session, _session_id(form["session"]))
            said = "That device is signed out."
        elif form is not None:
            old, new = Secret(form.get("old", "")), Secret(form.get("new", ""))
            await _in_turn(partial(people.change_password, session.session_id, old, new))
            said = "Your password is changed, and your other devices are signed out."
    except InputError as mistake:
        said, status = sentence(capitalized(str(mistake))), 400
    known = await to_thread.run_sync(people.sessions)
    own = [each for each in known if each.person.person_id == session.person.person_id]
    return HTMLResponse(_account_page(session, own, said), status)


async def _end(people: People, own: Session, ended: UUID) -> None:
    await to_thread.run_sync(people.end_own_session, own.session_id, ended)


async def _in_turn(act: Callable[[], _Result]) -> _Result:
    return await to_thread.run_sync(act, limiter=_AT_ONCE)


def _session_id(text: str) -> UUID:
    if not re.fullmatch(r"[0-9a-f]{32}", text):
        raise InputError("no such device is signed in")
    return UUID(text)


def _sign_in_page(people: People, place: str, name: str = "", mistake: str = "") -> str:
    policy = people.policy
    issuers = () if policy is None else policy.issuers.values()
    ways = [_issuer_link(each, place) for each in issuers]
    if policy is None or policy.accounts:
        ways.append(_password_form(place, name))
    return plain_page("Sign in to Linewatch", _mistake(mistake), *ways)


def _issuer_link(issuer: Issuer, place: str) -> Markup:
    target = f"sign-in/{issuer.name}?next={quote(place, safe='')}"
    label = f"Sign in with {visible(issuer.label)}"
    return element("p", element("a", label, href=target, class_="button"))


def _password_form(place: str, name: str) -> Markup:
    form = element(
        "form",
        text_field("name", "Name", name, LONGEST_NAME, autocomplete="username"),
        _password_field("password", "Password", "current-password"),
        element("input", type="hidden", name="next", value=place),
        element("button", "Sign in", type="submit"),
        method="post",
        action="",
    )
    hint = "An admin of this Linewatch gives accounts and new passwords."
    return join(form, element("p", hint))


def _invitation_page(person: Person, mistake: str = "") -> str:
    role = element("p", f"You are {person.role.with_article} of this Linewatch.")
    form = element(
        "form",
        text_field("name", "Name", person.name, LONGEST_NAME, autocomplete="username", readonly=""),
        _password_field("password", "New password", "new-password"),
        element("p", f"At least {SHORTEST_PASSWORD} characters: several words, say."),
        element("button", "Set password and sign in", type="submit"),
        method="post",
        action="",
    )
    return plain_page(f"Welcome, {visible(person.name)}", _mistake(mistake), role, form)


def _account_page(session: Session, own: Sequence[Session], said: str) -> str:
    person = session.person
    rows = [_device_row(each, is_this=each.session_id == session.session_id) for each in own]
    password = element(
        "form",
        text_field("name", "Name", person.name, LONGEST_NAME, autocomplete="username", readonly=""),
        _password_field("old", "Present password", "current-password"),
        _password_field("new", "New password", "new-password"),
        element("button", "Change password", type="submit"),
        method="post",
        action="",
    )
    sign_out = element(
        "form", element("button", "Sign out", type="submit"), method="post", action="sign-out"
    )
    return plain_page(
        visible(person.name),
        element("p", element("strong", said), role="status") if said else Markup(),
        element("p", f"You are {person.role.with_article}. ", element("a", "Back", href="./")),
        sign_out,
        element("h2", "Devices"),
        element("ul", *rows),
        *((element("h2", "Password"), password) if person.issuer is None else ()),
    )


def _device_row(session: Session, *, is_this: bool) -> Markup:
    used = "this device" if is_this else f"last used {moment(session.last_used_at)}"
    place = f" from {visible(session.address)}" if session.address else ""
    said = f"{visible(session.device)}{place}, {used}, signed in {moment(session.created_at)} "
    end = element(
        "form",
        element("input", type="hidden", name="session", value=session.session_id.hex),
        element("button", "Sign out", type="submit"),
        method="post",
        action="",
    )
    return element("li", said, Markup() if is_this else end)


def _mistake(text: str) -> Markup:
    if not text:
        return Markup()
    return element("p", element("strong", sentence(capitalized(text))), role="alert")


def _password_field(name: str, label: str, autocomplete: str) -> Markup:
    field = element(
        "input",
        type="password",
        id=name,
        name=name,
        autocomplete=autocomplete,
        maxlength=str(LONGEST_PASSWORD),
        required="",
    )
    return join(element("label", label, for_=name), field)
