"""Second factors and passkeys: sections of the account page, their forms and their script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from dashboard.application.factors import OwnFactors, app_link, parse_app_key
from dashboard.application.people import People
from dashboard.application.text import sentence
from dashboard.domain.allowed_hosts import needs_no_permission
from dashboard.domain.formatting import capitalized, counted, moment
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.people.access import LONGEST_NAME
from dashboard.domain.people.sign_in import Site
from dashboard.domain.secret import Secret
from dashboard.errors import InputError
from dashboard.store.access.factors import Passkey
from dashboard.store.access.people import Session
from dashboard.web.plain_page import (
    hidden_field,
    mistake_line,
    password_field,
    plain_page,
    post_form,
    submit,
    text_field,
)

PASSKEYS: Final = "/passkey/"
"""The beginning of the paths of the passkey script and of its requests."""

_LONGEST_CODE: Final = 40
_SIGN_IN: Final = "passkey/sign-in"
_NEW: Final = "passkey/new"

Form: TypeAlias = Mapping[str, str]


async def answer_script(people: People, session: Session | None, request: Request) -> Response:
    """Answer with the passkey script, or with what it asks for."""
    path = request.url.path[1:]
    if request.method != "POST":
        is_script = path == "passkey/script.js"
        return Response(_script(), media_type="text/javascript") if is_script else _NOTHING
    address = "" if request.client is None else request.client.host
    try:
        site = site_of(people, request)
        if path == _SIGN_IN:
            options = await to_thread.run_sync(people.factors.ask_for_passkey, site, address)
        elif path == _NEW and session is not None:
            ask, own = people.factors.ask_for_new_passkey, session.session_id
            options = await to_thread.run_sync(ask, own, site)
        else:
            return PlainTextResponse("Reload this page and sign in.", 401)
    except InputError as mistake:
        return PlainTextResponse(sentence(capitalized(str(mistake))), 400)
    return Response(options, media_type="application/json")


_NOTHING: Final = PlainTextResponse("There is nothing here.", 404)


@cache
def _script() -> str:
    return (Path(__file__).parent / "passkeys.js").read_text(encoding="utf-8")


def site_of(people: People, request: Request) -> Site:
    """Return the origin of the pages, if the page of a form is there."""
    origin = request.headers.get("origin", "")
    if people.policy is None:
        raise InputError("nobody signs in here: set accounts in [sign_in]")
    site = people.policy.site
    if site.host != "localhost" and needs_no_permission(site.host):
        raise InputError("passkeys need a name: set pages.public_url to an address with one")
    if origin != site.origin:
        raise InputError(
            f"passkeys work at {site.origin} only: open this Linewatch there, or set "
            "pages.public_url to the address that you use"
        )
    return site


def _passkey_form(target: str, label: str, *fields: Markup) -> Markup:
    """Return a form that is sent with the browser's answer, with its script."""
    said = element("output", role="status")
    credential = hidden_field("credential", "")
    asked = post_form(*fields, credential, submit(label), said, data_passkey=target)
    return join(asked, element("script", src="passkey/script.js", defer=""))


def sign_in_by_passkey(place: str) -> Markup:
    """Return the form that signs in with a passkey, and leads to a place."""
    return _passkey_form(_SIGN_IN, "Sign in with a passkey", hidden_field("next", place))


def code_page(token: Secret, place: str, target: str, mistake: str = "") -> Markup:
    """Return the page that asks for the second half of a sign-in."""
    kept = (hidden_field("token", token.reveal()), hidden_field("next", place))
    return Markup(
        plain_page(
            "One more step",
            mistake_line(mistake),
            element("p", "Type the code of your authenticator app, or a recovery code."),
            post_form(*kept, _code_field("Code"), submit("Sign in"), action=target),
            element("p", "If you have neither, an admin of this Linewatch can help you."),
        )
    )


def _code_field(label: str) -> Markup:
    return text_field("code", label, "", _LONGEST_CODE, autocomplete="one-time-code", required="")


def factor_sections(own: OwnFactors) -> list[Markup]:
    """Return the sections of the account page about factors besides the password."""
    app, codes = own.has_app, counted(own.recovery_codes, "recovery code")
    said = (
        f"To sign in with your password, you also need a code of your app. You have {codes} left."
        if app
        else "With an app that shows codes, your password alone is not enough to sign in."
    )
    buttons = (
        [("renew-codes", "New recovery codes"), ("remove-app", "Remove the app")]
        if app
        else [("set-up-app", "Set up an app")]
    )
    passkeys = "A passkey signs you in without a password: your device checks that it is you."
    rows = [_passkey_row(each, may_change=own.may_change) for each in own.passkeys]
    name = text_field("name", "Name of the new passkey", "", LONGEST_NAME, required="")
    new = _passkey_form(_NEW, "Add a passkey", name, hidden_field("act", "add-passkey"))
    return [
        element("h2", "Authenticator app"),
        element("p", said),
        *([_act_buttons(buttons)] if own.may_change else []),
        element("h2", "Passkeys"),
        element("p", passkeys),
        element("ul", *rows),
        new if own.may_change else _confirm_form(has_app=app),
    ]


def _act_buttons(buttons: Sequence[tuple[str, str]], *fields: Markup) -> Markup:
    return post_form(*fields, *(submit(label, act) for act, label in buttons))


def _passkey_row(passkey: Passkey, *, may_change: bool) -> Markup:
    used = "never used"
    if passkey.last_used_at is not None:
        used = f"last used {moment(passkey.last_used_at)}"
    said = f"{visible(passkey.name)}, added {moment(passkey.created_at)}, {used} "
    field = hidden_field("passkey", str(passkey.passkey_id))
    remove = _act_buttons([("remove-passkey", "Remove")], field)
    return element("li", said, remove if may_change else Markup())


def _confirm_form(*, has_app: bool) -> Markup:
    fields = [password_field("password", "Your password", "current-password")]
    asked = "your password"
    if has_app:
        fields.append(_code_field("Code of your app, or a recovery code"))
        asked = "your password and a code"
    text = element("p", f"To add or remove any of these, type {asked} again.")
    return join(text, _act_buttons([("confirm", "Continue")], *fields))


def _app_page(session: Session, key: Secret, mistake: str = "") -> Markup:
    import segno  # noqa: PLC0415 - takes 4 MB, which only this page needs

    link = app_link(key, session.person.name).reveal()
    picture = segno.make_qr(link, error="m").svg_inline(scale=5, dark="#000", light="#fff")
    opened = element("a", "open the app.", href=link)
    text = key.reveal()
    groups = " ".join(text[start : start + 4] for start in range(0, len(text), 4))
    kept, code = hidden_field("key", text), _code_field("Code of the app")
    return Markup(
        plain_page(
            "Set up an authenticator app",
            mistake_line(mistake),
            element("p", "Scan this with the app. On the phone itself, ", opened),
            element("p", Markup(picture), role="img", aria_label="The key as a QR code"),
            element("p", "If neither works, type this key into the app: ", element("code", groups)),
            post_form(kept, code, submit("Turn on", "add-app")),
            element("p", element("a", "Back", href="account")),
        )
    )


def _codes_page(codes: Sequence[Secret]) -> Markup:
    rows = [element("li", element("code", each.reveal())) for each in codes]
    return Markup(
        plain_page(
            "Your recovery codes",
            element("p", "Each replaces one code of the app, once. Keep them off your phone."),
            element("ul", *rows),
            element("p", "This page does not show them again."),
            element("p", element("a", "I have saved them", href="account")),
        )
    )


def change_factors(people: People, session: Session, form: Form, request: Request) -> str | Markup:
    """Carry out a form; return a sentence for the account page, or a page of its own."""
    own, factors = session.session_id, people.factors
    said: str | Markup = ""
    match form.get("act"):
        case "confirm":
            people.confirm(own, Secret(form.get("password", "")), form.get("code", ""))
            said = "You can change how you sign in for the next ten minutes."
        case "set-up-app":
            said = _app_page(session, factors.new_app_key(own))
        case "add-app":
            said = _add_app(people, session, form)
        case "renew-codes":
            said = _codes_page(factors.renew_codes(own))
        case "remove-app":
            factors.remove_app(own)
            said = "The app is removed: your password alone signs you in."
        case "add-passkey":
            answer, name = form.get("credential", ""), form.get("name", "")
            factors.add_passkey(own, site_of(people, request), answer, name)
            said = "The passkey is added: it signs you in from now on."
        case "remove-passkey":
            factors.remove_passkey(own, form.get("passkey", ""))
            said = "The passkey is removed."
        case _:
            pass
    return said


def _add_app(people: People, session: Session, form: Form) -> Markup:
    key = parse_app_key(form.get("key", ""))
    try:
        return _codes_page(people.factors.add_app(session.session_id, key, form.get("code", "")))
    except InputError as mistake:
        return _app_page(session, key, str(mistake))
