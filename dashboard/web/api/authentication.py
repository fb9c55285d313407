"""Authentication: the bearer token of a request, and whether it may call an endpoint."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from dashboard.application.application import Application
from dashboard.application.tokens import Tokens, actor_of
from dashboard.domain.people.access import Actor
from dashboard.domain.secret import Secret
from dashboard.store.access.tokens import Token
from dashboard.web.api.endpoint import Endpoint, Problem, require_subject

_BEARER: Final = re.compile(r"Bearer +([\x21-\x7e]{1,200})", re.ASCII | re.IGNORECASE)


async def token_of(own: Application, request: Request) -> Token:
    """Return the token of a request; a token in the query is refused."""
    match = _BEARER.fullmatch(request.headers.get("authorization", ""))
    found = None
    if match is not None:
        tokens = Tokens(own.context)
        found = await run_in_threadpool(tokens.presented, Secret(match[1]))
    if found is None:
        raise no_token()
    return found


def no_token() -> Problem:
    said = "send a valid token in the header Authorization, after the word Bearer"
    return Problem(HTTPStatus.UNAUTHORIZED, said, WWW_Authenticate="Bearer")


def admitted(endpoint: Endpoint, token: Token, own: Application, address: str) -> Actor:
    """Return the actor of a token; NotAllowed or Problem if it may not call an endpoint."""
    if endpoint.is_limited:
        require_subject(token, endpoint.subject)
    by = actor_of(token, own.now(), address)
    if endpoint.action is not None:
        by.require(endpoint.action)
    elif not token.role.includes(endpoint.role):
        raise Problem(HTTPStatus.FORBIDDEN, f"this takes the role {endpoint.role.value}")
    return by
