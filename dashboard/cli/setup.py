"""`linewatch setup`: asks what to watch and whom to notify, tries it, writes the settings."""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import click
from msgspec import Struct, field

from dashboard.cli.config import print_trials
from dashboard.cli.options import Parsed
from dashboard.cli.output import FAILED, say, warn
from dashboard.domain.formatting import uncapitalized
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError, SettingsError
from dashboard.logs import configure_logs
from dashboard.settings import Settings
from dashboard.settings.layers import Table
from dashboard.settings.load import own_file
from dashboard.settings.presets import (
    preset_names,
    preset_network_id,
    preset_title,
    preset_variables,
)
from dashboard.settings.values import is_loopback
from dashboard.wiring.first_settings import (
    beyond_own_serve,
    configuration_of,
    failed_endpoints,
    failed_issuers,
    failed_mail_server,
    write_own_file,
)
from dashboard.wiring.trials import try_networks

_SIMULATED: Final = "simulated"
_API: Final = "api"
_SERVE_KEY: Final = "SERVE_KEY"
_TLS_PORT: Final = 465
_INTERRUPTED: Final = 130
_REFERENCES: Final = ("env:", "file:")


def watched(text: str) -> tuple[str, ...]:
    """Read what to watch; InputError for anything else."""
    known = (_SIMULATED, *preset_names(), _API)
    named = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    for each in named:
        if each not in known:
            raise InputError(f"{shorten(each)} is none of {', '.join(known)}")
    if not named or (_SIMULATED in named and len(named) > 1):
        raise InputError("name one or several networks, or simulated alone")
    return named


def recipients_in(text: str) -> list[str]:
    """Read addresses with commas between them; InputError if there is none."""
    found = [each.strip() for each in text.split(",") if each.strip()]
    if not found:
        raise InputError("say who gets alerts: one address or several, such as oncall@example.org")
    return found


_WATCH: Final = Parsed("what", lambda text: ",".join(watched(text)))
_TO: Final = Parsed("addresses", lambda text: ",".join(recipients_in(text)))
_PORT: Final = click.IntRange(1, 65535)
_SECURITY: Final = click.Choice(["starttls", "tls", "none"])
_SIGN_IN: Final = click.Choice(["nobody", "accounts", "issuer"])


class Dialog(Struct):
    """Answers from options, else from a person on a terminal, else defaults.

    An option answers once: if the answer fails, the person is asked, with it as the default.
    """

    given: dict[str, Any]
    is_on_terminal: bool
    earlier: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)

    def ask(
        self,
        option: str,
        question: str,
        default: Any = None,  # noqa: ANN401 - of the kind that click reads
        kind: click.ParamType[Any] | None = None,
        *,
        is_secret: bool = False,
    ) -> Any:  # noqa: ANN401 - what click reads, by its kind
        """Return the answer; InputError if nobody can be asked and there is no default."""
        if option not in self.answers:
            found = self.given.pop(option, None)
            if found is None:
                default = self.earlier.get(option, default)
                found = self._asked(option, question, default, kind, is_secret=is_secret)
            elif is_secret and not found.startswith(_REFERENCES):
                raise InputError(
                    f"--{option} would show the secret to every user of this machine: "
                    "write env:NAME or file:/path"
                )
            self.answers[option] = found
        return self.answers[option]

    def _asked(
        self,
        option: str,
        question: str,
        default: Any,  # noqa: ANN401 - as above
        kind: click.ParamType[Any] | None,
        *,
        is_secret: bool,
    ) -> Any:  # noqa: ANN401 - as above
        if self.is_on_terminal:
            shows = not is_secret and default != ""
            if default:  # which Enter would take
                question = question.replace("(empty:", "(a space:")
            answer = click.prompt(
                question, default, hide_input=is_secret, type=kind, show_default=shows
            )
            return answer if kind or is_secret else answer.strip()
        if default is None:
            raise InputError(f"--{option} is missing: {uncapitalized(question)}")
        return default

    def begin_again(self) -> None:
        self.earlier.update(self.answers)
        self.answers.clear()


class Step(Struct, frozen=True):
    """One part of the settings: its questions, the sections that they fill, and how it is tried.

    `failures` says what a server does not do.
    """

    ask: Callable[[Dialog], Table]
    sections: tuple[str, ...]
    failures: Callable[[Settings], Sequence[str]]


@click.command(epilog="\b\nlinewatch setup --watch linea-mainnet --key file:/run/secrets/gateway")
@click.option("--watch", type=_WATCH, help="What to watch; several with commas between.")
@click.option("--key", help="The API key of gateways, as env:NAME or file:/path.")
@click.option("--node-url", help="The address of a node.")
@click.option("--exclusion-url", help="The address of an exclusion RPC (api).")
@click.option("--gas-url", help="The address of a gas API (api).")
@click.option("--chain-id", type=click.IntRange(1, 2**63 - 1), help="The network's chain id.")
@click.option("--title", help="What pages and mails call the network.")
@click.option("--smtp-host", help="The mail server; none: mails are files.")
@click.option("--smtp-port", type=_PORT, help="Its port; 587 by default.")
@click.option("--security", type=_SECURITY, help="How the connection to it is protected.")
@click.option("--username", help="Its user name; empty: no login.")
@click.option("--password", help="The password, as env:NAME or file:/path.")
@click.option("--to", type=_TO, help="Who gets alerts; addresses with commas between.")
@click.option("--sender", help="The address from which mails come.")
@click.option("--sign-in", type=_SIGN_IN, help="How people sign in; by default, nobody has to.")
@click.option("--public-url", help="Where people open the pages, for links in mails.")
@click.option("--issuer-url", help="The OpenID Connect provider.")
@click.option("--client-id", help="Our client id there.")
@click.option("--client-secret", help="Its secret, as env:NAME or file:/path.")
@click.option("--admins", help="The group there whose people become admins.")
@click.option("--replace", is_flag=True, help="Replace the settings that exist, without asking.")
@click.option("--anyway", is_flag=True, help="Write them even if a server does not answer.")
def setup(*, replace: bool, anyway: bool, **given: Any) -> None:  # noqa: ANN401 - one for each option
    """Ask what to watch and whom to notify, try each answer, and write the settings.

    Without a terminal, options answer; a question without an option keeps its default. The settings
    are linewatch.toml in LINEWATCH_HOME, or the file that LINEWATCH_CONFIG names.
    """
    configure_logs("command", logging.CRITICAL)
    options = {name.replace("_", "-"): each for name, each in given.items() if each is not None}
    dialog = Dialog(options, is_on_terminal=sys.stdin.isatty())
    path = own_file()
    try:
        if path.exists() and path.stat().st_size and not replace:
            _confirm_replacing(dialog, str(path))
        table: Table = {}
        for step in _STEPS:
            table = _settled(step, dialog, table, anyway=anyway)
    except (click.Abort, KeyboardInterrupt):
        click.echo()
        warn("stopped; nothing was written")
        sys.exit(_INTERRUPTED)
    settings, mistakes = configuration_of(table).checked()
    if mistakes:
        _refuse([str(each) for each in mistakes])
    write_own_file(path, table)
    say(f"Wrote {path}.")
    _say_what_is_next(settings)


def _confirm_replacing(dialog: Dialog, path: str) -> None:
    if not dialog.is_on_terminal:
        raise InputError(f"{path} exists: give --replace to replace it")
    click.confirm(f"{path} exists. Replace it?", abort=True)


def _settled(step: Step, dialog: Dialog, before: Table, *, anyway: bool) -> Table:
    """Return the settings with the answers of a step, once they work or are kept all the same."""
    while True:
        table = {**before, **step.ask(dialog)}
        settings, mistakes = configuration_of(table).checked()
        wrong = [str(each) for each in mistakes if each.setting.startswith(step.sections)]
        failed = [] if wrong else step.failures(settings)
        if not wrong and not failed:
            return table
        if not dialog.is_on_terminal and (wrong or not anyway):
            _refuse(wrong, failed)
        for each in (*wrong, *failed):
            warn(each)
        if not wrong and (
            anyway or not click.confirm("Answer these questions again?", default=True)
        ):
            return table
        dialog.begin_again()


def _refuse(wrong: Sequence[str], failed: Sequence[str] = ()) -> NoReturn:
    """End without writing anything: with a person's mistakes, or with what does not answer."""
    for each in (*wrong, *failed):
        warn(each)
    if wrong:
        raise SettingsError("nothing was written: correct the answers")
    warn("nothing was written: correct the answers, or give --anyway")
    sys.exit(FAILED)


def _ask_networks(dialog: Dialog) -> Table:
    if dialog.is_on_terminal and not dialog.earlier:
        say("What do you want to watch?")
        say(f"  {_SIMULATED:<17} A simulated chain on this machine, to try Linewatch")
        for name in preset_names():
            say(f"  {name:<17} {preset_title(name)}")
        say(f"  {_API:<17} Another gateway, or a Linewatch that serves its APIs")
    named = watched(dialog.ask("watch", "Watch (commas between several)", _SIMULATED, _WATCH))
    networks = {name: _network(name, dialog) for name in named if name != _SIMULATED}
    table: Table = {"networks": networks} if networks else {}
    if "exclusion" in (own := networks.get("own-serve", {})):
        table["serve"] = {"keys": {"linewatch": {"key": own["exclusion"]["key"]}}}
    return table


def _network(name: str, dialog: Dialog) -> Table:
    preset = {} if name == _API else {"preset": name}
    if not preset or preset_network_id(name) is None:
        preset["network_id"] = dialog.ask("chain-id", "Chain id", None, click.INT)
        default = f"Chain {preset['network_id']}"
        preset["title"] = dialog.ask("title", "Its name on pages and in mails", default)
    return preset | (_api(dialog) if name == _API else _filled(name, dialog))


def _api(dialog: Dialog) -> Table:
    exclusion = dialog.ask(
        "exclusion-url", "Address of the exclusion RPC, without its key (empty: none)", ""
    )
    gas = dialog.ask("gas-url", "Address of the gas API, without its key (empty: none)", exclusion)
    key = dialog.ask("key", "API key", is_secret=True)
    endpoints = {"exclusion": {"url": exclusion, "key": key, "method_prefix": "linea"}}
    endpoints["gas"] = {"url": gas, "key": key}
    return {role: each for role, each in endpoints.items() if each["url"]}


def _filled(preset: str, dialog: Dialog) -> Table:
    """Return the endpoints of a preset with the values that it takes from variables."""
    table: Table = {}
    for variable, paths in preset_variables(preset).items():
        if variable == _SERVE_KEY:
            value = dialog.earlier.setdefault(variable, secrets.token_urlsafe(24))
        elif variable == "NODE_URL":
            value = dialog.ask("node-url", "Address of the node, such as http://127.0.0.1:8545")
        else:
            value = dialog.ask("key", "API key of the gateway", is_secret=True)
        for role, key in paths:
            table.setdefault(role, {})[key] = value
    return table


def _try_networks(settings: Settings) -> Sequence[str]:
    if not settings.networks:
        return []
    tried = beyond_own_serve(asyncio.run(try_networks(settings)), settings)
    print_trials(tried)
    return failed_endpoints(tried)


def _ask_mail(dialog: Dialog) -> Table:
    host = dialog.ask("smtp-host", "Mail server (empty: mails are files in the state folder)", "")
    if not host:
        return {}
    port = dialog.ask("smtp-port", "Its port", 587, _PORT)
    usual = "tls" if port == _TLS_PORT else "starttls"
    mail: Table = {"smtp_host": host, "smtp_port": port}
    mail["security"] = dialog.ask("security", "Protected by", usual, _SECURITY)
    mail["username"] = dialog.ask("username", "User name (empty: no login)", "")
    if mail["username"]:
        mail["password"] = dialog.ask("password", "Password", is_secret=True)
    to = dialog.ask("to", "Who gets alerts (addresses with commas between)", None, _TO)
    mail["recipients"] = recipients_in(to)
    usual = mail["username"] if "@" in mail["username"] else mail["recipients"][0]
    mail["sender"] = dialog.ask("sender", "From which address", usual)
    return {"mail": mail}


def _ask_sign_in(dialog: Dialog) -> Table:
    pages = configuration_of({}).checked()[0].pages
    is_beyond = not is_loopback(pages.host)  # as the variables of a container say
    way = dialog.ask(
        "sign-in",
        "Who signs in to the pages; with nobody, only this machine reaches them",
        "accounts" if is_beyond else "nobody",
        _SIGN_IN,
    )
    usual = f"http://localhost:{pages.port}" if is_beyond else ""
    url = dialog.ask("public-url", "Address of the pages, for links in mails (empty: none)", usual)
    table: Table = {"pages": {"public_url": url}} if url else {}
    if way == "accounts":
        table["sign_in"] = {"accounts": True}
    if way == "issuer":
        issuer = {"url": dialog.ask("issuer-url", "Address of the issuer")}
        issuer["client_id"] = dialog.ask("client-id", "Client id")
        issuer["client_secret"] = dialog.ask("client-secret", "Client secret", "", is_secret=True)
        group = dialog.ask("admins", "Group whose people become admins")
        table["sign_in"] = {"issuers": {"issuer": issuer | {"roles": {group: "admin"}}}}
    return table


_STEPS: Final = (
    Step(_ask_networks, ("networks", "serve.keys"), _try_networks),
    Step(_ask_mail, ("mail",), failed_mail_server),
    Step(_ask_sign_in, ("sign_in", "pages"), failed_issuers),
)


def _say_what_is_next(settings: Settings) -> None:
    say("Next: linewatch up")
    if settings.sign_in.accounts:
        say("Then, in another terminal, for yourself: linewatch people invite NAME --role admin")
    if "linewatch" in settings.serve.keys:
        say("Nodes report to /v3/KEY of serve, with the key of [serve.keys.linewatch].")
    if settings.has_devnet and settings.mail.smtp_host:
        to = ", ".join(settings.mail.recipients)
        say(f"The simulated chain rejects a transaction within two minutes: {to} gets a mail.")
    elif settings.mail.smtp_host:
        say("For a mail at once, in another terminal: linewatch alerts test-send")
