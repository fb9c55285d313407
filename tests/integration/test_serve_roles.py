"""Every address of the served APIs, asked by everyone who may and everyone who may not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from dashboard.serve.rpc.exclusion_status import StatusReader
from dashboard.serve.rpc.methods import served_methods
from dashboard.wire.params import FREE, METHODS
from tests import plain_http
from tests.integration.running_server import (
    NETWORK,
    a_call,
    a_report_of,
    a_signed_transaction,
    a_store,
    services_of,
)
from tests.integration.servers_with_keys import Keyed, key_of, keyed_apis, secret_of
from tests.waiting import PATIENCE, eventually

HASH = f"0x{'ab' * 32}"
CALLS: dict[str, tuple[str, Any]] = {
    "ask": ("chain_getTransactionExclusionStatusV1", [HASH]),
    "report": ("linea_saveRejectedTransactionV1", a_report_of(a_signed_transaction(1))),
    "list": ("linewatch_listRejectionsV1", [{}]),
    "count": ("linewatch_countRejectionsV1", {"by": "module"}),
    "discover": ("rpc.discover", []),
}
COLUMNS = (*CALLS, "fees", "threshold")
FORBIDDEN, UNSUPPORTED = -32002, -32602
TABLE: dict[str, tuple[object, ...]] = {
    "nobody": (401, 401, 401, 401, 401, 401, 401),
    "wrong": (401, 401, 401, 401, 401, 401, 401),
    "revoked": (401, 401, 401, 401, 401, 401, 401),
    "reader": ("yes", FORBIDDEN, "yes", "yes", "yes", 200, 200),
    "reporter": (FORBIDDEN, "yes", FORBIDDEN, FORBIDDEN, "yes", 403, 403),
    "elsewhere": ("yes", UNSUPPORTED, "yes", "yes", "yes", 400, 400),
    "threshold": (FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN, "yes", 403, 200),
}
PUBLIC = ("/live", "/ready", "/metrics", "/openapi.json", "/openrpc.json")


@pytest.fixture(scope="module")
def apis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    with keyed_apis(tmp_path_factory.mktemp("roles")) as keyed:
        eventually(lambda: plain_http.get(f"http://{keyed.address}/ready").is_success)
        yield keyed


def presented(role: str) -> str:
    """Return what a role puts where a key belongs."""
    return "" if role == "nobody" else key_of(role)


def said(reply: dict[str, Any]) -> object:
    return reply["error"]["code"] if "error" in reply else "yes"


def by_http(address: str, role: str, call: str) -> object:
    response = plain_http.post(f"http://{address}/v3/{presented(role)}", json=a_call(*CALLS[call]))
    return said(response.json()) if response.is_success else response.status_code


def by_websocket(address: str, role: str, call: str) -> object:
    try:
        with connect(f"ws://{address}/ws/v3/{presented(role)}", proxy=None) as socket:
            socket.send(json.dumps(a_call(*CALLS[call])))
            return said(json.loads(socket.recv(timeout=PATIENCE)))
    except InvalidStatus as refused:
        return refused.response.status_code


def by_path(address: str, role: str, operation: str) -> object:
    path = f"/v3/{presented(role)}/networks/{NETWORK}/{operation}"
    return plain_http.get(f"http://{address}{path}").status_code


def by_basic(address: str, role: str, operation: str) -> object:
    credentials = None if role == "nobody" else (key_of(role), secret_of(role))
    path = f"/networks/{NETWORK}/{operation}"
    return plain_http.get(f"http://{address}{path}", auth=credentials).status_code


def answers(
    address: str,
    role: str,
    rpc: Callable[[str, str, str], object],
    gas: Callable[[str, str, str], object],
) -> tuple[object, ...]:
    calls = tuple(rpc(address, role, call) for call in CALLS)
    return (*calls, gas(address, role, "suggestedGasFees"), gas(address, role, "busyThreshold"))


@pytest.mark.parametrize("role", TABLE)
def test_role_gets_what_the_table_says_with_its_key_in_the_path(apis: Keyed, role: str) -> None:
    assert dict(zip(COLUMNS, answers(apis.address, role, by_http, by_path), strict=True)) == dict(
        zip(COLUMNS, TABLE[role], strict=True)
    )


@pytest.mark.parametrize("role", TABLE)
def test_role_gets_the_same_over_websocket_and_by_basic(apis: Keyed, role: str) -> None:
    assert answers(apis.address, role, by_websocket, by_basic) == TABLE[role]


@pytest.mark.parametrize("role", ["reader", "reporter", "threshold"])
def test_key_with_the_secret_of_another_or_none_is_refused(apis: Keyed, role: str) -> None:
    for secret in (secret_of("elsewhere"), "", key_of(role)):
        path = f"http://{apis.address}/networks/{NETWORK}/busyThreshold"
        assert plain_http.get(path, auth=(key_of(role), secret)).status_code == 401


def test_unsubscribing_is_open_to_all_and_subscribing_is_not(apis: Keyed) -> None:
    with connect(f"ws://{apis.address}/ws/v3/{key_of('threshold')}", proxy=None) as socket:
        codes = []
        for method in ("linewatch_subscribe", "linewatch_unsubscribe"):
            socket.send(json.dumps(a_call(method, [])))
            codes.append(said(json.loads(socket.recv(timeout=PATIENCE))))

    assert codes[0] == FORBIDDEN
    assert codes[1] != FORBIDDEN


@pytest.mark.parametrize("path", PUBLIC)
def test_page_that_needs_no_key_is_open_and_shows_no_key(apis: Keyed, path: str) -> None:
    response = plain_http.get(f"http://{apis.address}{path}")

    assert response.status_code == 200
    assert "canary" not in response.text


@pytest.mark.parametrize("path", ["/", "/v3", "/v3/", "/v4/x", "/keys", "/v3/x/y"])
def test_call_that_leads_nowhere_is_refused_as_one_without_a_key(apis: Keyed, path: str) -> None:
    response = plain_http.post(f"http://{apis.address}{path}", json=a_call(*CALLS["ask"]))

    assert (response.status_code, response.json()["error"]["code"]) == (401, FORBIDDEN)


def test_key_can_be_limited_to_every_method_that_is_served(tmp_path_factory: Any) -> None:  # noqa: ANN401 - pytest's own
    with a_store(tmp_path_factory.mktemp("names")) as store:
        dependencies = services_of(store)
        served = served_methods(dependencies, StatusReader(dependencies))

    bare = {name if "." in name else name.partition("_")[2] for name in served}
    assert bare - {*METHODS} - FREE == set()
