"""Keys that change while serve runs, rates that bind, wrong keys that are bounded, no key told."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from dashboard.domain.people.access import KeyLimits, digest
from dashboard.store.access.api_keys import (
    key_uses,
    limit_key,
    revoke_key,
)
from tests import plain_http
from tests.integration.running_server import (
    NETWORK,
    a_call,
    a_report_of,
    a_signed_transaction,
    utc_now,
)
from tests.integration.servers_with_keys import ROLES, Keyed, key_of, keyed_apis, secret_of
from tests.waiting import PATIENCE, eventually

GET = "chain_getTransactionExclusionStatusV1"
SAVE = "chain_saveRejectedTransactionV1"
HASH = f"0x{'ab' * 32}"


@pytest.fixture
def apis(tmp_path: Path) -> Iterator[Keyed]:
    with keyed_apis(tmp_path) as keyed:
        yield keyed


def post(apis: Keyed, key: str, body: Any = None) -> httpx.Response:  # noqa: ANN401 - any JSON
    return plain_http.post(f"http://{apis.address}/v3/{key}", json=body or a_call(GET, [HASH]))


def fees(apis: Keyed, key: str) -> httpx.Response:
    return plain_http.get(f"http://{apis.address}/v3/{key}/networks/{NETWORK}/busyThreshold")


def ask(socket: ClientConnection, message: Any) -> Any:  # noqa: ANN401 - any JSON
    socket.send(json.dumps(message))
    return json.loads(socket.recv(timeout=PATIENCE))


def test_revoked_key_is_refused_soon_and_its_sockets_are_closed(apis: Keyed) -> None:
    with connect(f"ws://{apis.address}/ws/v3/{key_of('reader')}", proxy=None) as socket:
        ask(socket, a_call(GET, [HASH]))
        with apis.store.write() as connection:
            revoke_key(connection, "reader", utc_now())

        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=PATIENCE)

    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1008, "API key revoked")
    assert post(apis, key_of("reader")).status_code == 401
    assert fees(apis, key_of("reader")).status_code == 401
    with (
        pytest.raises(InvalidStatus),
        connect(f"ws://{apis.address}/ws/v3/{key_of('reader')}", proxy=None),
    ):
        pass


def test_narrowed_key_ends_its_sockets_and_a_slower_one_goes_on(apis: Keyed) -> None:
    url = f"ws://{apis.address}/ws/v3/{key_of('reader')}"
    with connect(url, proxy=None) as socket:
        ask(socket, a_call(GET, [HASH]))
        slower = KeyLimits(may_report=False, requests_per_second=0.01, burst=1)
        with apis.store.write() as connection:
            limit_key(connection, "reader", slower)
        eventually(lambda: "error" in ask(socket, a_call(GET, [HASH])))

        with apis.store.write() as connection:
            limit_key(connection, "reader", KeyLimits(network_ids=frozenset(), may_report=False))
        with pytest.raises(ConnectionClosed, match="limits of the API key changed"):
            socket.recv(timeout=PATIENCE)


def test_calls_beyond_the_rate_are_refused_with_the_wait(apis: Keyed) -> None:
    responses = [post(apis, key_of("slow")) for _ in range(4)]

    assert [each.status_code for each in responses] == [200, 200, 200, 429]
    refusal = responses[-1]
    wait = int(refusal.headers["retry-after"])
    assert 90 <= wait <= 100
    assert refusal.json() == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {
            "code": -32005,
            "message": "project ID request rate exceeded",
            "data": {"backoff_seconds": wait, "allowed_rps": 0.01},
        },
    }


def test_gas_requests_and_calls_draw_on_one_rate(apis: Keyed) -> None:
    eventually(lambda: plain_http.get(f"http://{apis.address}/ready").is_success)
    statuses = [fees(apis, key_of("slow")).status_code for _ in range(2)]
    statuses.append(post(apis, key_of("slow")).status_code)
    refusal = fees(apis, key_of("slow"))

    assert (*statuses, refusal.status_code) == (200, 200, 200, 429)
    assert int(refusal.headers["retry-after"]) > 0
    assert refusal.json() == {"statusCode": 429, "message": "project ID request rate exceeded"}


def test_batch_counts_as_its_calls_and_one_over_the_burst_is_refused_clearly(apis: Keyed) -> None:
    batch = [a_call(GET, [HASH], number) for number in range(3)]

    larger = post(apis, key_of("slow"), [*batch, batch[0]])
    whole = post(apis, key_of("slow"), batch)
    after = post(apis, key_of("slow"))

    assert larger.status_code == 200
    assert larger.json()["error"]["code"] == -32600
    assert "a batch may hold 3 requests" in larger.json()["error"]["data"]
    assert (whole.status_code, after.status_code) == (429, 200)


def test_refused_call_on_a_socket_is_told_its_own_id(apis: Keyed) -> None:
    with connect(f"ws://{apis.address}/ws/v3/{key_of('slow')}", proxy=None) as socket:
        replies = [ask(socket, a_call(GET, [HASH], number)) for number in range(4)]

    assert [reply["id"] for reply in replies] == [0, 1, 2, 3]
    assert "error" not in replies[2]
    assert replies[3]["error"]["code"] == -32005


def test_what_was_done_with_each_key_is_in_the_store_when_serve_has_stopped(
    tmp_path: Path,
) -> None:
    with keyed_apis(tmp_path) as apis:
        for _ in range(5):
            post(apis, key_of("slow"))
        post(apis, key_of("reader"), a_call(SAVE, a_report_of(a_signed_transaction(1))))
        fees(apis, key_of("reporter"))
        store = apis.store

        def counted(role: str) -> tuple[int, int]:
            with store.read() as connection:
                use = key_uses(connection).get(digest(key_of(role)))
            return (0, 0) if use is None else (use.calls, use.refusals)

        eventually(lambda: counted("slow") == (3, 2))
        eventually(lambda: counted("reader") == (0, 1))
        eventually(lambda: counted("reporter") == (0, 1))


def test_address_with_wrong_keys_has_to_wait_and_who_was_let_in_does_not(tmp_path: Path) -> None:
    with keyed_apis(tmp_path, 4) as apis:
        assert post(apis, key_of("reader")).status_code == 200
        wrong = [post(apis, f"lw_guess-{number}") for number in range(5)]
        path = f"http://{apis.address}/networks/{NETWORK}/busyThreshold"
        by_basic = plain_http.get(path, auth=("lw_guess", "lws_guess"))
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws://{apis.address}/ws/v3/lw_guess", proxy=None)
        unseen = post(apis, key_of("elsewhere"))
        seen = post(apis, key_of("reader"))
        live = plain_http.get(f"http://{apis.address}/live")

    assert [each.status_code for each in wrong] == [401] * 4 + [429]
    assert wrong[-1].json()["error"]["code"] == -32005
    for each in (wrong[-1], by_basic, unseen):
        assert each.status_code == 429
        assert 0 < int(each.headers["retry-after"]) <= 15
    assert refused.value.response.status_code == 429
    assert "retry-after" in refused.value.response.headers
    assert (seen.status_code, live.status_code) == (200, 200)


def test_no_key_or_secret_stands_in_any_log_answer_or_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    with capture_logs() as lines, keyed_apis(tmp_path, 20) as apis:
        for role in [*ROLES, "wrong"]:
            shown += _everything_said_to(apis, role)
    clients = ("httpx", "httpcore", "websockets.client")
    logged = [each.getMessage() for each in caplog.records if not each.name.startswith(clients)]

    assert "canary" not in f"{lines} {logged} {shown}"
    for path in tmp_path.iterdir():
        assert b"canary" not in path.read_bytes()


def _everything_said_to(apis: Keyed, role: str) -> Iterator[str]:
    """Present a key at every address, more often than it may.

    Where it stands for an operation, its owner is told that it is none.
    """
    base, key = f"http://{apis.address}", key_of(role)
    plain_http.get(f"{base}/networks/{key}/{key}", auth=(key, secret_of(role)))
    for path in (f"/v3/{key}", f"/v3/{key}/x", f"/{key}", "/metrics"):
        for verb in ("GET", "POST", "OPTIONS"):
            answer = plain_http.request(verb, base + path, auth=(key, secret_of(role)), content=key)
            yield f"{answer.headers} {answer.text}"
    for path in ("/live", "/ready", "/openapi.json", "/openrpc.json", "/"):
        yield plain_http.get(base + path).text
    with (
        contextlib.suppress(InvalidStatus),
        connect(f"ws://{apis.address}/ws/v3/{key}", proxy=None) as socket,
    ):
        socket.send("{")
        yield str(socket.recv(timeout=PATIENCE))
