"""`linewatch keys`: who may call our own APIs, new, limited, renewed and revoked."""

from __future__ import annotations

import difflib
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import click

from dashboard.application.network_status import NetworkProfile
from dashboard.cli import key_options
from dashboard.cli import key_options as key_table
from dashboard.cli.installation import open_installation
from dashboard.cli.key_options import GivenLimits
from dashboard.cli.options import DURATION, Parsed, as_json
from dashboard.cli.output import Json, Listing, Output, instant, output, print_json, print_list, say
from dashboard.domain.people.access import (
    KEY_PREFIX,
    SECRET_PREFIX,
    Action,
    Detail,
    KeyLimits,
    parse_key_name,
)
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError
from dashboard.serve.keys.key_ring import digest
from dashboard.serve.keys.key_sync import ConfiguredKeys
from dashboard.settings import Settings
from dashboard.store.access.api_keys import (
    Credential,
    StoredKey,
    all_keys,
    create_key,
    find_key,
    key_uses,
    limit_key,
    rename_key,
    revoke_key,
    rotate_key,
)
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.wiring.clock import utc_now
from dashboard.wiring.networks import networks_of
from dashboard.wiring.page_settings import profile_of
from dashboard.wiring.serve import configured_keys
from dashboard.wiring.store import os_user

_KEY_BYTES = 24
_SECRET_BYTES = 32
_AT_ONCE = timedelta(0)


@click.group()
def keys() -> None:
    """Make, limit, renew and revoke the API keys with which clients call our own APIs.

    A key is shown once, when it is made; the store keeps digests. Every change reaches each
    running `linewatch serve` within a second, without a restart.
    """


NAME = Parsed("name", parse_key_name)


@keys.command(
    epilog="\b\nlinewatch keys create wallet --rate 50/s --network devnet\n"
    "linewatch keys create sequencer --report --method saveRejectedTransactionV1"
)
@click.argument("name", type=NAME)
@key_options.limits
@as_json
def create(*, name: str, given: GivenLimits, as_json: bool) -> None:
    """Make a key and its secret, and show both this one time.

    The key goes into the path of a request, or key and secret into HTTP Basic for the gas API.
    NAME stands for the client in logs and lists. Without options it may ask everything and report
    nothing.
    """
    with _administer_keys() as here:
        here.refuse_configured(name, "choose another name")
        limits = given.applied_to(KeyLimits(may_report=False), here.profiles)
        new = NewKey.now()
        with here.store.write() as connection:
            if not create_key(connection, name, limits, new.credential):
                raise InputError(
                    f"a key is called {name} already: choose another name, or give it a new key "
                    f"with `linewatch keys rotate {name}`"
                )
            here.note(connection, Action.CREATE_KEY, name, _details(limits))
        _print_new_key(here, name, new, as_json=as_json)


@keys.command("list")
@output
def list_(*, output: Output) -> None:
    """Show every key: its limits, last use and counts.

    Revoked ones stay listed. Keys of the settings file are there too. Running serve processes
    write their counts every few seconds.
    """
    with _administer_keys() as here:
        with here.store.read() as connection:
            stored, uses = all_keys(connection), key_uses(connection)
        found = key_table.listed(here.configured, stored, uses)
    now = utc_now()
    print_list(
        Listing(
            "keys",
            found,
            key_table.COLUMNS,
            row=lambda each: key_table.row(each, here.network_name, now),
            form=lambda each: key_table.form(each, uses),
            nothing="There is no key: make one with `linewatch keys create NAME`.",
        ),
        output,
    )


@keys.command(
    epilog="\b\nlinewatch keys limit wallet --rate 10/s --burst 100\n"
    "linewatch keys limit wallet --network all --method all"
)
@click.argument("name")
@key_options.limits
@as_json
def limit(*, name: str, given: GivenLimits, as_json: bool) -> None:
    """Change what a key may do; what no option names stays as it is."""
    if given.is_empty():
        raise InputError("nothing to change: give --network, --method, --rate, --burst or --report")
    with _administer_keys() as here:
        with here.store.write() as connection:
            found = here.found(connection, name)
            limits = given.applied_to(found.limits, here.profiles)
            limit_key(connection, name, limits)
            here.note(connection, Action.LIMIT_KEY, name, _details(limits))
        _print_result(here, name, f"{name} has its new limits.", as_json=as_json)


@keys.command()
@click.argument("name", metavar="OLD")
@click.argument("new_name", metavar="NEW", type=NAME)
@as_json
def rename(*, name: str, new_name: str, as_json: bool) -> None:
    """Rename a key; its clients need no change."""
    with _administer_keys() as here:
        here.refuse_configured(new_name, "choose another name")
        with here.store.write() as connection:
            here.found(connection, name)
            if find_key(connection, new_name) is not None:
                raise InputError(f"a key is called {new_name} already: choose another name")
            rename_key(connection, name, new_name)
            here.note(connection, Action.RENAME_KEY, name, {"to": new_name})
        _print_result(here, new_name, f"{name} is now called {new_name}.", as_json=as_json)


@keys.command()
@click.argument("name")
@as_json
def revoke(*, name: str, as_json: bool) -> None:
    """Revoke a key permanently, in every running serve within a second.

    Open WebSockets that it opened are closed. Its name is free again, and the list still
    shows it.
    """
    with _administer_keys() as here:
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
    type=DURATION,
    default=None,
    help="How long the old key still works, such as 24h; by default it ends at once.",
)
@as_json
def rotate(*, name: str, grace: timedelta | None, as_json: bool) -> None:
    """Make a new key and secret under the same name.

    The limits stay. Both are shown this one time.
    """
    with _administer_keys() as here:
        new = NewKey.now()
        ends_at = new.credential.created_at + (grace or _AT_ONCE)
        with here.store.write() as connection:
            here.found(connection, name)
            rotate_key(connection, name, new.credential, ends_at)
            details = {"old_ends_at": instant(ends_at)}
            here.note(connection, Action.ROTATE_KEY, name, details)
        _print_new_key(here, name, new, as_json=as_json)
        if not as_json:
            until = f"works until {ends_at:%Y-%m-%d %H:%M:%S} UTC" if grace else "no longer works"
            say(f"The old key {until}.")


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key and its secret, and the digests that are stored."""

    key: Secret
    secret: Secret
    credential: Credential

    @classmethod
    def now(cls) -> NewKey:
        """Draw 192 bits for the key and 256 for the secret."""
        key = KEY_PREFIX + secrets.token_urlsafe(_KEY_BYTES)
        secret = SECRET_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        return cls(Secret(key), Secret(secret), Credential(digest(key), digest(secret), utc_now()))


def _details(limits: KeyLimits) -> Mapping[str, Detail]:
    """Write the limits of a key for the audit log; None is all, or as configured."""
    networks, methods = limits.network_ids, limits.methods
    return {
        "networks": None if networks is None else sorted(networks),
        "methods": None if methods is None else sorted(methods),
        "rate": limits.requests_per_second,
        "burst": limits.burst,
        "report": limits.may_report,
    }


def _form(here: KeyAdministration, name: str) -> dict[str, Json]:
    with here.store.read() as connection:
        stored, uses = find_key(connection, name), key_uses(connection)
    [each] = key_table.listed(replace(here.configured, keys=()), [stored] if stored else [], uses)
    return key_table.form(each, uses)


def _print_result(here: KeyAdministration, name: str, text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(_form(here, name))
    else:
        say(text)


def _print_new_key(here: KeyAdministration, name: str, new: NewKey, *, as_json: bool) -> None:
    """Show a key and its secret, which cannot be shown again."""
    key, secret = new.key.reveal(), new.secret.reveal()
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


@dataclass(frozen=True, slots=True)
class KeyAdministration:
    """The store and the settings whose keys are administered."""

    settings: Settings
    store: Store
    profiles: tuple[NetworkProfile, ...]
    configured: ConfiguredKeys

    def found(self, connection: Connection, name: str) -> StoredKey:
        """Return the active key of this name; InputError says where else it may be."""
        self.refuse_configured(name, f"change [serve.keys.{name}] there")
        found = find_key(connection, name)
        if found is not None:
            return found
        ever = all_keys(connection)
        if any(each.name == name for each in ever):
            raise InputError(f"{name} was revoked before: `linewatch keys list` shows when")
        near = difflib.get_close_matches(name, [each.name for each in ever], n=1)
        hint = f"did you mean {near[0]}?" if near else "`linewatch keys list` shows all"
        raise InputError(f"no key is called {shorten(name)}: {hint}")

    def note(
        self, connection: Connection, action: Action, name: str, details: Mapping[str, Detail]
    ) -> None:
        """Write an action into the audit log."""
        note_action(connection, utc_now(), os_user(), action, name, details)

    def refuse_configured(self, name: str, remedy: str) -> None:
        """Raise InputError for the name of a key that the settings hold."""
        if name in {key.name for key in self.configured.keys}:
            if self.settings.has_development_key:
                remedy = "it is off as soon as a key or network of your own is configured"
            raise InputError(
                f"{name} is a key of the settings, which commands do not change: {remedy}"
            )

    def network_name(self, network_id: NetworkId) -> str:
        """Name a network, by its id where it left the configuration."""
        names = (profile.name for profile in self.profiles if profile.network_id == network_id)
        return next(names, str(network_id))


@contextmanager
def _administer_keys() -> Iterator[KeyAdministration]:
    """Open the store that the settings name; SettingsError or StoreError say what is wrong."""
    with open_installation() as here:
        settings = here.settings
        profiles = tuple(profile_of(network, settings) for network in networks_of(settings))
        yield KeyAdministration(settings, here.source.store, profiles, configured_keys(settings))
