"""How API keys are listed: a row for people, fixed keys of JSON for programs, never the key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.cli.output import Json, instant
from dashboard.domain.api_key import UNLIMITED, format_rate
from dashboard.domain.quantity import NetworkId
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.keys.key_sync import ConfiguredKeys
from dashboard.show.text import moment
from dashboard.store.access.api_keys import Credential, KeyUse, StoredKey

COLUMNS = (
    "NAME",
    "STATE",
    "CREATED",
    "LAST USE",
    "CALLS",
    "REFUSED",
    "RATE",
    "BURST",
    "REPORTS",
    "NETWORKS",
    "METHODS",
    "FROM",
)

Uses = Mapping[bytes, KeyUse]


@dataclass(frozen=True, slots=True)
class ListedKey:
    """One key as lists show it; `key` has its limits as they are in force.

    `stored` is None for a key of the settings. `uses` are those of its credentials.
    """

    key: ApiKey
    stored: StoredKey | None
    uses: tuple[KeyUse, ...]

    @property
    def is_revoked(self) -> bool:
        """Whether no call is accepted with it any more."""
        return self.stored is not None and self.stored.revoked_at is not None

    def last_used_at(self) -> datetime | None:
        """When it was last presented, as far as serve has saved it."""
        return max((use.last_used_at for use in self.uses), default=None)


def listed(configured: ConfiguredKeys, stored: Iterable[StoredKey], uses: Uses) -> list[ListedKey]:
    """Return all keys: those in use by name, then those that were revoked."""
    keys = [ListedKey(key, None, _uses((key.key_digest,), uses)) for key in configured.keys]
    keys += (_listed(each, configured.default_rate, uses) for each in stored)
    return sorted(keys, key=lambda each: (each.is_revoked, each.key.name))


def _listed(stored: StoredKey, default_rate: float, uses: Uses) -> ListedKey:
    digests = [each.key_digest for each in stored.credentials]
    key = ApiKey(stored.name, digests[0]).limited(stored.limits, default_rate)
    return ListedKey(key, stored, _uses(digests, uses))


def _uses(digests: Sequence[bytes], uses: Uses) -> tuple[KeyUse, ...]:
    return tuple(uses[digest] for digest in digests if digest in uses)


def row(each: ListedKey, name_of: Callable[[NetworkId], str], now: datetime) -> tuple[str, ...]:
    """Write one key for people."""
    key, stored = each.key, each.stored
    last = each.last_used_at()
    networks = key.network_ids
    return (
        key.name,
        _state(stored, now),
        "" if stored is None else moment(stored.created_at),
        "never" if last is None else moment(last),
        str(sum(use.calls for use in each.uses)),
        str(sum(use.refusals for use in each.uses)),
        format_rate(key.requests_per_second or UNLIMITED),
        "" if key.burst is None else str(key.burst),
        "yes" if key.may_report else "no",
        "all" if networks is None else ", ".join(map(name_of, sorted(networks))) or "none",
        "all" if key.methods is None else ", ".join(sorted(key.methods)),
        "settings" if stored is None else "store",
    )


def _state(stored: StoredKey | None, now: datetime) -> str:
    if stored is None:
        return "active"
    if stored.revoked_at is not None:
        return f"revoked {moment(stored.revoked_at)}"
    ends = [each.ends_at for each in stored.credentials[1:] if not each.is_over(now)]
    until = max((each for each in ends if each is not None), default=None)
    return "active" if until is None else f"active, old key until {moment(until)}"


def form(each: ListedKey, uses: Uses) -> dict[str, Json]:
    """Write one key for programs."""
    key, stored = each.key, each.stored
    networks, methods = key.network_ids, key.methods
    return {
        "name": key.name,
        "source": "settings" if stored is None else "store",
        "state": "revoked" if each.is_revoked else "active",
        "createdAt": None if stored is None else instant(stored.created_at),
        "revokedAt": None if stored is None else instant(stored.revoked_at),
        "lastUsedAt": instant(each.last_used_at()),
        "calls": sum(use.calls for use in each.uses),
        "refusals": sum(use.refusals for use in each.uses),
        "requestsPerSecond": key.requests_per_second,
        "burst": key.burst,
        "mayReport": key.may_report,
        "networkIds": None if networks is None else list[Json](sorted(networks)),
        "methods": None if methods is None else list[Json](sorted(methods)),
        "credentials": [_credential(one, uses) for one in (stored.credentials if stored else ())],
    }


def _credential(credential: Credential, uses: Uses) -> Json:
    use = uses.get(credential.key_digest)
    return {
        "createdAt": instant(credential.created_at),
        "endsAt": instant(credential.ends_at),
        "lastUsedAt": None if use is None else instant(use.last_used_at),
        "calls": 0 if use is None else use.calls,
        "refusals": 0 if use is None else use.refusals,
    }
