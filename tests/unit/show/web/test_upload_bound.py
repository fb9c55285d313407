"""An upload that trickles holds its share of memory no longer than an upload may take."""

from __future__ import annotations

from datetime import timedelta

import anyio
from starlette.types import Message, Receive, Scope, Send

from dashboard.web.upload_bound import UploadBound, UploadLimits
from tests.waiting import PATIENCE

SIZE = 600
PUT = {
    "type": "http",
    "method": "PUT",
    "path": "/_stcore/upload_file/a-session/a-file",
    "headers": [(b"content-length", b"%d" % SIZE)],
}


async def read_all(_scope: Scope, receive: Receive, send: Send) -> None:
    """Answer what came whole, as Streamlit does."""
    while (await receive())["more_body"]:
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def trickle() -> Message:
    await anyio.sleep(0.001)
    return {"type": "http.request", "body": b"x", "more_body": True}


async def whole() -> Message:
    return {"type": "http.request", "body": bytes(SIZE), "more_body": False}


async def status_of_upload(bound: UploadBound, receive: Receive) -> int:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await bound(dict(PUT), receive, send)
    status: int = sent[0]["status"]
    return status


def test_upload_that_does_not_come_in_time_is_ended_and_makes_room() -> None:
    async def slow_then_whole() -> tuple[int, int]:
        limits = UploadLimits(1_000, 1_000, timedelta(milliseconds=50))
        bound = UploadBound(read_all, limits, dict)
        with anyio.fail_after(PATIENCE):
            slow = await status_of_upload(bound, trickle)
        return slow, await status_of_upload(bound, whole)

    assert anyio.run(slow_then_whole) == (408, 204)
