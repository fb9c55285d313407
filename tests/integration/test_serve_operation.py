"""Running the served APIs: health, and logs in which no key ever stands."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from dashboard.errors import UpstreamUnavailable
from dashboard.serve.dependencies import ServedNetwork
from dashboard.store.engine.engine import Store
from tests.integration.running_server import (
    KEY,
    LIMITS,
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
from tests.waiting import PATIENCE, eventually

GET = "chain_getTransactionExclusionStatusV1"
SAVE = "chain_saveRejectedTransactionV1"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with a_store(tmp_path) as opened:
        yield opened


def test_live_answers_while_nothing_else_can(store: Store) -> None:
    follower = ScriptedFollower(utc_now)
    follower.trouble = UpstreamUnavailable("gone")
    dependencies = services_of(store, networks=(ServedNetwork(NETWORK, "devnet", follower),))

    with serving(dependencies) as address:
        response = httpx.get(f"http://{address}/live", timeout=PATIENCE)

    assert (response.status_code, response.json()) == (200, {"status": "OK"})


def test_ready_waits_for_the_node_of_each_network(store: Store) -> None:
    follower = ScriptedFollower(utc_now)
    follower.trouble = UpstreamUnavailable("gone")
    dependencies = services_of(store, networks=(ServedNetwork(NETWORK, "devnet", follower),))

    with serving(dependencies) as address:
        waiting = httpx.get(f"http://{address}/ready", timeout=PATIENCE)
        follower.trouble = None
        eventually(
            lambda: httpx.get(f"http://{address}/ready", timeout=PATIENCE).status_code == 200
        )

        assert httpx.get(f"http://{address}/ready", timeout=PATIENCE).json() == {"status": "OK"}

    assert waiting.status_code == 503
    assert waiting.json()["reasons"] == ["The node of devnet has not answered yet."]


def test_ready_ends_when_a_node_has_been_silent_for_too_long(store: Store) -> None:
    follower = ScriptedFollower(utc_now, seconds=3_600)
    networks = (ServedNetwork(NETWORK, "devnet", follower),)
    limits = replace(LIMITS, oldest_fees=timedelta(milliseconds=500))

    with serving(services_of(store, networks, limits)) as address:
        eventually(
            lambda: httpx.get(f"http://{address}/ready", timeout=PATIENCE).status_code == 200
        )
        follower.trouble = UpstreamUnavailable("gone")
        eventually(
            lambda: httpx.get(f"http://{address}/ready", timeout=PATIENCE).status_code == 503
        )

        (reason,) = httpx.get(f"http://{address}/ready", timeout=PATIENCE).json()["reasons"]

    assert reason.startswith("The node of devnet last answered ")


def test_network_without_a_node_needs_none_to_be_ready(store: Store) -> None:
    dependencies = services_of(store, networks=(ServedNetwork(NETWORK, "devnet"),))

    with serving(dependencies) as address:
        assert httpx.get(f"http://{address}/ready", timeout=PATIENCE).status_code == 200


def test_store_that_fails_is_said_and_acknowledges_nothing(tmp_path: Path) -> None:
    with a_store(tmp_path) as store, serving(services_of(store)) as address:
        url = f"http://{address}/v3/{KEY}"
        _break_store(tmp_path)
        saved = httpx.post(
            url, json=a_call(SAVE, a_report_of(a_signed_transaction(1))), timeout=PATIENCE
        ).json()
        asked = httpx.post(url, json=a_call(GET, [f"0x{'ab' * 32}"]), timeout=PATIENCE).json()
        ready = httpx.get(f"http://{address}/ready", timeout=PATIENCE)

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
