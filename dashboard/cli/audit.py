"""`linewatch audit`: who did what to this installation, the latest first."""

from __future__ import annotations

from datetime import datetime

import click

from dashboard.application.audit import AUDIT, AuditLog, audit_filter
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.output import Output, output, print_list
from dashboard.domain.people.access import Action


@click.command()
@click.option(
    "--action", type=click.Choice([each.value for each in Action]), help="Only this action."
)
@click.option("--actor", type=options.SEARCH, default="", help="Only who has this in their name.")
@click.option(
    "--from", "origin", type=options.SEARCH, default="", help="Only from addresses that hold this."
)
@options.search(help="Words in the action, its subject or its details.")
@options.within
@options.limit
@output
def audit(
    *,
    action: str | None,
    actor: str,
    origin: str,
    search: str,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    output: Output,
) -> None:
    """List who changed people, keys, rules, transactions or the store, and from where.

    Nothing is removed from the log before `keep_audit_log` of [store] is over. The actor is the
    name that a person gave; without one it is the system user for a command, and "pages" for the
    pages.
    """
    kind = None if action is None else Action(action)
    wanted = audit_filter(kind, since, until, actor, origin, search)
    with open_installation() as here:
        found = AuditLog(here.source).entries(wanted, limit)
    print_list(AUDIT, found, output)
