"""`linewatch ready`: what the health check of a container asks; it loads as little as it can."""

from __future__ import annotations

import asyncio
import sys

import click

from dashboard.cli.output import FAILED, say, warn
from dashboard.settings import Settings, load_settings
from dashboard.wiring.roles import roles_of


@click.command()
@click.argument("roles", nargs=-1, type=click.Choice(["worker", "serve", "pages", "devnet"]))
def ready(*, roles: tuple[str, ...]) -> None:
    """Say whether ROLES of this machine answer, for health checks; status 1 if one does not.

    By default all that `linewatch up` runs. The worker counts as ready while some worker holds
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
    asked = [each for each in roles_of(settings) if not roles or each.name in roles]
    return [
        each.name
        for each in asked
        if not (_is_worked_for(settings) if each.name == "worker" else await each.is_ready())
    ]


def _is_worked_for(settings: Settings) -> bool:
    from dashboard.wiring.store import worker_is_alive  # noqa: PLC0415 - the store weighs most

    return worker_is_alive(settings)
