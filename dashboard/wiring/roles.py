"""Which roles one machine runs, in the order in which they depend on each other."""

from __future__ import annotations

import http.client
import sys
from collections.abc import Callable
from dataclasses import dataclass

from dashboard.settings import Settings
from dashboard.wiring.store import worker_is_alive


@dataclass(frozen=True, slots=True)
class Role:
    """One process of Linewatch: how to start it, and how to see that it is ready.

    `address` is where it listens, if it does, and `port_variable` names the setting of that
    port for messages.
    """

    name: str
    command: tuple[str, ...]
    is_ready: Callable[[], bool]
    address: tuple[str, int] | None = None
    port_variable: str = ""


def roles_of(settings: Settings, *, with_pages: bool = True) -> tuple[Role, ...]:
    """Return the roles of an installation on one machine: devnet if wanted, then the rest."""
    roles = [
        _listening("serve", (settings.serve.host, settings.serve.port), "/live"),
        Role("worker", _command("worker"), lambda: worker_is_alive(settings)),
    ]
    if settings.has_devnet:
        roles.insert(0, _listening("devnet", (settings.devnet.host, settings.devnet.port), "/"))
    if with_pages:
        address = (settings.pages.host, settings.pages.port)
        roles.append(_listening("pages", address, "/_stcore/health"))
    return tuple(roles)


def _listening(name: str, address: tuple[str, int], path: str) -> Role:
    variable = f"LINEWATCH_{name.upper()}_PORT"
    return Role(name, _command(name), lambda: _answers(address, path), address, variable)


def _command(name: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "dashboard.cli.main", name, "--until-stdin-closes")


def _answers(address: tuple[str, int], path: str) -> bool:
    """Whether something answers HTTP at the address, with whatever status."""
    connection = http.client.HTTPConnection(*address, timeout=1)
    try:
        connection.request("GET", path)
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True
