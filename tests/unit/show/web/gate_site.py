"""Our gate with a browser in front of it, and in place of the pages what says whom it lets in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.application.people import People
from dashboard.domain.people.access import Actor, Role
from dashboard.domain.people.sign_in import SignInPolicy, Site
from dashboard.store.engine.engine import Store, open_store
from dashboard.web.sign_in import IDENTITY, SignInGate
from dashboard.web.strict_headers import StrictHeaders
from tests.canaries import canary
from tests.databases import new_sqlite_store
from tests.fake_clock import FakeClock
from tests.passwords import CHEAP_HASHER

PASSWORD: Final = canary("password of everybody")
SITE: Final = Site("https://localhost", "localhost")
POLICY: Final = SignInPolicy(timedelta(hours=12), timedelta(days=30), site=SITE)


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(new_sqlite_store(tmp_path_factory.mktemp("gate") / "store.sqlite")) as opened:
        yield opened


@pytest.fixture
def queries(store: Store, fake_clock: FakeClock) -> Application:
    settings = PageSettings(sign_in=POLICY)
    made = Application(store, (), None, fake_clock.now, settings=settings)
    made.people = People(made.context, CHEAP_HASHER)
    application.register(made)
    return made


async def pages(scope: Scope, receive: Receive, send: Send) -> None:
    """Stand in for the pages: tell what identities a request has, and talk on a WebSocket."""
    identities = [value.decode() for name, value in scope["headers"] if name == IDENTITY]
    if scope["type"] == "http":
        request = Request(scope, receive)
        await JSONResponse({"path": request.url.path, "identities": identities})(
            scope, receive, send
        )
        return
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.send", "text": str(identities)})
    while (await receive())["type"] != "websocket.disconnect":
        await send({"type": "websocket.send", "text": "more"})


GATE = SignInGate(pages)


def browser(address: str = "192.0.2.1") -> httpx.AsyncClient:
    """Return a browser; it keeps its cookies, as one that finds us over TLS."""
    transport = httpx.ASGITransport(StrictHeaders(GATE), client=(address, 1))
    return httpx.AsyncClient(transport=transport, base_url="https://localhost")


async def send(client: httpx.AsyncClient, path: str, **form: str) -> httpx.Response:
    """Send a form of one of our pages."""
    return await client.post(path, data=form, headers={"Origin": "https://localhost"})


async def signed_in(
    client: httpx.AsyncClient, queries: Application, name: str, role: Role = Role.VIEWER
) -> str:
    """Accept an invitation; return the id of the session."""
    by = Actor("root", queries.now())
    token = queries.people.invite(name, role, by).reveal()
    reply = await send(client, f"/invitation/{token}", password=PASSWORD)
    assert reply.status_code == 303
    [session] = [each for each in queries.people.sessions() if each.person.name == name]
    return str(session.session_id)
