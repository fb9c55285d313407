"""New settings may change where roles listen while they run, but not which roles, nor the store."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from dashboard.errors import RoleError
from dashboard.wiring.reloads import ask_for_reload
from dashboard.wiring.roles import RunningRoles, open_listener, roles_of
from tests.installation import free_ports, listens
from tests.unit.settings.configuration_files import loaded
from tests.waiting import PATIENCE


@pytest.fixture
def ports() -> dict[str, str]:
    roles = ("PAGES", "SERVE", "DEVNET")
    return {
        f"LINEWATCH_{role}_PORT": str(port) for role, port in zip(roles, free_ports(3), strict=True)
    }


@pytest.fixture
def running(tmp_path: Path, ports: dict[str, str]) -> Iterator[RunningRoles]:
    roles = RunningRoles(with_pages=True)
    roles.take(loaded(tmp_path, **ports))
    yield roles
    for each in roles.listeners.values():
        each.close()


def test_new_port_is_listened_at_and_sockets_of_the_others_stay(
    running: RunningRoles, tmp_path: Path, ports: dict[str, str]
) -> None:
    before = dict(running.listeners)
    [port] = free_ports(1)

    running.take(loaded(tmp_path, **ports | {"LINEWATCH_SERVE_PORT": str(port)}))

    assert listens(port)
    assert not listens(int(ports["LINEWATCH_SERVE_PORT"]))
    assert running.listeners["pages"] is before["pages"]


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("LINEWATCH_DEVNET_MODE", "off", "devnet.mode"),
        ("LINEWATCH_STORE_URL", "sqlite:////var/lib/other.sqlite", "store.url"),
    ],
)
def test_what_needs_a_restart_is_refused_and_changes_nothing(
    running: RunningRoles,
    tmp_path: Path,
    ports: dict[str, str],
    variable: str,
    value: str,
    named: str,
) -> None:
    before = running.settings

    with pytest.raises(RoleError, match=named):
        running.take(loaded(tmp_path, **ports | {variable: value}))

    assert running.settings is before


def test_port_that_is_taken_is_refused_and_changes_nothing(
    running: RunningRoles, tmp_path: Path, ports: dict[str, str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(RoleError, match=port):
            running.take(loaded(tmp_path, **ports | {"LINEWATCH_PAGES_PORT": port}))

    assert listens(int(ports["LINEWATCH_PAGES_PORT"]))


@pytest.mark.parametrize(
    ("host", "remedy"),
    [
        ("203.0.113.9", "(Cannot assign requested address): set LINEWATCH_SERVE_HOST to"),
        ("rpc..example", "(Name or service not known): set LINEWATCH_SERVE_HOST to"),
        ("127.0.0.1", "(Address already in use): stop what uses it, or set LINEWATCH_SERVE_PORT"),
    ],
)
def test_refusal_to_listen_names_the_setting_that_is_wrong(host: str, remedy: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(RoleError) as refused:
        open_listener(host, taken.getsockname()[1], "LINEWATCH_SERVE_PORT")

    assert remedy in str(refused.value)


def test_role_is_ready_at_an_address_of_version_six(tmp_path: Path, ports: dict[str, str]) -> None:
    settings = loaded(tmp_path, **ports, LINEWATCH_SERVE_HOST="::1")
    [serve] = [each for each in roles_of(settings) if each.name == "serve"]
    heard: list[bytes] = []

    def answer(listening: socket.socket) -> None:
        with listening.accept()[0] as client:
            heard.append(client.recv(1000))
            client.sendall(b"HTTP/1.0 200 OK\r\n\r\n")

    with open_listener("::1", settings.serve.port, "") as listening:
        thread = Thread(target=answer, args=(listening,))
        thread.start()
        is_ready = asyncio.run(asyncio.wait_for(serve.is_ready(), PATIENCE))
        thread.join()

    assert (is_ready, f"Host: [::1]:{settings.serve.port}\r\n".encode() in heard[0]) == (True, True)


def test_reload_that_cannot_be_asked_for_says_what_helps(tmp_path: Path) -> None:
    with pytest.raises(
        RoleError, match=r"path too long\): run this as its user, or send it SIGHUP"
    ):
        ask_for_reload(tmp_path / ("long" * 30))
