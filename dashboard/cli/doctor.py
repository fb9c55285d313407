"""`linewatch doctor`: what is wrong with this machine and with Linewatch, and the remedies."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from importlib.metadata import version

import click

from dashboard.application.attention import Attention, Remedy, attention_form, most_urgent_first
from dashboard.application.health import Health, InstallationHealth, WorkerHealth
from dashboard.application.health_troubles import health_troubles, unwritable_store
from dashboard.application.listing import Json, instant
from dashboard.application.text import age, sentence
from dashboard.cli import options
from dashboard.cli.installation import Installation, open_installation
from dashboard.cli.output import FAILED, FOUND, print_json, say
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.formatting import capitalized
from dashboard.errors import LinewatchError, SettingsError, StoreError
from dashboard.logs import configure_logs
from dashboard.settings.chosen import with_chosen
from dashboard.settings.layers import Mistake
from dashboard.settings.load import read_configuration
from dashboard.wiring.machine_troubles import database_product, machine_troubles
from dashboard.wiring.store import chosen_here, use_replica


@click.command()
@click.option("--exit-code", is_flag=True, help=f"Exit status {FOUND} if something is wrong.")
@options.as_json
def doctor(*, exit_code: bool, as_json: bool) -> None:
    """List what is wrong with this installation, and the remedies.

    First this machine: settings, files, disk, ports, clock, the servers of networks and of mail.
    Then the same as the page Health: worker, sources, storage, recipients and notifications. No
    API is called and no mail is sent.
    """
    configure_logs("command", logging.ERROR)
    configuration = read_configuration()
    settings, mistakes = configuration.checked()
    troubles, lines, form = [*map(_mistaken, mistakes)], [], _form()
    if not mistakes:
        settings, wrong = with_chosen(settings, chosen_here(settings))
        troubles += [*map(_mistaken, wrong), *machine_troubles(configuration, settings)]
        try:
            with open_installation() as here:
                use_replica(here.settings, here.source.store)
                health = InstallationHealth(here.source).health()
                now = here.source.now()
                troubles += [*unwritable_store(here.source), *health_troubles(health, now)]
                lines, form = [*_about(here, health, now)], _form(here, health)
        except (StoreError, SettingsError) as error:
            troubles.append(_failed(error))
    _print(most_urgent_first(troubles), lines, form, as_json=as_json)
    if mistakes or not lines:
        sys.exit(FAILED)
    sys.exit(FOUND if exit_code and troubles else 0)


def _print(
    troubles: list[Attention], lines: Iterable[str], form: dict[str, Json], *, as_json: bool
) -> None:
    if as_json:
        found: list[Json] = [attention_form(each) for each in troubles]
        print_json({"isWell": not troubles, "troubles": found, **form})
        return
    for each in troubles:
        say(" ".join(part for part in (each.headline, each.text, each.advice) if part))
    if not troubles:
        say("All is well.")
    for line in lines:
        say(line)


def _mistaken(mistake: Mistake) -> Attention:
    return Attention(sentence(str(mistake)), "", Remedy.WORKER, severity=Severity.CRITICAL)


def _failed(error: LinewatchError) -> Attention:
    headline = sentence(capitalized(str(error)))
    return Attention(headline, "", Remedy.STORAGE, severity=Severity.CRITICAL)


def _about(here: Installation, health: Health, now: datetime) -> Iterator[str]:
    worker = health.worker
    parts = [f"Version {version('linewatch')}"]
    if worker is not None:
        at = worker.upkeep.backed_up_at
        parts += [f"schema {worker.schema}"]
        parts += ["no backup yet" if at is None else f"last backup {age(at, now)}"]
    yield f"{', '.join(parts)}."
    yield f"{here.source.store.name}, {database_product(here.source.store)}."
    for each in health.networks or ():
        name = each.profile.name
        endpoint = f"{capitalized(name)} "  # how the name of an endpoint begins
        yield from (f"{name}: {way.removeprefix(endpoint)}" for way in each.ways())
    for budget in health.budgets:
        yield f"Budget {budget.budget.name}: {' '.join(budget.sentences(now))}"


def _form(here: Installation | None = None, health: Health | None = None) -> dict[str, Json]:
    worker: WorkerHealth | None = None if health is None else health.worker
    return {
        "version": version("linewatch"),
        "schema": None if worker is None else worker.schema,
        "store": None if here is None else here.source.store.name,
        "database": None if here is None else database_product(here.source.store),
        "purgedAt": None if worker is None else instant(worker.upkeep.purged_at),
        "backedUpAt": None if worker is None else instant(worker.upkeep.backed_up_at),
    }
