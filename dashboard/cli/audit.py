"""`linewatch audit`: who did what to this installation, the latest first."""

from __future__ import annotations

from datetime import datetime

import click

from dashboard.application.audit import AUDIT, AuditLog
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.output import Output, output, print_list
from dashboard.domain.people.access import Action


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
    wanted = None if action is None else Action(action)
    with open_installation() as here:
        found = AuditLog(here.source).entries(wanted, since, until, limit)
    print_list(AUDIT, found, output)
