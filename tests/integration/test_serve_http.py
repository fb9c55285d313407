"""The HTTP end of the exclusion RPC: keys, paths, verbs, sizes and browsers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests import plain_http
from tests.integration.running_server import (
    KEY,
    LIMITS,
    a_call,
    a_store,
    an_api,
    services_of,
    serving,
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with an_api(tmp_path_factory.mktemp("serve")) as client:
        yield client


WRONG_KEYS = ("/v3/wrong", "/v3/", "/v3", f"/v3/{KEY}x", "/v3/wrong/more")
PAGE = ("/", "/try/script.js", "/try/style.css", "/try/logo.svg")
NOWHERE = ("/nope", "/v4/key", f"/v3/{KEY}/", f"/v3/{KEY}/more", "/favicon.ico", "/ws")


@pytest.mark.parametrize("path", ["/", *WRONG_KEYS, *NOWHERE])
def test_call_with_an_unknown_key_or_path_is_refused_unread(api: httpx.Client, path: str) -> None:
    assert_refused(api.post(path, content=b"no json"))


@pytest.mark.parametrize("verb", ["GET", "HEAD", "PUT", "DELETE"])
@pytest.mark.parametrize("path", WRONG_KEYS)
def test_unknown_key_is_told_before_a_wrong_verb(api: httpx.Client, path: str, verb: str) -> None:
    assert api.request(verb, path).status_code == 401
    assert_refused(api.get(path))


@pytest.mark.parametrize(("has_page", "status"), [(True, 200), (False, 404)])
def test_page_is_there_unless_it_is_switched_off(
    tmp_path: Path,
    has_page: bool,  # noqa: FBT001 - a column of the table
    status: int,
) -> None:
    with (
        a_store(tmp_path) as store,
        serving(replace(services_of(store), has_page=has_page)) as address,
    ):
        told = [plain_http.get(f"http://{address}{path}") for path in PAGE]

    assert [each.status_code for each in told] == [status] * len(PAGE)


def assert_refused(response: httpx.Response) -> None:
    assert response.status_code == 401
    assert response.json() == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32002, "message": "invalid project id"},
    }


@pytest.mark.parametrize("path", NOWHERE)
def test_page_at_an_unknown_path_is_not_found_in_json(api: httpx.Client, path: str) -> None:
    response = api.get(path)

    assert response.status_code == 404
    assert response.json()["statusCode"] == 404


def test_other_verb_is_told_which_ones_there_are(api: httpx.Client) -> None:
    response = api.get(f"/v3/{KEY}")

    assert (response.status_code, response.headers["allow"]) == (405, "POST, OPTIONS")
    assert response.json()["statusCode"] == 405


def test_body_at_the_limit_is_read_and_one_byte_more_is_not(api: httpx.Client) -> None:
    at_limit = b"1".ljust(LIMITS.largest_body)

    assert api.post(f"/v3/{KEY}", content=at_limit).json()["error"]["code"] == -32600
    response = api.post(f"/v3/{KEY}", content=at_limit + b" ")

    assert response.status_code == 413
    assert str(LIMITS.largest_body) in response.json()["error"]["data"]


def test_body_over_the_limit_is_not_read_to_its_end(api: httpx.Client) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b" " * 10_000

    try:
        status = api.post(f"/v3/{KEY}", content=endless()).status_code
    except httpx.HTTPError:
        status = 413  # the server hung up while the client was still sending

    assert status == 413


def test_browser_of_a_listed_origin_may_call(api: httpx.Client) -> None:
    asked = {
        "Origin": "https://wallet.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, x-client-id, authorization, accept",
    }

    preflight = api.options(f"/v3/{KEY}", headers=asked)
    call = api.post(f"/v3/{KEY}", json=a_call("nope", []), headers={"Origin": asked["Origin"]})

    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == asked["Origin"]
    assert call.headers["access-control-allow-origin"] == asked["Origin"]


def test_browser_of_another_origin_may_not_call(api: httpx.Client) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}

    preflight = api.options(f"/v3/{KEY}", headers=asked)

    assert preflight.status_code == 400
    assert "access-control-allow-origin" not in preflight.headers
