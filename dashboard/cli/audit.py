"""`linewatch audit`: who did what to this installation, the latest first."""

from __future__ import annotations

import json
from datetime import datetime

import click

from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.output import Json, instant, print_json, print_table, say
from dashboard.domain.audit import Action, AuditEntry
from dashboard.show.text import moment
from dashboard.store.access.audit_log import AuditFilter, audit_entries


@click.command()
@click.option(
    "--action", type=click.Choice([each.value for each in Action]), help="Only acts of this kind."
)
@options.within
@options.limit
@options.as_json
def audit(
    *,
    action: str | None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    as_json: bool,
) -> None:
    """Tell who did what: keys, watched senders, tracked transactions, the store itself.

    The log only grows. Whoever ran a command is named as the system knows them; what
    visitors of the pages did stands under pages.
    """
    wanted = AuditFilter(None if action is None else Action(action), since, until)
    with open_installation() as here, here.source.store.read() as connection:
        found = audit_entries(connection, wanted, limit)
    if as_json:
        print_json({"entries": [_form(each) for each in found]})
    elif found:
        print_table(("AT", "ACTOR", "ACTION", "SUBJECT", "DETAILS"), [_row(each) for each in found])
    else:
        say("No such act is on record.")


def _row(entry: AuditEntry) -> tuple[str, ...]:
    details = ", ".join(
        f"{name}: {each if isinstance(each, str) else json.dumps(each)}"
        for name, each in entry.details.items()
    )
    return moment(entry.at), entry.actor, str(entry.action), entry.subject, details


def _form(entry: AuditEntry) -> Json:
    return {
        "at": instant(entry.at),
        "actor": entry.actor,
        "action": str(entry.action),
        "subject": entry.subject,
        "details": {
            name: each if each is None or isinstance(each, str | int | float) else list(each)
            for name, each in entry.details.items()
        },
    }
