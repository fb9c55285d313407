"""`linewatch tokens`: with which tokens programs use the management API."""

from __future__ import annotations

from datetime import timedelta

import click

from dashboard.application.listing import instant
from dashboard.application.tokens import LONGEST_LIFE, TOKENS, Tokens
from dashboard.cli.installation import open_installation
from dashboard.cli.options import Parsed, as_json, lasting
from dashboard.cli.output import Output, answer, output, print_list
from dashboard.domain.people.access import Role, parse_key_name

_NAME = click.argument("name", type=Parsed("name", parse_key_name))


@click.group()
def tokens() -> None:
    """Make, list and revoke the tokens with which programs use the management API.

    A token has a role, as people have, and is shown once, when it is made.
    """


@tokens.command(epilog="linewatch tokens create terraform --role operator --for 90d --only rules")
@_NAME
@click.option(
    "--role",
    type=click.Choice([each.value for each in Role]),
    default=Role.VIEWER.value,
    show_default=True,
)
@lasting(LONGEST_LIFE, "90d")
@click.option(
    "--only",
    "subjects",
    metavar="SUBJECT",
    multiple=True,
    help="Open only this, such as rules or silences; repeatable. By default it opens everything.",
)
@as_json
def create(
    *, name: str, role: str, lasts: timedelta, subjects: tuple[str, ...], as_json: bool
) -> None:
    """Make a token and show it this one time."""
    with open_installation() as here:
        by = here.user()
        limits = frozenset(subjects) or None
        secret = Tokens(here.source).create(name, Role(role), lasts, by, limits).reveal()
    answer(
        {"name": name, "role": role, "token": secret, "endsAt": instant(by.at + lasts)},
        f"The token {name}, shown only now:",
        "",
        f"  {secret}",
        "",
        f"Send it in the header Authorization, after the word Bearer. It has the role {role}.",
        as_json=as_json,
    )


@tokens.command("list")
@output
def list_(*, output: Output) -> None:
    """List the tokens that are valid, their roles, and when they were last used."""
    with open_installation() as here:
        print_list(TOKENS, Tokens(here.source).all(), output)


@tokens.command()
@_NAME
@as_json
def revoke(*, name: str, as_json: bool) -> None:
    """Revoke a token, which is refused from now on."""
    with open_installation() as here:
        Tokens(here.source).revoke(name, here.user())
    answer({"name": name, "state": "revoked"}, f"{name} is revoked.", as_json=as_json)
