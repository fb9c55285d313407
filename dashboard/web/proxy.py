"""Sign-in by a reverse proxy in front: the person its headers name, and signing out."""

from __future__ import annotations

from typing import Final

from anyio import to_thread
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from dashboard.application.people import People
from dashboard.application.text import sentence
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import Markup, element, join
from dashboard.domain.people.sign_in import PROXY, Identity, Proxy
from dashboard.errors import InputError
from dashboard.logs import get_logger
from dashboard.store.access.people import Session
from dashboard.transport.http_connection import PEER
from dashboard.web.plain_page import OWN_FORM, plain_page
from dashboard.web.session_cookie import KEPT, device_of, known_place, signed_in

_MOST_LOGGED: Final = 20
_log = get_logger("sign-in")


class Visitor(Struct, frozen=True):
    """Who sends a request: `session` is theirs, None if they are not signed in.

    `stored` is that of their cookie, which may belong to somebody else than the proxy names.
    `named` is the person that the proxy names, `mistake` why it names nobody.
    """

    session: Session | None
    stored: Session | None
    named: Identity | None
    mistake: str = ""


class ProxyHeaders:
    """Reads the headers of a proxy, only if it is the proxy that sends them."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def visitor(self, proxy: Proxy | None, scope: Scope, stored: Session | None) -> Visitor:
        """Return who sends a request with the cookie of a session.

        The word of the proxy wins: whoever it names has only a session that it began, and that is
        theirs only as long as it names them in each request, with the same role. So nobody uses it
        past the proxy, after they left there, or at the browser of somebody else.
        """
        named, mistake = None, ""
        try:
            named = None if proxy is None else self._named(proxy, scope)
        except InputError as error:
            mistake = str(error)
        is_of_proxy = stored is not None and stored.person.issuer == PROXY
        needs_name = named is not None or bool(mistake) or is_of_proxy
        is_theirs = not needs_name or _is_of(stored, named)
        return Visitor(stored if is_theirs else None, stored, named, mistake)

    def _named(self, proxy: Proxy, scope: Scope) -> Identity | None:
        peer: str = scope.get("state", {}).get(PEER, "")
        if proxy.is_at(peer):
            return proxy.identity(scope["headers"])
        is_forged = any(name == proxy.header.encode() for name, _ in scope["headers"])
        if is_forged and len(self._logged) < _MOST_LOGGED and peer not in self._logged:
            self._logged.add(peer)
            remedy = "if it is your proxy, add its address to sign_in.proxy.addresses"
            _log.warning("a header was not believed", address=peer, remedy=remedy)
        return None


def _is_of(session: Session | None, named: Identity | None) -> bool:
    if session is None or named is None:
        return False
    person, role = session.person, named.issuer.role_of(named.groups)
    return (person.issuer, person.subject, person.role) == (PROXY, named.subject, role)


def without_headers_of(proxy: Proxy | None, scope: Scope) -> Scope:
    """Return the scope without the identity headers: behind us only the session says who it is."""
    if proxy is None:
        return scope
    dropped = {proxy.header.encode(), proxy.groups_header.encode()}
    kept = [each for each in scope["headers"] if each[0] not in dropped]
    return {**scope, "headers": kept}


async def sign_in_by_proxy(people: People, visitor: Visitor, request: Request) -> Response | None:
    """Sign in whom the proxy names; None if it names nobody, or the browser keeps no cookie.

    Only if the browser opens the page: nothing that another site shows begins a session.
    """
    is_page = request.headers.get("sec-fetch-dest", "document") == "document"
    if request.method != "GET" or KEPT in request.query_params or not is_page:
        return None
    mistake, begun = visitor.mistake, None
    if visitor.named is not None:
        try:
            begun = await to_thread.run_sync(people.sign_in_by, visitor.named, device_of(request))
        except InputError as error:
            mistake = str(error)
    if begun is None:
        return _refusal(mistake) if mistake else None
    if visitor.stored is not None:
        own = visitor.stored.session_id
        await to_thread.run_sync(people.end_own_session, own, own)
    response = signed_in(begun, "sign-in", known_place(request.query_params.get("next", "")))
    response.headers.update(OWN_FORM)
    return response


def _refusal(mistake: str) -> Response:
    said = element("p", sentence(capitalized(mistake)))
    again = element("p", element("a", "Try again", href="sign-in"))
    return HTMLResponse(plain_page("You are not signed in", said, again), 403, OWN_FORM)


def proxy_link(proxy: Proxy, place: str) -> Markup:
    """Return the part of the sign-in page for people whom the proxy has not named."""
    link = element("a", "Sign in through the proxy", href=f"sign-in?next={place}", class_="button")
    hint = (
        "The proxy in front of this Linewatch says who you are. If you see this page again, the "
        "proxy did not name you: open Linewatch at the address of the proxy. If that does not "
        f"help, ask an admin whether the proxy sends the header {proxy.header}."
    )
    return join(element("p", link), element("p", hint))


def signed_out_page(proxy: Proxy | None) -> Response:
    """Return the page for people whom the proxy would sign in again at once."""
    said = "The proxy in front of it still knows you, and signs you in again when you open a page."
    out = None if proxy is None else proxy.sign_out_url
    leave = element("p", element("a", "Sign out there", href=out, class_="button")) if out else ""
    again = element("p", element("a", "Open Linewatch again", href="./"))
    page = plain_page("You are signed out of Linewatch", element("p", said), leave, again)
    return HTMLResponse(page)
