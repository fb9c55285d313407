"""Pages of people's own accounts: sign in, accept an invitation, change a password, sign out."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar
from urllib.parse import quote
from uuid import UUID

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from dashboard.application.accounts import INVITATION
from dashboard.application.factors import CodeAsked, PasskeyAsked
from dashboard.application.people import People
from dashboard.application.sessions import NewSession
from dashboard.application.text import sentence
from dashboard.domain.formatting import capitalized, moment
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.people.access import LONGEST_NAME
from dashboard.domain.people.sign_in import PROXY, SHORTEST_PASSWORD, Issuer
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotFound
from dashboard.store.access.people import Person, Session
from dashboard.web.factors import (
    PASSKEYS,
    Form,
    answer_script,
    change_factors,
    code_page,
    factor_sections,
    sign_in_by_passkey,
    site_of,
)
from dashboard.web.plain_page import (
    OWN_FORM,
    hidden_field,
    mistake_line,
    password_field,
    plain_page,
    post_form,
    read_form,
    submit,
    text_field,
)
from dashboard.web.proxy import proxy_link, signed_out_page
from dashboard.web.session_cookie import COOKIE, KEPT, device_of, known_place, signed_in

SIGN_IN: Final = "/sign-in"
_SIGN_OUT: Final = "/sign-out"
_ACCOUNT: Final = "/account"

_HASHING: Final = CapacityLimiter(2)
"""How many passwords are hashed at the same time; each takes 64 MiB for a tenth of a second."""

_OTHERS: Final = CapacityLimiter(8)
"""Threads for forms without a password, which do not wait behind those of strangers with one."""

_ACTS_WITH_PASSWORD: Final = frozenset({"password", "confirm"})

_NOT_KEPT: Final = (
    "your browser did not keep the sign-in: open this Linewatch by its https address, and allow "
    "its cookie"
)

_Result = TypeVar("_Result")


def is_about_accounts(path: str) -> bool:
    return path in {SIGN_IN, _SIGN_OUT, _ACCOUNT} or path.startswith((INVITATION, PASSKEYS))


async def answer_account(people: People, session: Session | None, request: Request) -> Response:
    """Answer a request to a path of accounts; a form acts only if one of our own pages sent it."""
    if request.method not in {"GET", "HEAD", "POST"}:
        return PlainTextResponse("A page is opened, or its form sent.", 405)
    if request.method == "POST" and "origin" not in request.headers:
        return PlainTextResponse("The form does not say which page sent it.", 403)
    try:
        form = await read_form(request)
    except InputError as mistake:
        return PlainTextResponse(sentence(capitalized(str(mistake))), 400)
    path = request.url.path
    if path.startswith(PASSKEYS):
        response = await answer_script(people, session, request)
    elif path.startswith(INVITATION):
        response = await _accept(people, form, request)
    elif path == SIGN_IN:
        response = await _sign_in(people, session, form, request)
    elif session is None:
        response = RedirectResponse("sign-in", 303)
    elif path == _SIGN_OUT:
        response = await _sign_out(people, session, form)
    else:
        response = await _change_account(people, session, form, request)
    response.headers.update(OWN_FORM)
    return response


async def _sign_in(
    people: People, session: Session | None, form: Form | None, request: Request
) -> Response:
    asked = request.query_params if form is None else form
    place = known_place(asked.get("next", ""))
    if form is None:
        if session is not None:
            return RedirectResponse(f"./{place}", 303)
        mistake = _NOT_KEPT if KEPT in request.query_params else ""
        return HTMLResponse(_sign_in_page(people, place, mistake=mistake))
    try:
        has_password = not ({"credential", "token"} & form.keys())
        begun = await _in_turn(partial(_begin, people, form, request), has_password=has_password)
    except CodeAsked as more:
        return HTMLResponse(code_page(more.token, place, ""))
    except NotFound as mistake:
        return HTMLResponse(_sign_in_page(people, place, mistake=str(mistake)), 403)
    except InputError as mistake:
        if "token" in form:
            page: str = code_page(Secret(form["token"]), place, "", str(mistake))
        else:
            page = _sign_in_page(people, place, form.get("name", ""), str(mistake))
        return HTMLResponse(page, 403)
    if session is not None:
        await _end(people, session, session.session_id)
    return signed_in(begun, "sign-in", place)


def _begin(people: People, form: Form, request: Request) -> NewSession:
    """Sign in by a form: with a passkey, with the code after a password, or with a password."""
    device = device_of(request)
    if "credential" in form:
        site = site_of(people, request)
        return people.factors.sign_in_by_passkey(site, form["credential"], device)
    if "token" in form:
        return people.factors.finish(form["token"], form.get("code", ""), device)
    return people.sign_in(form.get("name", ""), Secret(form.get("password", "")), device)


async def _accept(people: People, form: Form | None, request: Request) -> Response:
    token = request.url.path.removeprefix(INVITATION)
    person = await to_thread.run_sync(people.invited, token)
    if person is None:
        said = "It was used or has expired: ask an admin for another one."
        return _lead_to_sign_in(404, "This invitation is not valid", said)
    if form is None:
        return HTMLResponse(_invitation_page(person))
    password = Secret(form.get("password", ""))
    try:
        accept = partial(people.accept, token, password, device_of(request))
        begun = await _in_turn(accept, has_password=True)
    except CodeAsked as more:
        return HTMLResponse(code_page(more.token, "", "../sign-in"))
    except PasskeyAsked as more:
        return _lead_to_sign_in(200, "Your password is set", sentence(capitalized(str(more))))
    except InputError as mistake:
        return HTMLResponse(_invitation_page(person, str(mistake)), 400)
    return signed_in(begun, "../sign-in")


def _lead_to_sign_in(status: int, title: str, said: str) -> Response:
    link = element("p", element("a", "Sign in", href="../sign-in"))
    return HTMLResponse(plain_page(title, element("p", said), link), status)


async def _sign_out(people: People, session: Session, form: Form | None) -> Response:
    if form is None:
        return RedirectResponse("account", 303)
    await _end(people, session, session.session_id)
    response: Response = RedirectResponse("sign-in", 303)
    if session.person.issuer == PROXY:
        response = signed_out_page(None if people.policy is None else people.policy.proxy)
    response.delete_cookie(COOKIE, secure=True, httponly=True, samesite="lax")
    return response


async def _change_account(
    people: People, session: Session, form: Form | None, request: Request
) -> Response:
    said, status = "", 200
    try:
        if form is not None:
            has_password = form.get("act") in _ACTS_WITH_PASSWORD
            act = partial(_act, people, session, form, request)
            said = await _in_turn(act, has_password=has_password)
    except InputError as mistake:
        said, status = sentence(capitalized(str(mistake))), 400
    if isinstance(said, Markup):
        return HTMLResponse(said)
    page = await to_thread.run_sync(_account_page, people, session.session_id, said)
    return RedirectResponse("sign-in", 303) if page is None else HTMLResponse(page, status)


def _act(people: People, session: Session, form: Form, request: Request) -> str | Markup:
    """Carry out a form; return a sentence for the account page, or a page of its own."""
    own = session.session_id
    match form.get("act"):
        case "sign-out":
            people.end_own_session(own, _session_id(form.get("session", "")))
            return "That device is signed out."
        case "name":
            named = _session_id(form.get("session", ""))
            people.name_own_session(own, named, form.get("label", ""))
            return "The name is saved."
        case "password":
            old, new = Secret(form.get("old", "")), Secret(form.get("new", ""))
            people.change_password(own, old, new)
            return "Your password is changed, and your other devices are signed out."
        case _:
            return change_factors(people, session, form, request)


async def _end(people: People, own: Session, ended: UUID) -> None:
    await to_thread.run_sync(people.end_own_session, own.session_id, ended)


async def _in_turn(act: Callable[[], _Result], *, has_password: bool) -> _Result:
    return await to_thread.run_sync(act, limiter=_HASHING if has_password else _OTHERS)


def _session_id(text: str) -> UUID:
    if not re.fullmatch(r"[0-9a-f]{32}", text):
        raise InputError("no such device is signed in")
    return UUID(text)


def _sign_in_page(people: People, place: str, name: str = "", mistake: str = "") -> str:
    policy = people.policy
    issuers = () if policy is None else policy.issuers.values()
    ways = [_issuer_link(each, place) for each in issuers]
    if policy is not None and policy.proxy is not None:
        ways.append(proxy_link(policy.proxy, quote(place, safe="")))
    if policy is None or policy.accounts:
        ways += [_password_form(place, name), sign_in_by_passkey(place)]
    return plain_page("Sign in to Linewatch", mistake_line(mistake), *ways)


def _issuer_link(issuer: Issuer, place: str) -> Markup:
    target = f"sign-in/{issuer.name}?next={quote(place, safe='')}"
    label = f"Sign in with {visible(issuer.label)}"
    return element("p", element("a", label, href=target, class_="button"))


def _password_form(place: str, name: str) -> Markup:
    asked = post_form(
        text_field("name", "Name", name, LONGEST_NAME, autocomplete="username"),
        password_field("password", "Password", "current-password"),
        hidden_field("next", place),
        submit("Sign in"),
    )
    hint = "Ask an admin of this Linewatch for an account or a new password."
    return join(asked, element("p", hint))


def _invitation_page(person: Person, mistake: str = "") -> str:
    role = element("p", f"You are {person.role.with_article} of this Linewatch.")
    asked = post_form(
        text_field("name", "Name", person.name, LONGEST_NAME, autocomplete="username", readonly=""),
        password_field("password", "New password", "new-password"),
        element("p", f"At least {SHORTEST_PASSWORD} characters, such as several words."),
        submit("Set password and sign in"),
    )
    return plain_page(f"Welcome, {visible(person.name)}", mistake_line(mistake), role, asked)


def _account_page(people: People, session_id: UUID, said: str) -> str | None:
    """Return the page of the signed-in person; None if the session has just ended."""
    known = {each.session_id: each for each in people.sessions()}
    session = known.get(session_id)
    if session is None:
        return None
    person = session.person
    own = [each for each in known.values() if each.person.person_id == person.person_id]
    rows = [_device_row(each, is_this=each.session_id == session_id) for each in own]
    sign_out = post_form(submit("Sign out"), action="sign-out")
    factors = [] if person.issuer else factor_sections(people.factors.of(session))
    said_first = element("p", element("strong", said), role="status") if said else Markup()
    if people.lacks_factor(session):
        return plain_page(
            visible(person.name), said_first, _factor_needed(person), *factors, sign_out
        )
    return plain_page(
        visible(person.name),
        said_first,
        element("p", f"You are {person.role.with_article}. ", element("a", "Back", href="./")),
        sign_out,
        element("h2", "Devices"),
        element("ul", *rows),
        *([] if person.issuer else [_password_section(person)]),
        *factors,
    )


def _factor_needed(person: Person) -> Markup:
    what = "Set up an app or add a passkey here"
    if person.has_app:
        what = "Type your password and a code of your app here"
    elif person.passkeys:
        what = "Sign out, and sign in with your passkey"
    said = f"Your role, {person.role}, requires a second factor. {what}."
    return element("p", f"{said} Until then nothing else opens.")


def _password_section(person: Person) -> Markup:
    asked = post_form(
        text_field("user", "Name", person.name, LONGEST_NAME, autocomplete="username", readonly=""),
        password_field("old", "Current password", "current-password"),
        password_field("new", "New password", "new-password"),
        submit("Change password", "password"),
    )
    return join(element("h2", "Password"), asked)


def _device_row(session: Session, *, is_this: bool) -> Markup:
    name = join(element("strong", visible(session.label)), ": ") if session.label else Markup()
    used = "this device" if is_this else f"last used {moment(session.last_used_at)}"
    place = f" from {visible(session.address)}" if session.address else ""
    said = f"{visible(session.device)}{place}, {used}, signed in {moment(session.created_at)} "
    label = element(
        "input",
        type="text",
        name="label",
        value=session.label,
        maxlength=str(LONGEST_NAME),
        aria_label="Name of this device",
        placeholder="a name, such as laptop",
    )
    end = Markup() if is_this else submit("Sign out", "sign-out")
    field = hidden_field("session", session.session_id.hex)
    return element("li", name, said, post_form(field, label, submit("Save name", "name"), end))
