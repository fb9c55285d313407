"""API keys, which open our own APIs: created, limited, renamed, rotated and revoked, on record."""

from __future__ import annotations

import difflib
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from dashboard.application.context import ApplicationContext, ApplicationSubject
from dashboard.application.listing import (
    Column,
    Json,
    Listing,
    for_programs,
    instant,
    limit_column,
    time_column,
    time_for_programs,
)
from dashboard.domain.formatting import moment
from dashboard.domain.people.access import (
    KEY_PREFIX,
    SECRET_PREFIX,
    UNLIMITED,
    Action,
    Actor,
    ApiKey,
    Detail,
    KeyLimits,
    digest,
    format_rate,
)
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotFound
from dashboard.store.access.api_keys import (
    Credential,
    KeyUse,
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
from dashboard.wire.params import method_mistake

_KEY_BYTES: Final = 24
_SECRET_BYTES: Final = 32
_AT_ONCE: Final = timedelta(0)

NEW_LIMITS: Final = KeyLimits(may_report=False)
"""The default limits of a new key: it may ask everything and report nothing."""

Uses = Mapping[bytes, KeyUse]
"""The use of each credential, by the digest of its key."""


class ListedKey(Struct, frozen=True):
    """One key; `key` has the limits in force.

    `stored` is None for a key in the settings. `uses` belong to its credentials.
    """

    key: ApiKey
    stored: StoredKey | None
    uses: Uses

    @property
    def is_revoked(self) -> bool:
        return self.revoked_at is not None

    @property
    def created_at(self) -> datetime | None:
        """When it was created; None for a key in the settings."""
        return None if self.stored is None else self.stored.created_at

    @property
    def revoked_at(self) -> datetime | None:
        return None if self.stored is None else self.stored.revoked_at

    @property
    def last_used_at(self) -> datetime | None:
        """When it was last used, as far as serve has saved that."""
        return max((use.last_used_at for use in self.uses.values()), default=None)

    @property
    def calls(self) -> int:
        return sum(use.calls for use in self.uses.values())

    @property
    def refusals(self) -> int:
        return sum(use.refusals for use in self.uses.values())


class NewKey(Struct, frozen=True):
    """A new key and its secret, which are shown once, and the digests to store."""

    key: Secret
    secret: Secret
    credential: Credential

    @classmethod
    def drawn(cls, at: datetime) -> NewKey:
        """Draw 192 random bits for the key and 256 for the secret."""
        key = KEY_PREFIX + secrets.token_urlsafe(_KEY_BYTES)
        secret = SECRET_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        return cls(Secret(key), Secret(secret), Credential(digest(key), digest(secret), at))


class Keys(ApplicationSubject):
    def __init__(self, context: ApplicationContext) -> None:
        super().__init__(context)
        self._configured = context.settings.keys

    def all(self) -> tuple[ListedKey, ...]:
        """Return all keys: active ones by name, then revoked ones."""
        with self._context.store.read() as connection:
            stored, uses = all_keys(connection), key_uses(connection)
        found = [
            ListedKey(key, None, _uses_of((key.key_digest,), uses)) for key in self._configured.keys
        ]
        found += self._listed(stored, uses)
        return tuple(sorted(found, key=lambda each: (each.is_revoked, each.key.name)))

    def named(self, name: str) -> ListedKey:
        with self._context.store.read() as connection:
            [found] = self._listed([self._found(connection, name)], key_uses(connection))
        return found

    def create(self, name: str, limits: KeyLimits, by: Actor) -> NewKey:
        self._refuse_configured(name, "choose another name")
        self._refuse_mistake(limits)
        new = NewKey.drawn(by.at)
        with self._context.store.write() as connection:
            if not create_key(connection, name, limits, new.credential):
                raise InputError(
                    f"a key is called {name} already: choose another name, or give it a new key "
                    f"with `linewatch keys rotate {name}`"
                )
            note_action(connection, by, Action.CREATE_KEY, name, _details(limits))
        return new

    def limit(self, name: str, change: Callable[[KeyLimits], KeyLimits], by: Actor) -> None:
        with self._context.store.write() as connection:
            held = self._found(connection, name).limits
            limits = change(held)
            self._refuse_mistake(limits, held.network_ids)
            limit_key(connection, name, limits)
            note_action(connection, by, Action.LIMIT_KEY, name, _details(limits))

    def rename(self, name: str, new_name: str, by: Actor) -> None:
        """Rename a key; its clients need no change."""
        self._refuse_configured(new_name, "choose another name")
        with self._context.store.write() as connection:
            self._found(connection, name)
            if find_key(connection, new_name) is not None:
                raise InputError(f"a key is called {new_name} already: choose another name")
            rename_key(connection, name, new_name)
            note_action(connection, by, Action.RENAME_KEY, name, {"to": new_name})

    def revoke(self, name: str, by: Actor) -> None:
        """Revoke a key permanently."""
        with self._context.store.write() as connection:
            self._found(connection, name)
            revoke_key(connection, name, by.at)
            note_action(connection, by, Action.REVOKE_KEY, name)

    def rotate(self, name: str, grace: timedelta | None, by: Actor) -> NewKey:
        """Create a new key under the same name; the old one still works for `grace`, if given.

        The limits stay.
        """
        new, ends_at = NewKey.drawn(by.at), by.at + (grace or _AT_ONCE)
        with self._context.store.write() as connection:
            self._found(connection, name)
            rotate_key(connection, name, new.credential, ends_at)
            details = {"old_ends_at": instant(ends_at)}
            note_action(connection, by, Action.ROTATE_KEY, name, details)
        return new

    def listing(self) -> Listing[ListedKey]:
        now = self._context.now()
        return Listing(
            "keys",
            (
                Column("name", lambda each: each.key.name, "name"),
                Column("state", lambda each: _state(each.stored, now), "state", _plain_state),
                time_column("created", "createdAt", lambda each: each.created_at),
                time_for_programs("revokedAt", lambda each: each.revoked_at),
                time_column("last use", "lastUsedAt", lambda each: each.last_used_at, "never"),
                Column("calls", lambda each: each.calls, "calls"),
                Column("refused", lambda each: each.refusals, "refusals"),
                Column(
                    "rate",
                    lambda each: format_rate(each.key.requests_per_second or UNLIMITED),
                    "requestsPerSecond",
                    lambda each: each.key.requests_per_second,
                ),
                Column("burst", lambda each: each.key.burst, "burst"),
                Column(
                    "reports",
                    lambda each: "yes" if each.key.may_report else "no",
                    "mayReport",
                    lambda each: each.key.may_report,
                ),
                limit_column(
                    "networks",
                    "networkIds",
                    lambda each: each.key.network_ids,
                    self._context.network_name,
                ),
                limit_column("methods", "methods", lambda each: each.key.methods, str),
                Column("from", lambda each: "store" if each.stored else "settings", "source"),
                for_programs("credentials", _credentials),
            ),
            "There is no key: make one with `linewatch keys create NAME`.",
        )

    def _listed(self, stored: Iterable[StoredKey], uses: Uses) -> list[ListedKey]:
        rate, found = self._configured.default_rate, []
        for each in stored:
            digests = [one.key_digest for one in each.credentials]
            key = ApiKey(each.name, digests[0]).limited(each.limits, rate)
            found.append(ListedKey(key, each, _uses_of(digests, uses)))
        return found

    def _found(self, connection: Connection, name: str) -> StoredKey:
        """Return the active key of this name; NotFound gives a hint."""
        self._refuse_configured(name, f"change [serve.keys.{name}] there")
        found = find_key(connection, name)
        if found is not None:
            return found
        ever = [each.name for each in all_keys(connection)]
        if name in ever:
            raise NotFound(f"{name} was revoked before: `linewatch keys list` shows when")
        near = difflib.get_close_matches(name, ever, n=1)
        hint = f"did you mean {near[0]}?" if near else "`linewatch keys list` shows all"
        raise NotFound(f"no key is called {shorten(name)}: {hint}")

    def _refuse_configured(self, name: str, remedy: str) -> None:
        """Raise InputError for the name of a key in the settings."""
        if name in {key.name for key in self._configured.keys}:
            if self._configured.is_for_trial:
                remedy = "it is off as soon as a key or network of your own is configured"
            raise InputError(
                f"{name} is a key of the settings, which commands do not change: {remedy}"
            )

    def _refuse_mistake(
        self, limits: KeyLimits, held: frozenset[NetworkId] | None = frozenset()
    ) -> None:
        """Raise InputError for limits that contradict each other, or leave nothing to ask.

        A key keeps networks that it `held` when they were configured.
        """
        mistake = method_mistake(limits.methods, may_report=limits.may_report)
        if mistake is not None:
            raise InputError(f"the list of methods {mistake}")
        if limits.network_ids is not None and not limits.network_ids:
            raise InputError(
                "the list of networks is empty, so the key could call nothing: name a network, or "
                "all"
            )
        self._context.refuse_other_networks((limits.network_ids or frozenset()) - (held or set()))


def _details(limits: KeyLimits) -> Mapping[str, Detail]:
    """Format the limits of a key for the audit log; None is all, or as configured."""
    networks, methods = limits.network_ids, limits.methods
    return {
        "networks": None if networks is None else sorted(networks),
        "methods": None if methods is None else sorted(methods),
        "rate": limits.requests_per_second,
        "burst": limits.burst,
        "report": limits.may_report,
    }


def _uses_of(digests: Sequence[bytes], uses: Uses) -> Uses:
    return {digest: uses[digest] for digest in digests if digest in uses}


def _state(stored: StoredKey | None, now: datetime) -> str:
    if stored is None:
        return "active"
    if stored.revoked_at is not None:
        return f"revoked {moment(stored.revoked_at)}"
    ends = [each.ends_at for each in stored.credentials[1:] if not each.is_over(now)]
    until = max((each for each in ends if each is not None), default=None)
    return "active" if until is None else f"active, old key until {moment(until)}"


def _plain_state(each: ListedKey) -> str:
    return "revoked" if each.is_revoked else "active"


def _credentials(each: ListedKey) -> Json:
    known = () if each.stored is None else each.stored.credentials
    return [_credential(one, each.uses.get(one.key_digest)) for one in known]


def _credential(credential: Credential, use: KeyUse | None) -> Json:
    return {
        "createdAt": instant(credential.created_at),
        "endsAt": instant(credential.ends_at),
        "lastUsedAt": None if use is None else instant(use.last_used_at),
        "calls": 0 if use is None else use.calls,
        "refusals": 0 if use is None else use.refusals,
    }
