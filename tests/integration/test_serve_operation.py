"""Running the served APIs: health, and logs in which no key ever stands."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from dashboard.errors import UpstreamUnavailable
from dashboard.serve.dependencies import ServedNetwork
from dashboard.store.engine.engine import Store
from tests import plain_http
from tests.integration.running_server import (
    KEY,
    NETWORK,
    a_call,
    a_report_of,
    a_signed_transaction,
    a_store,
    services_of,
    serving,
    utc_now,
)
from tests.unit.serve.scripted_follower import ScriptedFollower
from tests.waiting import eventually

GET = "chain_getTransactionExclusionStatusV1"
SAVE = "chain_saveRejectedTransactionV1"


def test_live_answers_while_nothing_else_can(store: Store) -> None:
    follower = ScriptedFollower(utc_now)
    follower.trouble = UpstreamUnavailable("gone")
    dependencies = services_of(store, networks=(ServedNetwork(NETWORK, "devnet", follower),))

    with serving(dependencies) as address:
        response = plain_http.get(f"http://{address}/live")

    assert (response.status_code, response.json()) == (200, {"status": "OK"})


def test_ready_waits_for_the_node_of_each_network(store: Store) -> None:
    follower = ScriptedFollower(utc_now)
    follower.trouble = UpstreamUnavailable("gone")
    dependencies = services_of(store, networks=(ServedNetwork(NETWORK, "devnet", follower),))

    with serving(dependencies) as address:
        ready = f"http://{address}/ready"
        waits_for = ["The node of devnet has not answered yet."]
        eventually(lambda: plain_http.get(ready).json().get("reasons") == waits_for)
        assert plain_http.get(ready).status_code == 503
        follower.trouble = None
        eventually(lambda: plain_http.get(ready).status_code == 200)

        assert plain_http.get(ready).json() == {"status": "OK"}


def test_network_without_a_node_needs_none_to_be_ready(store: Store) -> None:
    dependencies = services_of(store, networks=(ServedNetwork(NETWORK, "devnet"),))

    with serving(dependencies) as address:
        eventually(lambda: plain_http.get(f"http://{address}/ready").status_code == 200)


def test_store_that_fails_is_said_and_acknowledges_nothing(tmp_path: Path) -> None:
    with a_store(tmp_path) as store, serving(services_of(store)) as address:
        url = f"http://{address}/v3/{KEY}"
        _break_store(tmp_path)
        saved = plain_http.post(url, json=a_call(SAVE, a_report_of(a_signed_transaction(1)))).json()
        asked = plain_http.post(url, json=a_call(GET, [f"0x{'ab' * 32}"])).json()
        ready = plain_http.get(f"http://{address}/ready")

    for reply in (saved, asked):
        assert (reply["error"]["code"], reply["error"]["message"]) == (-32000, "Server error")
    assert ready.status_code == 503
    assert ready.json()["reasons"][0].startswith("The store cannot be read: it ")
    assert str(tmp_path) not in f"{saved} {asked} {ready.text}"


def _break_store(folder: Path) -> None:
    """Take the tables away, as a foreign hand or a bad disk would."""
    with contextlib.closing(sqlite3.connect(folder / "linewatch.db")) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall():
            connection.execute(f'DROP TABLE "{name}"')
        connection.commit()
