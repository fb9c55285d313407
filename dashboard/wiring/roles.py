"""Which roles one machine runs, in the order in which they depend on each other."""

from __future__ import annotations

import http.client
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from dashboard.errors import RoleError
from dashboard.settings import Settings
from dashboard.wiring.store import worker_is_alive


@dataclass(frozen=True, slots=True)
class Role:
    """One process of Linewatch: how to start it, and how to see that it is ready.

    It starts when the roles named in `after` are ready. `address` is where it listens, if it
    does, and `port_variable` names the setting of that port for messages.
    """

    name: str
    command: tuple[str, ...]
    is_ready: Callable[[], bool]
    after: tuple[str, ...] = ()
    address: tuple[str, int] | None = None
    port_variable: str = ""


def roles_of(settings: Settings, *, with_pages: bool = True) -> tuple[Role, ...]:
    """Return the roles of an installation on one machine; pages come up beside the others."""
    roles = []
    if settings.has_devnet:
        roles.append(_listening("devnet", (settings.devnet.host, settings.devnet.port), "/"))
    serve = _listening("serve", (settings.serve.host, settings.serve.port), "/live")
    roles.append(replace(serve, after=tuple(role.name for role in roles)))
    is_ready = partial(worker_is_alive, settings)
    roles.append(Role("worker", _command("worker"), is_ready, after=("serve",)))
    if with_pages:
        address = (settings.pages.host, settings.pages.port)
        roles.append(_listening("pages", address, "/_stcore/health"))
    return tuple(roles)


def refuse_taken_ports(roles: Sequence[Role]) -> None:
    """Raise RoleError for the first port that something else listens on, naming the remedy."""
    for role in roles:
        if role.address is None:
            continue
        family = socket.AF_INET6 if ":" in role.address[0] else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(role.address)
            except OSError as error:
                msg = (
                    f"port {role.address[1]} on {role.address[0]} cannot be used for {role.name} "
                    f"({error.strerror}): stop what uses it, or set {role.port_variable}"
                )
                raise RoleError(msg) from error


def _listening(name: str, address: tuple[str, int], path: str) -> Role:
    variable = f"LINEWATCH_{name.upper()}_PORT"
    is_ready = partial(_answers, address, path)
    return Role(name, _command(name), is_ready, address=address, port_variable=variable)


def _command(name: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "dashboard.cli.main", name, "--until-stdin-closes")


def _answers(address: tuple[str, int], path: str) -> bool:
    """Whether something answers HTTP at the address, with whatever status."""
    connection = http.client.HTTPConnection(*address, timeout=10)
    try:
        connection.request("GET", path)
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True
