"""`linewatch audit`: who did what to this installation, the latest first."""

from __future__ import annotations

import json
from datetime import datetime

import click

from dashboard.application.listing import Json, instant
from dashboard.application.text import moment
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.output import Listing, Output, output, print_list
from dashboard.domain.people.access import Action, AuditEntry
from dashboard.store.access.audit_log import AuditFilter, audit_entries


@click.command()
@click.option(
    "--action", type=click.Choice([each.value for each in Action]), help="Only this action."
)
@options.within
@options.limit
@output
def audit(
    *,
    action: str | None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    output: Output,
) -> None:
    """List who did what: keys, watched senders, tracked transactions, the store itself.

    Nothing is removed from the log before `keep_audit_log` of [store] is over. The actor is the
    name that a person gave, else the user of the system for a command, and pages for the pages.
    """
    wanted = AuditFilter(None if action is None else Action(action), since, until)
    with open_installation() as here, here.source.store.read() as connection:
        found = audit_entries(connection, wanted, limit)
    columns = ("AT", "ACTOR", "ACTION", "SUBJECT", "DETAILS")
    nothing = "No such action is on record."
    print_list(Listing("entries", found, columns, _row, _form, nothing), output)


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
