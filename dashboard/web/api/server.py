"""The management API over HTTP: tokens, problem details, repeated requests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from threading import Lock
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec
from anyio import CapacityLimiter, to_thread
from msgspec.structs import replace
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.configuration_import import WrongConfiguration
from dashboard.application.text import sentence
from dashboard.application.tokens import KeyReused, Tokens, act_once, actor_of
from dashboard.domain.formatting import capitalized
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotAllowed, NotFound, StoreError
from dashboard.logs import get_logger
from dashboard.store.access.tokens import Token
from dashboard.tracing import tracing
from dashboard.web.api import access, alerts, commands, installation, transactions
from dashboard.web.api.endpoint import (
    LARGEST_TEXT,
    PREFIX,
    Asked,
    Changed,
    Endpoint,
    Problem,
    Reply,
    require_subject,
)
from dashboard.web.api.openapi import openapi
from dashboard.wire.decoding import in_plain_words

ENDPOINTS: Final = (
    *installation.endpoints,
    *transactions.endpoints,
    *alerts.endpoints,
    *access.endpoints,
    *commands.endpoints,
)
"""Every endpoint, from which routes and OpenAPI are made."""

_LONGEST_KEY: Final = 200
_MOST_AT_ONCE: Final = 8
"""How many requests are answered at a time: the gate in front of the pages needs threads as well.
"""

_MOST_HELD: Final = _MOST_AT_ONCE * LARGEST_TEXT
"""How many bytes all bodies together may have that came and are not answered yet."""

_BEARER: Final = re.compile(r"Bearer +([\x21-\x7e]{1,200})", re.ASCII | re.IGNORECASE)
_SECONDS_TO_SEND: Final = 30
_JSON: Final = "application/json"
_HALF_PAIR: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""An escape in JSON that is only half a character: a lone surrogate."""

_UNKNOWN_FIELD: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
"""msgspec's message about an unknown field of the whole body or query, not of a part of it."""

_FIELD: Final = re.compile(r" - at `\$\.(\w+)`$")

_OWN: Final = {"Cache-Control": "no-store", "Vary": "Authorization"}
_STATUSES: Final[Mapping[type[InputError], HTTPStatus]] = {
    NotFound: HTTPStatus.NOT_FOUND,
    NotAllowed: HTTPStatus.FORBIDDEN,
    Changed: HTTPStatus.PRECONDITION_FAILED,
    KeyReused: HTTPStatus.UNPROCESSABLE_ENTITY,
}
_log = get_logger("management-api")


class ManagementApi:
    """ASGI middleware that answers below `/api/v1`, and passes on everything else."""

    def __init__(self, app: ASGIApp, most_held: int = _MOST_HELD) -> None:
        """Stand in front of the app; `most_held`: bytes of all bodies together."""
        self._app = app
        self._most_held = most_held
        self._held = 0
        self._routes = [(each.path_pattern(), each) for each in ENDPOINTS]
        self._under_way: set[tuple[int, str]] = set()
        self._lock = Lock()
        self._limiter = CapacityLimiter(_MOST_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for the API; a WebSocket is passed on."""
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path == PREFIX or path.startswith(f"{PREFIX}/")):
            await self._app(scope, receive, send)
            return
        try:
            response = await self._answer(Request(scope, receive))
        except Problem as problem:
            response = _problem(problem)
        except StoreError as trouble:
            _log.error("a request cannot be answered", why=str(trouble))
            detail = "the store cannot be used now: try again in a moment"
            response = _problem(
                Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, **{"Retry-After": "5"})
            )
        except InputError as mistake:
            status = _STATUSES.get(type(mistake), HTTPStatus.UNPROCESSABLE_ENTITY)
            refused = Problem(status, str(mistake))
            if isinstance(mistake, WrongConfiguration):
                refused.mistakes = mistake.mistakes
            response = _problem(refused)
        response.headers.update(_OWN)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if not application.is_registered():
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "Linewatch is starting: try again")
        own = application.current()
        token = await _token_of(own, request)
        if request.scope["path"] == f"{PREFIX}/openapi.json":
            return Response(openapi(ENDPOINTS, version("linewatch")), media_type=_JSON)
        endpoint, path = self._found(request)
        address = "" if request.client is None else request.client.host
        by = _admitted(endpoint, token, own, address)
        body = bytearray()
        try:
            await self._receive(request, body, endpoint.largest)
            asked = Asked(
                own,
                token,
                by,
                path,
                _read(dict(request.query_params), endpoint.query, "the query", strict=False),
                _read_body(body, endpoint, request),
                _if_match(endpoint, request),
                own.context.settings.public_url.rstrip("/") or str(request.base_url).rstrip("/"),
            )
            with tracing.span("management API request", route=f"{endpoint.verb} {endpoint.path}"):
                return await self._reply(endpoint, asked, request, body)
        finally:
            self._held -= len(body)

    async def _receive(self, request: Request, body: bytearray, largest: int) -> None:
        """Add to a body what comes, and to the bytes that are held."""
        try:
            async with asyncio.timeout(_SECONDS_TO_SEND):
                async for piece in request.stream():
                    body += piece
                    self._held += len(piece)
                    if len(body) > largest:
                        raise Problem(
                            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                            f"the body is larger than {largest:,} bytes: send less at once",
                        )
                    if self._held > self._most_held:
                        raise Problem(
                            HTTPStatus.SERVICE_UNAVAILABLE,
                            "too much was sent at once: try again in a moment",
                            **{"Retry-After": "5"},
                        )
        except (ClientDisconnect, TimeoutError):
            raise Problem(HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive") from None

    def _found(self, request: Request) -> tuple[Endpoint, Mapping[str, str]]:
        # A name may hold a slash, which only the path as it was sent tells from the others.
        parts = request.scope["raw_path"].decode("latin-1").split("/")
        below = "/".join(quote(unquote(each), safe="") for each in parts).removeprefix(PREFIX)
        verb = "GET" if request.method == "HEAD" else request.method
        routes = [] if "%00" in below else self._routes  # PostgreSQL cannot even compare it
        found = ((pattern.fullmatch(below), each) for pattern, each in routes)
        fitting = [(match.groupdict(), each) for match, each in found if match is not None]
        for named, each in fitting:
            if each.verb == verb:
                return each, {name: unquote(part) for name, part in named.items()}
        if not fitting:
            raise Problem(
                HTTPStatus.NOT_FOUND, f"no such endpoint: {PREFIX}/openapi.json lists all"
            )
        verbs = ", ".join(dict.fromkeys(each.verb for _, each in fitting))
        raise Problem(HTTPStatus.METHOD_NOT_ALLOWED, f"only {verbs} can be used here", Allow=verbs)

    async def _reply(
        self, endpoint: Endpoint, asked: Asked, request: Request, body: bytearray
    ) -> Response:
        key = request.headers.get("idempotency-key", "")
        if not key or endpoint.verb != "POST" or endpoint.action is None:
            reply = await to_thread.run_sync(_replied, endpoint, asked, limiter=self._limiter)
            headers = {"ETag": reply.etag} if reply.etag else {}
            return Response(_text(reply, reply.secrets), headers=headers, media_type=_JSON)
        if len(key) > _LONGEST_KEY:
            raise Problem(
                HTTPStatus.BAD_REQUEST, f"an Idempotency-Key has at most {_LONGEST_KEY} characters"
            )
        return await self._once(endpoint, asked, key, _whole(request, body))

    async def _once(self, endpoint: Endpoint, asked: Asked, key: str, whole: str) -> Response:
        """Act, or repeat the answer to the same request; secrets are shown once."""
        this = (asked.token.token_id, key)
        with self._lock:
            if this in self._under_way:
                raise Problem(HTTPStatus.CONFLICT, "the same request is under way: wait for it")
            self._under_way.add(this)
        shown: list[str] = []

        def act() -> tuple[int, str]:
            reply = _replied(endpoint, asked)
            shown.append(_text(reply, reply.secrets))
            return HTTPStatus.OK, _text(reply, {})

        context = asked.application.context
        try:
            once = partial(act_once, context, asked.token, key, whole, act)
            status, text, is_old = await to_thread.run_sync(once, limiter=self._limiter)
        finally:
            with self._lock:
                self._under_way.discard(this)
        headers = {"Idempotency-Replayed": "true"} if is_old else {}
        return Response(text if is_old else shown[0], status, headers, _JSON)


async def _token_of(own: Application, request: Request) -> Token:
    """Return the token of a request; a token in the query is refused."""
    match = _BEARER.fullmatch(request.headers.get("authorization", ""))
    found = None
    if match is not None:
        tokens = Tokens(own.context)
        found = await to_thread.run_sync(tokens.presented, Secret(match[1]))
    if found is None:
        raise _no_token()
    return found


def _no_token() -> Problem:
    said = "send a valid token in the header Authorization, after the word Bearer"
    return Problem(HTTPStatus.UNAUTHORIZED, said, WWW_Authenticate="Bearer")


def _admitted(endpoint: Endpoint, token: Token, own: Application, address: str) -> Actor:
    """Return the actor of a token; NotAllowed or Problem if it may not call an endpoint."""
    if endpoint.is_limited:
        require_subject(token, endpoint.subject)
    by = actor_of(token, own.now(), address)
    if endpoint.action is not None:
        by.require(endpoint.action)
    elif not token.role.includes(endpoint.role):
        raise Problem(HTTPStatus.FORBIDDEN, f"this takes the role {endpoint.role.value}")
    return by


def _replied(endpoint: Endpoint, asked: Asked) -> Reply:
    """Answer with the present rights: the token may have ended while the body came, or waited."""
    token = Tokens(asked.context).as_now(asked.token)
    if token is None:
        raise _no_token()
    by = _admitted(endpoint, token, asked.application, asked.by.origin)
    return endpoint.answer(replace(asked, token=token, by=by))


def _read_body(body: bytearray, endpoint: Endpoint, request: Request) -> Any:  # noqa: ANN401 - what the endpoint takes
    if endpoint.body is None:
        if body:
            raise Problem(HTTPStatus.BAD_REQUEST, "this endpoint takes no body")
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _JSON:
        raise Problem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body has to be JSON: say Content-Type: {_JSON}"
        )
    try:
        form = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        half = _HALF_PAIR.search(body)
        why = (
            shorten(str(error), 200)
            if half is None
            else f"{half[0].decode()} is one half of a surrogate pair: send both halves"
        )
        raise Problem(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {why}") from None
    return _read(form, endpoint.body, "the body", strict=True)


def _read(form: object, kind: type[Any], what: str, *, strict: bool) -> Any:  # noqa: ANN401 - what the endpoint takes
    try:
        return msgspec.convert(form, kind, strict=strict)
    except (msgspec.ValidationError, OverflowError) as error:
        said = in_plain_words(str(error), _kind_at(str(error), kind))
        if found := _UNKNOWN_FIELD.fullmatch(str(error)):
            known = ", ".join(each.encode_name for each in msgspec.structs.fields(kind)) or "none"
            said = f"{shorten(found[1])} is none of its fields, which are {known}"
            raise Problem(HTTPStatus.BAD_REQUEST, f"{what} cannot be used: {said}") from None
        why = said if said.startswith("expected ") else shorten(said, 300)
        raise Problem(HTTPStatus.BAD_REQUEST, f"{what} cannot be used: {why}") from None


def _kind_at(message: str, kind: type[Any]) -> object:
    """Return the type of the field that a message of msgspec names; None if it names none."""
    named = _FIELD.search(message)
    fields = msgspec.structs.fields(kind)
    return next((each.type for each in fields if named and each.encode_name == named[1]), None)


def _if_match(endpoint: Endpoint, request: Request) -> str:
    found = request.headers.get("if-match", "")
    if endpoint.needs_match and not found:
        raise Problem(
            HTTPStatus.PRECONDITION_REQUIRED,
            "say in If-Match which version you change: the ETag that reading it gave, or *",
        )
    return found


def _whole(request: Request, body: bytearray) -> str:
    """Return the whole request, to compare it with an earlier one."""
    return "\n".join(
        (request.method, request.scope["path"], request.url.query, body.decode("utf-8", "replace"))
    )


def _text(reply: Reply, secrets: Mapping[str, str]) -> str:
    return msgspec.json.encode({**reply.form, **secrets}).decode()


def _problem(problem: Problem) -> Response:
    """Return problem details (RFC 9457)."""
    form = {
        "type": "about:blank",
        "title": problem.status.phrase,
        "status": problem.status.value,
        "detail": sentence(capitalized(str(problem))),
        **({"mistakes": problem.mistakes} if problem.mistakes else {}),
    }
    return Response(
        msgspec.json.encode(form),
        problem.status.value,
        problem.headers,
        "application/problem+json",
    )
