"""Sign-in by an OpenID Connect provider: authorization code with PKCE, and back-channel logout."""

from __future__ import annotations

import secrets
from typing import Final, Protocol
from urllib.parse import quote, unquote

from anyio import to_thread
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from dashboard.application.people import People
from dashboard.application.text import sentence
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import element, visible
from dashboard.domain.people.sign_in import Identity, Issuer, SignInPolicy
from dashboard.errors import InputError, UpstreamError
from dashboard.logs import get_logger
from dashboard.store.access.people import Session
from dashboard.web.plain_page import OWN_FORM, plain_page, read_form
from dashboard.web.session_cookie import cookie_of, device_of, known_place, signed_in

PREFIX: Final = "/sign-in/"
"""The beginning of the paths of issuers: the name of an issuer and the step follow."""

_ATTEMPT: Final = "__Host-linewatch-attempt"
"""The cookie of a sign-in in progress, of use to this browser alone."""

_ATTEMPT_LASTS: Final = 600
_log = get_logger("sign-in")


class _Attempt(Struct, frozen=True):
    """What a browser keeps while its person is at the issuer of that name."""

    issuer: str
    state: str
    nonce: str
    verifier: str
    place: str

    @classmethod
    def read(cls, text: str) -> _Attempt | None:
        match text.split("|"):
            case [issuer, state, nonce, verifier, place] if state:
                return cls(issuer, state, nonce, verifier, known_place(unquote(place)))
        return None

    def is_of(self, issuer: Issuer, state: str) -> bool:
        """Whether this attempt belongs to the state with which an issuer sends the browser back."""
        is_same = secrets.compare_digest(self.state.encode(), state.encode())
        return is_same and self.issuer == issuer.name

    def written(self) -> str:
        """Encode it in characters that a cookie holds without quotes."""
        place = quote(self.place, safe="")
        return f"{self.issuer}|{self.state}|{self.nonce}|{self.verifier}|{place}"


class AsksIssuers(Protocol):
    """Asks the issuers of the settings; a failure is an UpstreamError without any secret."""

    async def sign_in_url(
        self, issuer: Issuer, back: str, state: str, nonce: str, verifier: str
    ) -> str:
        """Return where a browser is sent, to come `back` with a code and the state."""

    async def identity(
        self, issuer: Issuer, back: str, code: str, nonce: str, verifier: str
    ) -> Identity:
        """Return the identity for which an issuer vouches with this code."""

    async def ended(self, issuer: Issuer, logout_token: str) -> tuple[str | None, str | None]:
        """Return the subject and the `sid` whose sessions an issuer ended, at least one of them."""


class Issuers:
    """Answers requests to the paths of the issuers in the settings."""

    def __init__(self, client: AsksIssuers) -> None:
        self._client = client

    async def answer(
        self, people: People, session: Session | None, request: Request
    ) -> Response | None:
        """Begin or finish a sign-in, or end what an issuer ended; None if it is neither."""
        name, _, step = request.url.path.removeprefix(PREFIX).partition("/")
        policy = people.policy
        issuer = None if policy is None else policy.issuers.get(name)
        if policy is None or issuer is None:
            return None
        back = f"{policy.public_url}{PREFIX}{name}/callback"
        try:
            match request.method, step:
                case "GET", "":
                    response = await self._begin(issuer, back, request)
                case "GET", "callback":
                    response = await self._finish(people, issuer, back, session, request)
                case "POST", "logout":
                    response = await self._log_out(people, issuer, request)
                case _:
                    return None
        except InputError as mistake:
            response = _failed(policy, sentence(capitalized(str(mistake))), 403)
        except UpstreamError as trouble:
            _log.warning("an issuer let nobody in", issuer=name, why=str(trouble))
            said = f"{visible(issuer.label)} cannot say now who you are. Try again in a moment."
            response = _failed(policy, said, 502)
        response.headers.update(OWN_FORM)
        return response

    async def _begin(self, issuer: Issuer, back: str, request: Request) -> Response:
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        place = known_place(request.query_params.get("next", ""))
        attempt = _Attempt(issuer.name, state, nonce, verifier, place)
        url = await self._client.sign_in_url(issuer, back, state, nonce, verifier)
        response = RedirectResponse(url, 303)
        response.set_cookie(
            _ATTEMPT, attempt.written(), _ATTEMPT_LASTS, secure=True, httponly=True, samesite="lax"
        )
        return response

    async def _finish(
        self, people: People, issuer: Issuer, back: str, session: Session | None, request: Request
    ) -> Response:
        attempt = _Attempt.read(cookie_of(request.scope, _ATTEMPT))
        asked = request.query_params
        if attempt is None or not attempt.is_of(issuer, asked.get("state", "")):
            raise InputError("this sign-in was begun elsewhere, or too long ago: begin it again")
        if "code" not in asked or asked.get("iss", issuer.url) != issuer.url:
            raise InputError(f"{visible(issuer.label)} did not sign you in: try again")
        identity = await self._client.identity(
            issuer, back, asked["code"], attempt.nonce, attempt.verifier
        )
        begun = await to_thread.run_sync(people.sign_in_by, identity, device_of(request))
        if session is not None:
            own = session.session_id
            await to_thread.run_sync(people.end_own_session, own, own)
        response = signed_in(begun, "../../sign-in", attempt.place)
        response.delete_cookie(_ATTEMPT, secure=True, httponly=True, samesite="lax")
        return response

    async def _log_out(self, people: People, issuer: Issuer, request: Request) -> Response:
        """End the sessions that an issuer names; the signature proves that it is the issuer."""
        form = await read_form(request) or {}
        try:
            subject, sid = await self._client.ended(issuer, form.get("logout_token", ""))
        except UpstreamError as trouble:
            _log.warning("an issuer ended no session", issuer=issuer.name, why=str(trouble))
            return PlainTextResponse("The token of this logout is not valid.\n", 400)
        await to_thread.run_sync(people.end_sessions_at, issuer, subject, sid)
        return PlainTextResponse("The sessions are ended.\n")


def _failed(policy: SignInPolicy, said: str, status: int) -> Response:
    link = element("a", "Sign in again", href=f"{policy.public_url}/sign-in")
    back = element("p", link)
    return HTMLResponse(plain_page("You are not signed in", element("p", said), back), status)
