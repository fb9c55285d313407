"""Addresses of the pages: each known one is there, any other is answered in words."""

from __future__ import annotations

import re
from collections.abc import Mapping

import httpx
import pytest
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import Receive, Scope, Send

from dashboard.application.text import PAGES
from dashboard.web.files import SiteMap, not_found


async def streamlit(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer as Streamlit does: its index for every address but those of files."""
    is_file = scope["path"] == "/favicon.png"
    response = PlainTextResponse("a file") if is_file else HTMLResponse("the index")
    await response(scope, receive, send)


async def ask(
    path: str, method: str = "GET", headers: Mapping[str, str] | None = None
) -> httpx.Response:
    transport = httpx.ASGITransport(SiteMap(streamlit))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.request(method, path, headers=headers)


@pytest.mark.parametrize("name", PAGES)
async def test_page_knows_where_its_server_is(name: str) -> None:
    response = await ask(f"/{name}?range=1+h")

    assert response.status_code == 200
    assert "BACKEND_BASE_URL" in response.text
    assert response.headers["content-encoding"] == "br"


async def test_index_is_asked_for_again_and_sent_only_where_it_changed() -> None:
    first = await ask("/")
    again = await ask("/fees", headers={"If-None-Match": first.headers["etag"]})

    assert first.headers["cache-control"] == again.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")


async def test_index_asks_for_no_font_of_streamlit() -> None:
    assert 'as="font"' not in (await ask("/")).text


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "path", ["/_stcore/metrics", "/_stcore/agent/interact", "/_stcore/agent/mcp"]
)
async def test_part_of_streamlit_that_nobody_uses_is_not_there(path: str, method: str) -> None:
    response = await ask(path, method)

    assert response.status_code == 404
    assert "the index" not in response.text


@pytest.mark.parametrize(
    ("path", "link"),
    [("/networks", "./fees"), ("/fees/now", "../fees"), ("/a/b/c", "../../fees")],
)
async def test_unknown_address_is_named_and_pages_are_linked(path: str, link: str) -> None:
    response = await ask(path)

    assert response.status_code == 404
    assert f"<code>{path}</code>" in response.text
    assert f'href="{link}"' in response.text
    assert "<main>" in response.text
    assert "the index" not in response.text


async def test_files_are_left_as_they_are() -> None:
    assert (await ask("/favicon.png")).text == "a file"


def test_address_is_inert_text() -> None:
    page = not_found("/<script>alert(1)</script>\u202e\x1b" + "x" * 5_000)

    assert re.findall("<script", page) == []
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert len(page) < len(not_found("/x")) + 300
