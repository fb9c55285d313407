"""`linewatch people`: who may sign in to the pages, with which role, and who is signed in."""

from __future__ import annotations

import click

from dashboard.application.accounts import INVITED_FOR, PEOPLE, SESSIONS
from dashboard.application.listing import Json
from dashboard.application.people import People
from dashboard.cli.installation import open_installation
from dashboard.cli.options import Parsed, as_json
from dashboard.cli.output import Output, answer, output, print_list
from dashboard.domain.people.access import Role, parse_name
from dashboard.errors import InputError
from dashboard.settings.values import authority_of

_NAME = click.argument("name", type=Parsed("name", parse_name))
_ROLE = click.Choice([each.value for each in Role])


@click.group()
def people() -> None:
    """Invite people to sign in to the pages, give them roles, and end their sessions.

    People sign in if accounts = true is set in [sign_in]. A viewer reads; support also tracks
    transactions; an operator also acts on incidents, silences, rules and recipients; an admin may
    do everything.
    """


@people.command(epilog="linewatch people invite Ada --role admin")
@_NAME
@click.option("--role", type=_ROLE, help="Default: the present one, for a new person viewer.")
@as_json
def invite(*, name: str, role: str | None, as_json: bool) -> None:
    """Print a link with which NAME sets a password and signs in.

    The link works once, for three days. For somebody who can sign in already it sets a new
    password, and their present one works until then.
    """
    with open_installation() as here:
        pages = here.settings.pages
        own = f"http://{authority_of(pages.host, pages.port)}"
        wanted = None if role is None else Role(role)
        link, given = People(here.source).invitation(name, wanted, here.user(), own)
    hours = int(INVITED_FOR.total_seconds()) // 3600
    lines = [
        f"Send this link to {name}, and to nobody else. It works once, for {hours} hours:",
        "",
        f"  {link}",
    ]
    if not here.settings.sign_in.accounts:
        remedy = "set accounts = true in [sign_in], and restart the pages."
        lines += ["", f"Nobody signs in with a password yet: {remedy}"]
    answer({"name": name, "role": given.value, "link": link}, *lines, as_json=as_json)


@people.command("list")
@output
def list_(*, output: Output) -> None:
    """List who may sign in."""
    with open_installation() as here:
        print_list(PEOPLE, People(here.source).all(), output)


@people.command()
@_NAME
@click.argument("role", type=_ROLE)
@as_json
def role(*, name: str, role: str, as_json: bool) -> None:
    """Give NAME another role, in force at once."""
    with open_installation() as here:
        People(here.source).change_role(name, Role(role), here.user())
    answer({"name": name, "role": role}, f"{name} has the role {role} now.", as_json=as_json)


@people.command()
@_NAME
@as_json
def disable(*, name: str, as_json: bool) -> None:
    """Disable NAME until `people enable`; sessions end within a second, and tokens for good."""
    with open_installation() as here:
        ended = People(here.source).disable(name, here.user())
    said = f"{name} cannot sign in until you enable them again."
    _print_without_tokens(name, "disabled", ended, said, as_json=as_json)


@people.command()
@_NAME
@as_json
def enable(*, name: str, as_json: bool) -> None:
    """Let NAME sign in again, with the password that they had."""
    with open_installation() as here:
        People(here.source).enable(name, here.user())
    answer({"name": name, "state": "enabled"}, f"{name} can sign in again.", as_json=as_json)


@people.command()
@_NAME
@as_json
def remove(*, name: str, as_json: bool) -> None:
    """Remove NAME, whose sessions and tokens end; what they did stays in the audit log."""
    with open_installation() as here:
        ended = People(here.source).remove(name, here.user())
    said = f"{name} cannot sign in any more."
    _print_without_tokens(name, "removed", ended, said, as_json=as_json)


def _print_without_tokens(
    name: str, state: str, ended: list[str], said: str, *, as_json: bool
) -> None:
    """Print the new state of a person, and which of their tokens ended."""
    lines = [said, f"Tokens of {name} that ended: {', '.join(ended)}."] if ended else [said]
    answer({"name": name, "state": state, "tokens": list[Json](ended)}, *lines, as_json=as_json)


@people.command("reset-factors", epilog="linewatch people reset-factors Ada")
@_NAME
@as_json
def reset_factors(*, name: str, as_json: bool) -> None:
    """Remove the authenticator app, recovery codes and passkeys of NAME, who lost one of them.

    Then NAME signs in by password alone. All sessions of NAME end within a second.
    """
    with open_installation() as here:
        People(here.source).reset_factors(name, here.user())
    said = f"{name} signs in with the password alone, and is signed out everywhere."
    answer({"name": name, "factors": []}, said, as_json=as_json)


@people.command()
@output
def sessions(*, output: Output) -> None:
    """List who is signed in, on which device, the last used first."""
    with open_installation() as here:
        print_list(SESSIONS, People(here.source).sessions(), output)


@people.command("sign-out")
@click.argument("session", required=False)
@click.option("--all-of", "name", type=Parsed("name", parse_name), help="All of this person.")
@as_json
def sign_out(*, session: str | None, name: str | None, as_json: bool) -> None:
    """End SESSION, as the list of sessions names it; its pages close within a second."""
    if (session is None) == (name is None):
        raise InputError("name one session, as `linewatch people sessions` lists it, or --all-of")
    with open_installation() as here:
        if name is not None:
            ended = People(here.source).end_sessions_of(name, here.user())
            words = f"{name} is signed out: {ended} ended."
            answer({"name": name, "ended": ended}, words, as_json=as_json)
            return
        known = People(here.source)
        found = known.session_beginning(str(session))
        known.end_session(found.session_id, here.user())
    name = found.person.name
    said: dict[str, Json] = {"sessionId": str(found.session_id), "name": name, "state": "ended"}
    answer(said, f"{name} is signed out there.", as_json=as_json)
