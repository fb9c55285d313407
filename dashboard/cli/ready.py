"""Requests to running roles: whether they are ready, and to reload their settings.

`linewatch ready` is the health check of a container, so this loads as little as it can.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from functools import partial

import click

from dashboard.cli.output import FAILED, say, warn
from dashboard.errors import InputError
from dashboard.settings import Settings, load_settings
from dashboard.wiring.reloads import ask_for_reload
from dashboard.wiring.roles import roles_of


@click.command()
@click.argument("roles", nargs=-1, type=click.Choice(["worker", "serve", "pages", "devnet"]))
def ready(*, roles: tuple[str, ...]) -> None:
    """Check that ROLES of this machine are ready, for health checks; status 1 if not.

    The default is all that `linewatch up` runs. The worker counts as ready while some worker holds
    the lease.
    """
    settings = load_settings()
    silent = asyncio.run(_silent(settings, roles))
    for name in silent:
        warn(f"{name} does not answer")
    if silent:
        sys.exit(FAILED)
    say("ready")


async def _silent(settings: Settings, roles: tuple[str, ...]) -> list[str]:
    known = {each.name: each.is_ready for each in roles_of(settings)}
    known["worker"] = partial(_is_worked_for, settings)
    return [each for each in roles or known if each not in known or not await known[each]()]


async def _is_worked_for(settings: Settings) -> bool:
    from dashboard.wiring.store import worker_is_alive  # noqa: PLC0415 - the store weighs most

    return worker_is_alive(settings)


@click.command()
@click.argument("role", default="up")
@click.argument("process", type=click.IntRange(1), required=False)
def reload(*, role: str, process: int | None) -> None:
    """Make `linewatch up` reload its settings; fails if it cannot use them.

    It ends when all roles have them, with a status above 0 if one has not. A ROLE that runs by
    itself uses them from its next start: if they are correct, its PROCESS is asked to end.
    """
    settings = load_settings()
    if role == "up":
        ask_for_reload(settings.home)
        say("All roles have the new settings.")
    elif process is not None:
        os.kill(process, signal.SIGHUP)
        say(f"{role} ends, and starts with the new settings if a service manager restarts it.")
    else:
        raise InputError(f"name the process of {role}: its service knows it")
