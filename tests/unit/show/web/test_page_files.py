"""Files of the pages: compressed once, kept for good where the name says what is inside."""

from __future__ import annotations

import gzip
from importlib.metadata import version
from importlib.resources import files

import brotli
import httpx
import pytest
from plotly.offline import get_plotlyjs
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from dashboard.web.files import PageFiles, first_asked, index_of_pages

STATIC = files("streamlit").joinpath("static")
NAMES = [each.name for each in STATIC.joinpath("static/js").iterdir()]
SCRIPT = next(f"/static/js/{name}" for name in NAMES if name.startswith("index."))
CHARTS = f"/static/js/plotly-{version('plotly')}.js"
FONT = next(
    f"/static/media/{each.name}"
    for each in STATIC.joinpath("static/media").iterdir()
    if each.name.endswith(".woff2")
)


async def streamlit(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("of Streamlit")(scope, receive, send)


@pytest.fixture
async def client() -> httpx.AsyncClient:
    transport = httpx.ASGITransport(PageFiles(streamlit))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


async def raw(client: httpx.AsyncClient, path: str, **headers: str) -> tuple[httpx.Response, bytes]:
    """Return a response, and its body as it was sent."""
    async with client.stream("GET", path, headers=headers) as response:
        return response, b"".join([piece async for piece in response.aiter_raw()])


@pytest.mark.parametrize("coding", ["br", "gzip"])
async def test_script_comes_in_each_coding_that_a_browser_takes(
    client: httpx.AsyncClient, coding: str
) -> None:
    plain = STATIC.joinpath(SCRIPT[1:]).read_bytes()

    response, body = await raw(client, SCRIPT, **{"Accept-Encoding": coding})

    assert response.headers["content-encoding"] == coding
    assert response.headers["vary"] == "Accept-Encoding"
    assert response.headers["content-type"].startswith("text/javascript")
    assert int(response.headers["content-length"]) == len(body) < len(plain) / 2.5
    if coding == "gzip":
        assert gzip.decompress(body) == plain
    else:
        assert brotli.decompress(body) == plain


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip;q=0.5, br;q=0", "gzip"),
        ("GZIP", "gzip"),
        ("br;q=0.0, gzip; q=0", None),
        ("identity", None),
    ],
)
async def test_coding_is_one_that_the_browser_names(
    client: httpx.AsyncClient, accepted: str, coding: str | None
) -> None:
    response, _ = await raw(client, SCRIPT, **{"Accept-Encoding": accepted})

    assert response.headers.get("content-encoding") == coding


async def test_copy_that_holds_is_not_sent_again(client: httpx.AsyncClient) -> None:
    first, _ = await raw(client, SCRIPT)
    tag = first.headers["etag"]

    again, body = await raw(client, SCRIPT, **{"If-None-Match": f'"other", W/{tag}'})
    other, _ = await raw(client, SCRIPT, **{"If-None-Match": tag.replace("br", "gzip")})

    assert (again.status_code, body, again.headers["etag"]) == (304, b"", tag)
    assert again.headers["cache-control"] == first.headers["cache-control"]
    assert other.status_code == 200


async def test_browser_keeps_a_script_for_good(client: httpx.AsyncClient) -> None:
    response, _ = await raw(client, SCRIPT)

    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    "path",
    ["/", "/favicon.png", FONT, "/static/../../__init__.py", "/static/js/nothing.js", "/fees"],
)
async def test_all_else_is_left_to_streamlit(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).text == "of Streamlit"


async def test_what_is_posted_is_left_to_streamlit(client: httpx.AsyncClient) -> None:
    assert (await client.post(SCRIPT)).text == "of Streamlit"


async def test_head_tells_the_length(client: httpx.AsyncClient) -> None:
    response = await client.head(SCRIPT, headers={"Accept-Encoding": "gzip"})

    assert int(response.headers["content-length"]) > 10_000


@pytest.mark.parametrize("coding", ["gzip", "identity"])
async def test_charts_come_from_the_package_of_plotly(
    client: httpx.AsyncClient, coding: str
) -> None:
    response = await client.get(CHARTS, headers={"Accept-Encoding": coding})

    assert response.text == get_plotlyjs()
    assert f'"{CHARTS[1:]}"' in index_of_pages()


def test_charts_are_made_ready_first() -> None:
    ready = first_asked([CHARTS, SCRIPT])

    assert ready[0] == CHARTS
    assert SCRIPT in ready
