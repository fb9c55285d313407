"""The gate in front of the pages: without a session nothing behind it is served."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from datetime import timedelta
from typing import Final
from urllib.parse import quote
from uuid import UUID

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.application import application
from dashboard.application.people import People
from dashboard.application.text import PAGES
from dashboard.domain.people.sign_in import PROXY, SignInPolicy
from dashboard.domain.secret import Secret
from dashboard.errors import StoreError
from dashboard.logs import get_logger, warn_of
from dashboard.store.access.people import Session
from dashboard.web.account import SIGN_IN, answer_account, is_about_accounts
from dashboard.web.issuers import PREFIX, Issuers
from dashboard.web.plain_page import starting_page, store_trouble
from dashboard.web.proxy import ProxyHeaders, Visitor, sign_in_by_proxy, without_headers_of
from dashboard.web.session_cookie import COOKIE, cookie_of, without_quoted_cookies

IDENTITY: Final = b"x-linewatch-session"
"""The header that tells Streamlit whose session this is, by the id of ours. Without it Streamlit
would hand the session of one person to another who presents its id. It stays the same for the
life of a sign-in; a header of this name from a browser is dropped."""

LIVE: Final = "/live"
SIGNED_OUT: Final = 4401
"""The code with which a WebSocket is closed when its session ends."""

NAMED_FOR: Final = timedelta(minutes=10)
_WATCHED_EVERY: Final = timedelta(milliseconds=400)
_REFUSAL: Final = "You are signed out. Reload this page and sign in."
_log = get_logger("sign-in")


class SignInGate:
    """ASGI middleware that lets only signed-in people through, if people sign in at all."""

    def __init__(
        self, app: ASGIApp, issuers: Issuers | None = None, named_for: timedelta = NAMED_FOR
    ) -> None:
        """Stand in front of the app; `issuers` answers for those in the settings.

        `named_for`: how long a WebSocket stays open after the proxy last named its person.
        """
        self._app = app
        self._named_for = named_for.total_seconds()
        self._issuers = issuers
        self._proxy_headers = ProxyHeaders()
        self._open: dict[UUID, set[asyncio.Event]] = defaultdict(set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer people who are not signed in, and pass on what belongs to a session."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._converse(scope, receive, send)
        else:
            watching = asyncio.create_task(self.watch())
            try:
                await self._app(scope, receive, send)
            finally:
                watching.cancel()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == LIVE:
            await PlainTextResponse("live\n")(scope, receive, send)
            return
        if not application.is_registered():
            await starting_page()(scope, receive, send)
            return
        people = application.current().people
        if people.policy is None:
            await self._app(_identified(scope, None), receive, send)
            return
        session = None
        try:
            visitor = await self._visitor(people, people.policy, scope)
            session = visitor.session
            response = await self._own_answer(people, visitor, Request(scope, receive))
        except StoreError as trouble:
            _log.error("nobody can be let in", why=str(trouble))
            response = store_trouble("Nobody can sign in now")
        if response is None:
            scope = without_headers_of(people.policy.proxy, scope)
            await self._app(_identified(scope, session), receive, send)
        else:
            await response(scope, receive, send)

    async def _visitor(self, people: People, policy: SignInPolicy, scope: Scope) -> Visitor:
        secret, stored = cookie_of(scope, COOKIE), None
        if secret:
            stored = await run_in_threadpool(people.session, Secret(secret))
        return self._proxy_headers.visitor(policy.proxy, scope, stored)

    async def _own_answer(
        self, people: People, visitor: Visitor, request: Request
    ) -> Response | None:
        """Return the answer of the gate itself, None for what is behind it."""
        session = visitor.session
        if session is None and request.url.path == SIGN_IN:
            answer = await sign_in_by_proxy(people, visitor, request)
            if answer is not None:
                return answer
        if self._issuers is not None and request.url.path.startswith(PREFIX):
            answer = await self._issuers.answer(people, session, request)
            if answer is not None:
                return answer
        if is_about_accounts(request.url.path):
            return await answer_account(people, session, request)
        if session is not None and not people.lacks_factor(session):
            return None
        return _refusal(session, request)

    async def _converse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not application.is_registered():
            await _refuse(scope, receive, send)
            return
        people = application.current().people
        if people.policy is None:
            await self._app(_identified(scope, None), receive, send)
            return
        with contextlib.suppress(StoreError):
            session = (await self._visitor(people, people.policy, scope)).session
            if session is not None and not people.lacks_factor(session):
                scope = without_headers_of(people.policy.proxy, scope)
                await self._converse_until_the_end(session, scope, receive, send)
                return
        await _refuse(scope, receive, send)

    async def _converse_until_the_end(
        self, session: Session, scope: Scope, receive: Receive, send: Send
    ) -> None:
        ended = asyncio.Event()
        self._open[session.session_id].add(ended)
        asked_again = None
        if session.person.issuer == PROXY:  # the browser connects again, by way of the proxy
            asked_again = asyncio.get_running_loop().call_later(self._named_for, ended.set)
        try:
            guarded = _UntilTheEnd(ended, receive, send)
            await self._app(_identified(scope, session), guarded.receive, guarded.send)
        finally:
            if asked_again is not None:
                asked_again.cancel()
            self._open[session.session_id].discard(ended)
            if not self._open[session.session_id]:
                del self._open[session.session_id]

    async def watch(self) -> None:
        """Close the WebSockets of sessions that ended, wherever they were ended."""
        is_failing = False
        while True:
            await asyncio.sleep(_WATCHED_EVERY.total_seconds())
            ids = set(self._open)
            if not ids or not application.is_registered():
                continue
            try:
                valid = await run_in_threadpool(application.current().people.valid_among, ids)
            except Exception as trouble:  # noqa: BLE001 - top of a loop, without which none ends
                if not is_failing:
                    warn_of(_log, "whether sessions ended is not known now", trouble)
                is_failing = True
                continue
            is_failing = False
            for each in ids - valid:
                for ended in self._open.get(each, ()):
                    ended.set()


class _UntilTheEnd:
    """Passes the messages of a WebSocket on until its session ends, which closes it."""

    def __init__(self, ended: asyncio.Event, receive: Receive, send: Send) -> None:
        self._ended = ended
        self._receive = receive
        self._send = send

    async def receive(self) -> Message:
        """Return the next message, or that the connection is over."""
        coming = asyncio.ensure_future(self._receive())
        ending = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait({coming, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not self._ended.is_set():
                return coming.result()
        finally:
            ending.cancel()
            coming.cancel()
        with contextlib.suppress(RuntimeError):  # it may be closed already
            await self._send(
                {"type": "websocket.close", "code": SIGNED_OUT, "reason": "signed out"}
            )
        return {"type": "websocket.disconnect", "code": SIGNED_OUT}

    async def send(self, message: Message) -> None:
        """Pass on messages before the end."""
        if not self._ended.is_set():
            await self._send(message)


def _refusal(session: Session | None, request: Request) -> Response:
    """Redirect to the sign-in page, or to the account page if a factor is missing."""
    if request.method not in {"GET", "HEAD"} or request.url.path[1:] not in PAGES:
        return PlainTextResponse(_REFUSAL, 401, {"Cache-Control": "no-store"})
    if session is not None:
        return RedirectResponse("account", 303)
    place = request.url.path[1:] + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"sign-in?next={quote(place, safe='')}" if place else "sign-in", 303)


def _identified(scope: Scope, session: Session | None) -> Scope:
    """Return the scope with the identity of a session, without any that the browser made up.

    Streamlit parses quoted cookies, which can keep everybody waiting: none are passed on.
    """
    scope = without_quoted_cookies(scope)
    headers = [(name, value) for name, value in scope["headers"] if name != IDENTITY]
    if session is not None:
        headers.append((IDENTITY, str(session.session_id).encode()))
    return {**scope, "headers": headers}


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a WebSocket with 401; a server that cannot send that sends 403."""
    if "websocket.http.response" in scope.get("extensions", {}):
        await PlainTextResponse(_REFUSAL, 401)(scope, receive, send)
    else:
        await send({"type": "websocket.close"})
