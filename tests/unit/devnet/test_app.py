"""Devnet over HTTP: POST to the root, bounded bodies, and clients that leave early."""

from __future__ import annotations

import httpx
import pytest
from starlette.types import ASGIApp, Message

from dashboard.devnet.methods import LARGEST_BATCH, LARGEST_BODY, build_app
from tests.unit.devnet.small_devnet import ManualClock, a_chain


@pytest.fixture
def app() -> ASGIApp:
    return build_app(a_chain(), ManualClock())


async def post(app: ASGIApp, body: bytes) -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://devnet") as client:
        return await client.post("/", content=body)


async def test_call_is_answered_as_json_with_its_id(app: ASGIApp) -> None:
    reply = await post(app, b'{"jsonrpc":"2.0","id":"a","method":"net_version"}')

    assert reply.headers["content-type"] == "application/json"
    assert reply.json() == {"jsonrpc": "2.0", "id": "a", "result": "424242"}


async def test_notification_is_answered_with_nothing(app: ASGIApp) -> None:
    reply = await post(app, b'{"jsonrpc":"2.0","method":"net_version"}')

    assert (reply.status_code, reply.content) == (204, b"")


async def test_body_over_the_limit_is_refused(app: ASGIApp) -> None:
    at_limit = await post(app, b" " * LARGEST_BODY)
    above = await post(app, b" " * (LARGEST_BODY + 1))

    assert (at_limit.status_code, at_limit.json()["error"]["code"]) == (200, -32700)
    assert (above.status_code, above.json()["error"]["code"]) == (413, -32600)
    assert str(LARGEST_BODY) in above.json()["error"]["data"]


async def test_batch_over_the_limit_is_refused_whole(app: ASGIApp) -> None:
    call = b'{"jsonrpc":"2.0","id":1,"method":"net_version"}'

    reply = await post(app, b"[%b]" % b",".join([call] * (LARGEST_BATCH + 1)))

    assert reply.json()["error"]["code"] == -32600


async def test_caller_who_leaves_early_does_no_harm(app: ASGIApp) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b""}
    await app(scope, receive, send)

    assert sent[0]["type"] == "http.response.start"
