"""`linewatch tokens`: the tokens with which programs use the management API."""

from __future__ import annotations

from datetime import timedelta

import click

from dashboard.application.listing import Json
from dashboard.application.tokens import LONGEST_LIFE, TOKENS, Tokens
from dashboard.cli.installation import open_installation
from dashboard.cli.options import Parsed, as_json, lasting
from dashboard.cli.output import Output, answer, output, print_list
from dashboard.domain.formatting import moment
from dashboard.domain.people.access import Role, parse_key_name, parse_name

_NAME = click.argument("name", type=Parsed("name", parse_key_name))


@click.group()
def tokens() -> None:
    """Create, list and revoke the tokens with which programs use the management API.

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
@click.option(
    "--person",
    type=Parsed("name", parse_name),
    help="Whose it is: it never does more than they may, and ends when they are disabled or "
    "removed.",
)
@as_json
def create(
    *,
    name: str,
    role: str,
    lasts: timedelta,
    subjects: tuple[str, ...],
    person: str | None,
    as_json: bool,
) -> None:
    """Create a token and show it this one time.

    A token made with another token ends with that one at the latest, and belongs to the same
    person.
    """
    with open_installation() as here:
        limits = frozenset(subjects) or None
        made = Tokens(here.source).create(name, Role(role), lasts, here.user(), limits, person)
    token, secret = made.token, made.secret.reveal()
    whose = "" if token.person is None else f" It belongs to {token.person}."
    answer(
        {"token": secret, **TOKENS.form(token)},
        f"The token {name}, shown only now:",
        "",
        f"  {secret}",
        "",
        f"Send it in the header Authorization, after the word Bearer. It has the role {role}, "
        f"until {moment(token.ends_at)}.{whose}",
        as_json=as_json,
    )


@tokens.command("list")
@output
def list_(*, output: Output) -> None:
    """List the valid tokens, their roles, and when they were last used."""
    with open_installation() as here:
        print_list(TOKENS, Tokens(here.source).all(), output)


@tokens.command()
@_NAME
@as_json
def revoke(*, name: str, as_json: bool) -> None:
    """Revoke a token, and with it the tokens that were made with it."""
    with open_installation() as here:
        ended = Tokens(here.source).revoke(name, here.user())
    said = f"{', '.join(ended)}: revoked."
    answer({"name": name, "state": "revoked", "ended": list[Json](ended)}, said, as_json=as_json)
