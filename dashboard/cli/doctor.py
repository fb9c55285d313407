"""`linewatch doctor`: what is wrong with Linewatch itself, and what helps, as Health shows it."""

from __future__ import annotations

import sys
from datetime import datetime
from importlib.metadata import version

import click

from dashboard.application.attention import (
    Attention,
    attention_form,
    health_troubles,
    unwritable_store,
)
from dashboard.application.health import Health, InstallationHealth, WorkerHealth
from dashboard.application.listing import Json, instant
from dashboard.application.text import age
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.output import FOUND, print_json, say
from dashboard.wiring.store import use_replica


@click.command()
@click.option(
    "--exit-code", is_flag=True, help=f"End with status {FOUND} where something is wrong."
)
@options.as_json
def doctor(*, exit_code: bool, as_json: bool) -> None:
    """Name what is wrong with this installation, each with its remedy.

    The same as the page Health: worker, sources, storage, recipients and notifications.
    """
    with open_installation() as here:
        use_replica(here.settings, here.source.store)
        now, store_name = here.source.now(), here.source.store.name
        health = InstallationHealth(here.source).health()
        troubles = [*unwritable_store(here.source), *health_troubles(health, now)]
    if as_json:
        print_json(_form(health, store_name, troubles))
    else:
        for each in troubles:
            say(" ".join(part for part in (each.headline, each.text, each.advice) if part))
        if not troubles:
            say("All is well.")
        say(f"{', '.join(_versions(health.worker, now))}.")
        say(f"{store_name}.")
    sys.exit(FOUND if exit_code and troubles else 0)


def _versions(worker: WorkerHealth | None, now: datetime) -> list[str]:
    if worker is None:
        return [f"Version {version('linewatch')}"]
    at = worker.upkeep.backed_up_at
    backup = "no backup yet" if at is None else f"last backup {age(at, now)}"
    return [f"Version {version('linewatch')}", f"schema {worker.schema}", backup]


def _form(health: Health, store_name: str, troubles: list[Attention]) -> Json:
    worker = health.worker
    return {
        "isWell": not troubles,
        "troubles": [attention_form(each) for each in troubles],
        "version": version("linewatch"),
        "schema": None if worker is None else worker.schema,
        "store": store_name,
        "purgedAt": None if worker is None else instant(worker.upkeep.purged_at),
        "backedUpAt": None if worker is None else instant(worker.upkeep.backed_up_at),
    }
