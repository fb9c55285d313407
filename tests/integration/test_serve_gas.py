"""The gas API over HTTP: both credential forms, verbs, browsers and a node that goes away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dashboard.domain.quantity import NetworkId
from dashboard.errors import UpstreamUnavailable
from dashboard.serve.dependencies import ServedNetwork
from tests import plain_http
from tests.integration.running_server import (
    KEY,
    NARROW_KEY,
    NETWORK,
    SECRET,
    a_store,
    an_api,
    services_of,
    serving,
    utc_now,
)
from tests.unit.serve.scripted_follower import ScriptedFollower
from tests.waiting import eventually

IN_PATH = f"/v3/{KEY}/networks/{NETWORK}"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with an_api(tmp_path_factory.mktemp("serve")) as client:
        eventually(lambda: client.get(f"{IN_PATH}/busyThreshold").status_code == 200)
        yield client


@pytest.mark.parametrize(
    ("path", "credentials", "message"),
    [
        ("/v3/wrong/networks/1/busyThreshold", None, "invalid project id"),
        ("/v3//networks/1/busyThreshold", None, "invalid project id"),
        ("/networks/1/busyThreshold", None, "project id required in the url"),
        ("/networks/1/busyThreshold", (KEY, "wrong"), "invalid project id or project secret"),
        ("/networks/1/busyThreshold", (KEY, ""), "invalid project id or project secret"),
        ("/networks/1/busyThreshold", ("x", SECRET), "invalid project id or project secret"),
        ("/networks/1/busyThreshold", (NARROW_KEY, ""), "invalid project id or project secret"),
    ],
)
def test_wrong_credentials_are_unauthorized(
    api: httpx.Client, path: str, credentials: tuple[str, str] | None, message: str
) -> None:
    response = api.get(path, auth=credentials)

    assert response.status_code == 401
    assert response.json() == {"statusCode": 401, "message": message}


@pytest.mark.parametrize("verb", ["POST", "PUT", "DELETE", "PATCH"])
def test_other_verb_is_not_allowed(api: httpx.Client, verb: str) -> None:
    response = api.request(verb, f"{IN_PATH}/busyThreshold")

    assert (response.status_code, response.json()["statusCode"]) == (405, 405)
    assert response.headers["allow"] == "GET, HEAD, OPTIONS"


def test_options_names_the_verbs_to_anybody(api: httpx.Client) -> None:
    response = api.options("/networks/1/busyThreshold")

    assert (response.status_code, response.headers["allow"]) == (204, "GET, HEAD, OPTIONS")


def test_browser_may_read_errors_too(api: httpx.Client) -> None:
    response = api.get("/networks/1/busyThreshold", headers={"Origin": "https://wallet.example"})

    assert response.status_code == 401
    assert response.headers["access-control-allow-origin"] == "https://wallet.example"


def test_trouble_of_one_network_leaves_the_other_alone(tmp_path: Path) -> None:
    sick = ScriptedFollower(utc_now)
    well = ScriptedFollower(utc_now)
    sick.trouble = UpstreamUnavailable("the sick node is away")
    networks = (
        ServedNetwork(NetworkId(1), "sick", sick),
        ServedNetwork(NetworkId(2), "well", well),
    )

    with a_store(tmp_path) as store, serving(services_of(store, networks)) as address:
        base = f"http://{address}/v3/{KEY}/networks"
        eventually(lambda: sick.refreshes > 1)
        eventually(lambda: plain_http.get(f"{base}/2/busyThreshold").status_code == 200)

        assert plain_http.get(f"{base}/1/busyThreshold").status_code == 503
        sick.trouble = None
        eventually(lambda: plain_http.get(f"{base}/1/busyThreshold").status_code == 200)
