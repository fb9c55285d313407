"""`linewatch keys`: who may call our own APIs, made, limited, renewed and revoked."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

import click

from dashboard.cli import key_limits, key_list
from dashboard.cli.key_limits import GivenLimits
from dashboard.cli.key_source import OpenedKeys, opened_keys
from dashboard.cli.options import Parsed, as_json
from dashboard.cli.output import Json, instant, print_json, print_table, say
from dashboard.domain.api_key import KEY_PREFIX, SECRET_PREFIX, KeyLimits, parse_key_name
from dashboard.domain.audit import Action, Detail
from dashboard.domain.secret import Secret
from dashboard.errors import InputError
from dashboard.serve.keys.key_ring import digest
from dashboard.settings.values import parse_duration
from dashboard.store.access.api_keys import (
    Credential,
    all_keys,
    create_key,
    find_key,
    key_uses,
    limit_key,
    rename_key,
    revoke_key,
    rotate_key,
)
from dashboard.wiring.clock import utc_now

_KEY_BYTES = 24
_SECRET_BYTES = 32
_AT_ONCE = timedelta(0)


@click.group()
def keys() -> None:
    """Make, limit, renew and revoke the API keys with which clients call our own APIs.

    A key is shown once, when it is made; the store keeps digests. Every change reaches each
    running `linewatch serve` within a second, without a restart.
    """


def _grace(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise InputError(str(error)) from error


NAME = Parsed("name", parse_key_name)


@keys.command(
    epilog="\b\nlinewatch keys create wallet --rate 50/s --network devnet\n"
    "linewatch keys create sequencer --report --method saveRejectedTransactionV1"
)
@click.argument("name", type=NAME)
@key_limits.limits
@as_json
def create(*, name: str, given: GivenLimits, as_json: bool) -> None:
    """Make a key and its secret, and show both this one time.

    The key goes into the path of a request, or key and secret into HTTP Basic for the gas API.
    NAME is what logs and lists call whoever uses it. Without options it may ask everything and
    report nothing.
    """
    with opened_keys() as here:
        here.refuse_configured(name, "choose another name")
        limits = given.applied_to(KeyLimits(may_report=False), here.profiles)
        made = _Made.now()
        with here.store.write() as connection:
            if not create_key(connection, name, limits, made.credential):
                raise InputError(
                    f"a key is called {name} already: choose another name, or give it a new key "
                    f"with `linewatch keys rotate {name}`"
                )
            here.note(connection, Action.CREATE_KEY, name, _details(limits))
        _tell_made(here, name, made, as_json=as_json)


@keys.command("list")
@as_json
def list_(*, as_json: bool) -> None:
    """Show every key: its limits, last use and counts.

    Revoked ones stay listed. Keys of the settings file are there too. Running serve processes
    write their counts every few seconds.
    """
    with opened_keys() as here:
        with here.store.read() as connection:
            stored, uses = all_keys(connection), key_uses(connection)
        found = key_list.listed(here.configured, stored, uses)
    if as_json:
        print_json({"keys": [key_list.form(each, uses) for each in found]})
    elif found:
        now = utc_now()
        rows = [key_list.row(each, here.network_name, now) for each in found]
        print_table(key_list.COLUMNS, rows)
    else:
        say("There is no key, so nobody can call: make one with `linewatch keys create NAME`.")


@keys.command(
    epilog="\b\nlinewatch keys limit wallet --rate 10/s --burst 100\n"
    "linewatch keys limit wallet --network all --method all"
)
@click.argument("name")
@key_limits.limits
@as_json
def limit(*, name: str, given: GivenLimits, as_json: bool) -> None:
    """Change what a key may do; what no option names stays as it is."""
    if given.is_empty():
        raise InputError("nothing to change: give --network, --method, --rate, --burst or --report")
    with opened_keys() as here:
        with here.store.write() as connection:
            found = here.found(connection, name)
            limits = given.applied_to(found.limits, here.profiles)
            limit_key(connection, name, limits)
            here.note(connection, Action.LIMIT_KEY, name, _details(limits))
        _tell(here, name, f"{name} has its new limits.", as_json=as_json)


@keys.command()
@click.argument("name", metavar="OLD")
@click.argument("new_name", metavar="NEW", type=NAME)
@as_json
def rename(*, name: str, new_name: str, as_json: bool) -> None:
    """Call a key otherwise; whoever uses it notifications nothing."""
    with opened_keys() as here:
        here.refuse_configured(new_name, "choose another name")
        with here.store.write() as connection:
            here.found(connection, name)
            if find_key(connection, new_name) is not None:
                raise InputError(f"a key is called {new_name} already: choose another name")
            rename_key(connection, name, new_name)
            here.note(connection, Action.RENAME_KEY, name, {"to": new_name})
        _tell(here, new_name, f"{name} is now called {new_name}.", as_json=as_json)


@keys.command()
@click.argument("name")
@as_json
def revoke(*, name: str, as_json: bool) -> None:
    """End a key for good, in every running serve within a second.

    Open WebSockets that it opened are closed. Its name is free again, and the list goes on
    showing it.
    """
    with opened_keys() as here:
        with here.store.write() as connection:
            here.found(connection, name)
            revoke_key(connection, name, utc_now())
            here.note(connection, Action.REVOKE_KEY, name, {})
        if as_json:
            print_json({"name": name, "state": "revoked"})
        else:
            say(f"{name} is revoked: every running serve refuses it within a second.")


@keys.command()
@click.argument("name")
@click.option(
    "--grace",
    type=Parsed("duration", _grace),
    default=None,
    help="How long the old key works on, such as 24h. Without, it ends at once.",
)
@as_json
def rotate(*, name: str, grace: timedelta | None, as_json: bool) -> None:
    """Make a new key and secret under the same name.

    The limits stay. Both are shown this one time.
    """
    with opened_keys() as here:
        made = _Made.now()
        ends_at = made.credential.created_at + (grace or _AT_ONCE)
        with here.store.write() as connection:
            here.found(connection, name)
            rotate_key(connection, name, made.credential, ends_at)
            details = {"old_ends_at": instant(ends_at)}
            here.note(connection, Action.ROTATE_KEY, name, details)
        _tell_made(here, name, made, as_json=as_json)
        if not as_json:
            until = f"works until {ends_at:%Y-%m-%d %H:%M:%S} UTC" if grace else "works no more"
            say(f"The old key {until}.")


@dataclass(frozen=True, slots=True)
class _Made:
    """A key and its secret that nobody else knows, and what is kept of them."""

    key: Secret
    secret: Secret
    credential: Credential

    @classmethod
    def now(cls) -> _Made:
        """Draw 192 bits for the key and 256 for the secret."""
        key = KEY_PREFIX + secrets.token_urlsafe(_KEY_BYTES)
        secret = SECRET_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        return cls(Secret(key), Secret(secret), Credential(digest(key), digest(secret), utc_now()))


def _details(limits: KeyLimits) -> Mapping[str, Detail]:
    """Tell the limits of a key to the audit log; None is all, or as configured."""
    networks, methods = limits.network_ids, limits.methods
    return {
        "networks": None if networks is None else sorted(networks),
        "methods": None if methods is None else sorted(methods),
        "rate": limits.requests_per_second,
        "burst": limits.burst,
        "report": limits.may_report,
    }


def _form(here: OpenedKeys, name: str) -> dict[str, Json]:
    with here.store.read() as connection:
        stored, uses = find_key(connection, name), key_uses(connection)
    [each] = key_list.listed(replace(here.configured, keys=()), [stored] if stored else [], uses)
    return key_list.form(each, uses)


def _tell(here: OpenedKeys, name: str, text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(_form(here, name))
    else:
        say(text)


def _tell_made(here: OpenedKeys, name: str, made: _Made, *, as_json: bool) -> None:
    """Show a key and its secret; nobody can ever show them again."""
    key, secret = made.key.reveal(), made.secret.reveal()
    if as_json:
        print_json({"key": key, "secret": secret, **_form(here, name)})
        return
    address = f"{here.settings.serve.host}:{here.settings.serve.port}"
    for line in (
        f"The key of {name}, shown only now:",
        "",
        f"  key      {key}",
        f"  secret   {secret}",
        "",
        f"  RPC      http://{address}/v3/{key}",
        f"           ws://{address}/ws/v3/{key}",
        f"  gas      http://{address}/v3/{key}/networks/NETWORK_ID/suggestedGasFees",
        f"           http://{address}/networks/NETWORK_ID/suggestedGasFees with HTTP Basic",
        "",
        "Keep both where secrets are kept. Running serve processes accept the key within a second.",
    ):
        say(line)
