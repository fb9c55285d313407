"""Subscribers hear of every new rejection once, in order, and know where they missed some."""

from __future__ import annotations

import socket as sockets
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from dashboard.domain.quantity import NetworkId
from dashboard.serve.dependencies import ServeDependencies
from dashboard.store.engine.engine import Store
from dashboard.transport.connection_limits import ConnectionLimits
from tests import plain_http
from tests.builders import a_hash, a_record
from tests.integration.documented_server import a_socket, exchange, hear
from tests.integration.running_server import (
    KEY,
    LIMITS,
    NARROW_KEY,
    NETWORK,
    OTHER_NETWORK,
    a_call,
    a_report_of,
    a_signed_transaction,
    a_store,
    services_of,
    serving,
    utc_now,
)
from tests.saved_record import save_record
from tests.waiting import PATIENCE, eventually

SUBSCRIBE = "linewatch_subscribe"
LIST = "linewatch_listRejectionsV1"


@pytest.fixture
def dependencies(tmp_path: Path) -> Iterator[ServeDependencies]:
    with a_store(tmp_path) as store:
        yield services_of(
            store, limits=replace(LIMITS, largest_subscriptions=3, largest_queue=100_000)
        )


@pytest.fixture
def address(dependencies: ServeDependencies) -> Iterator[str]:
    with serving(dependencies) as host_and_port:
        yield host_and_port


def save(store: Store, *numbers: int, network_id: NetworkId = NETWORK, reason: str = "x") -> None:
    """Save rejections past the server, as another process does."""
    with store.write() as connection:
        for number in numbers:
            record = a_record(tx_hash=a_hash(number), reason_message=f"{reason} {number}")
            save_record(connection, network_id, record, utc_now())


def subscribe(socket: ClientConnection, *params: object) -> str:
    found: str = exchange(socket, a_call(SUBSCRIBE, ["rejections", *params]))["result"]
    return found


def heard(socket: ClientConnection) -> Any:  # noqa: ANN401 - a rejection, or what was missed
    return hear(socket)["params"]["result"]


def number_of(rejection: dict[str, Any]) -> int:
    return int(rejection["txHash"], 16)


def test_rejection_of_another_process_is_pushed_as_it_is_listed(
    dependencies: ServeDependencies, address: str
) -> None:
    with a_socket(address) as socket:
        subscription = subscribe(socket)
        save(dependencies.store, 1)
        push = hear(socket, 1)
        [listed] = exchange(socket, a_call(LIST, []))["result"]["rejections"]

    assert push == {
        "jsonrpc": "2.0",
        "method": "linewatch_subscription",
        "params": {"subscription": subscription, "result": listed},
    }


def test_report_over_this_server_is_pushed_once(address: str) -> None:
    report = a_report_of(a_signed_transaction(1))
    with a_socket(address) as socket, a_socket(address) as node:
        subscribe(socket)
        for _ in range(2):
            exchange(node, a_call("chain_saveRejectedTransactionV1", report))
        exchange(node, a_call("chain_saveRejectedTransactionV1", report | {"reasonMessage": "2"}))
        first, second = heard(socket), heard(socket)

    assert [first["reasonMessage"], second["reasonMessage"]] == [report["reasonMessage"], "2"]


def test_only_what_fits_is_pushed_and_only_of_networks_that_the_key_opens(
    dependencies: ServeDependencies, address: str
) -> None:
    with a_socket(address, NARROW_KEY) as narrow, a_socket(address) as wide:
        subscribe(narrow)
        subscribe(wide, {"text": "WANTED"})
        save(dependencies.store, 1)
        save(dependencies.store, 2, network_id=OTHER_NETWORK)
        save(dependencies.store, 3, reason="wanted")
        save(dependencies.store, 4, network_id=OTHER_NETWORK)

        assert [number_of(heard(narrow)) for _ in range(2)] == [2, 4]
        assert number_of(heard(wide)) == 3


def test_subscription_goes_on_after_a_cursor_without_hole_or_double(
    dependencies: ServeDependencies, address: str
) -> None:
    save(dependencies.store, *range(1, 800))
    with a_socket(address) as socket:
        oldest = {"limit": 10, "order": "oldest"}
        begun = exchange(socket, a_call(LIST, oldest))["result"]
        subscribe(socket, {}, begun["cursor"])
        save(dependencies.store, *range(800, 900))
        numbers = [number_of(heard(socket)) for _ in range(889)]
        save(dependencies.store, 900)

        assert numbers == [*range(11, 900)]
        assert number_of(heard(socket)) == 900


def test_ended_subscription_is_silent_and_makes_room(
    dependencies: ServeDependencies, address: str
) -> None:
    with a_socket(address) as socket:
        first, second, _ = (subscribe(socket) for _ in range(3))
        refused = exchange(socket, a_call(SUBSCRIBE, ["rejections"]))
        ended = exchange(socket, a_call("linewatch_unsubscribe", [first]))
        again = exchange(socket, a_call("linewatch_unsubscribe", [first]))
        save(dependencies.store, 1)
        pushed = {hear(socket)["params"]["subscription"] for _ in range(2)}

        assert refused["error"]["code"] == -32005
        assert refused["error"]["message"] == "a connection may hold 3 subscriptions"
        assert (ended["result"], again["result"]) == (True, False)
        assert second in pushed
        assert first not in pushed
        assert dependencies.counters.subscriptions == 2
    eventually(
        lambda: dependencies.counters.subscriptions == 0, what="the end of all subscriptions"
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (["blocks"], "topic: 'blocks' is not rejections"),
        (["rejections", {"modul": "HUB"}], "Unknown key 'modul' in filter"),
        (["rejections", {}, "nowhere"], "cursor: 'nowhere' is not a cursor"),
    ],
)
def test_subscription_that_cannot_be_read_is_refused(
    address: str, params: list[object], message: str
) -> None:
    with a_socket(address) as socket:
        error = exchange(socket, a_call(SUBSCRIBE, params))["error"]

    assert (error["code"], error["message"][: len(message)]) == (-32602, message)


def test_cursor_ahead_of_the_store_is_refused(
    dependencies: ServeDependencies, address: str
) -> None:
    save(dependencies.store, 1)
    with a_socket(address) as socket:
        cursor = exchange(socket, a_call(LIST, []))["result"]["rejections"][0]["cursor"]
        ahead = f"{cursor[:-1]}C"
        error = exchange(socket, a_call(SUBSCRIBE, ["rejections", {}, ahead]))["error"]

    assert "is beyond the newest rejection" in error["message"]


def test_subscribing_over_http_names_the_websocket(address: str) -> None:
    call = a_call(SUBSCRIBE, ["rejections"])
    error = plain_http.post(f"http://{address}/v3/{KEY}", json=call).json()["error"]

    assert (error["code"], error["data"]) == (-32601, "this method needs a WebSocket")


def a_slow_socket(address: str) -> ClientConnection:
    """Connect with the smallest buffer, so that what is not read soon stays with the server."""
    host, _, port = address.partition(":")
    raw = sockets.socket()
    raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 65_536)
    raw.connect((host, int(port)))
    return connect(f"ws://{address}/ws/v3/{KEY}", sock=raw, proxy=None, max_queue=1)


def test_slow_reader_is_told_how_many_it_missed_and_where_to_find_them(
    dependencies: ServeDependencies, address: str
) -> None:
    many = 400
    with a_slow_socket(address) as slow:
        subscribe(slow)
        save(dependencies.store, *range(1, many + 1), reason="x" * 16_000)
        eventually(lambda: dependencies.counters.missed > 0, what="a push that finds no room")
        eventually(
            lambda: dependencies.counters.missed + dependencies.counters.pushes == many,
            what="the end of the news",
        )
        taken = 0
        while "missed" not in (push := heard(slow)):
            taken += 1
            assert number_of(push) == taken
        oldest = {"order": "oldest", "cursor": push["cursor"], "limit": 1}
        found = exchange(slow, a_call(LIST, oldest))["result"]["rejections"]
        save(dependencies.store, many + 1)

        assert taken + push["missed"] == many
        assert number_of(found[0]) == taken + 1
        assert number_of(heard(slow)) == many + 1


def read_on(socket: ClientConnection) -> None:
    while True:
        socket.recv(timeout=PATIENCE)


def test_client_that_reads_nothing_is_let_go_with_a_reason(tmp_path: Path) -> None:
    limits = replace(LIMITS, connections=ConnectionLimits(reading_timeout=timedelta(seconds=1)))
    with a_store(tmp_path) as store:
        dependencies = services_of(store, limits=limits)
        with serving(dependencies) as address, a_slow_socket(address) as slow:
            subscribe(slow)
            save(store, *range(1, 801), reason="x" * 16_000)
            with a_socket(address) as other:
                assert "result" in exchange(other, a_call(LIST, []))
            eventually(
                lambda: dependencies.counters.websockets == 0, what="the end of the slow one"
            )
            with pytest.raises(ConnectionClosed) as closed:
                read_on(slow)

    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (
        1008,
        "the client reads too slowly",
    )


def test_silent_client_is_sent_away_unless_it_subscribed(tmp_path: Path) -> None:
    limits = replace(LIMITS, quiet_timeout=timedelta(seconds=0.2))
    with (
        a_store(tmp_path) as store,
        serving(services_of(store, limits=limits)) as address,
        a_socket(address) as silent,
        a_socket(address) as listening,
    ):
        subscribe(listening)
        exchange(silent, a_call("linewatch_unsubscribe", ["0x" + "0" * 32]))
        with pytest.raises(ConnectionClosed) as closed:
            silent.recv(timeout=PATIENCE)
        save(store, 1)
        assert number_of(heard(listening)) == 1

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1000
