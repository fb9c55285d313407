"""Options that say what an API key may do, and how keys are listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from typing import Any, Final, TypeVar, cast

import click

from dashboard.application.network_status import NetworkProfile
from dashboard.application.text import moment
from dashboard.cli.options import Parsed, chosen
from dashboard.cli.output import Json, instant
from dashboard.domain.people.access import UNLIMITED, KeyLimits, format_rate, parse_rate
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.errors import InputError
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.keys.key_sync import ConfiguredKeys
from dashboard.store.access.api_keys import Credential, KeyUse, StoredKey
from dashboard.wire.method_names import METHODS, method_mistake

ALL: Final = "all"
DEFAULT: Final = "default"

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class GivenLimits:
    """The options as given; None and the empty tuple where an option was not given."""

    networks: tuple[str, ...]
    methods: tuple[str, ...]
    rate: str | None
    burst: int | str | None
    report: bool | None

    def is_empty(self) -> bool:
        """Whether no option was given."""
        return not (self.networks or self.methods) and (self.rate, self.burst, self.report) == (
            None,
            None,
            None,
        )

    def applied_to(self, limits: KeyLimits, profiles: tuple[NetworkProfile, ...]) -> KeyLimits:
        """Return the limits with what the options change; InputError where they contradict."""
        if self.networks:
            limits = replace(limits, network_ids=_network_ids(self.networks, profiles))
        if self.methods:
            is_all = ALL in self.methods
            limits = replace(limits, methods=None if is_all else frozenset(self.methods))
        if self.rate is not None:
            rate = None if self.rate == DEFAULT else parse_rate(self.rate)
            limits = replace(limits, requests_per_second=rate)
        if self.burst is not None:
            limits = replace(limits, burst=self.burst if isinstance(self.burst, int) else None)
        if self.report is not None:
            limits = replace(limits, may_report=self.report)
        complaint = method_mistake(limits.methods, may_report=limits.may_report)
        if complaint is not None:
            raise InputError(f"--method {complaint} (--report, --no-report)")
        return limits


def _network_ids(
    texts: tuple[str, ...], profiles: tuple[NetworkProfile, ...]
) -> frozenset[NetworkId] | None:
    if ALL in texts:
        return None
    found = (chosen(text, profiles) for text in texts)
    return frozenset(profile.network_id for profile in found if profile is not None)


def limits(command: Command) -> Command:
    """Add the options, handed to the command as one value `given`."""

    @wraps(command)
    def gathered(**options: Any) -> object:  # noqa: ANN401 - whatever the command takes
        named = {name: options.pop(name) for name in GivenLimits.__slots__}
        return command(given=GivenLimits(**named), **options)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return cast("Command", gathered)


def _method(text: str) -> str:
    if text not in (ALL, *METHODS):
        known = ", ".join(METHODS)
        raise InputError(f"{shorten(text)} is no method: choose from {known}, or {ALL}")
    return text


def _rate(text: str) -> str:
    if text != DEFAULT:
        parse_rate(text)
    return text


def _burst(text: str) -> int | str:
    if text == DEFAULT:
        return text
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < _DIGITS and int(text)):
        raise InputError(
            f"{shorten(text)} is no burst: write how many calls may come at once, such as 100, "
            f"or {DEFAULT}"
        )
    return int(text)


_DIGITS: Final = 10

_OPTIONS: Final = (
    click.option(
        "--network",
        "networks",
        multiple=True,
        metavar="NAME|ID",
        help=f"Only this network, by name or chain id; repeatable. {ALL}: every network.",
    ),
    click.option(
        "--method",
        "methods",
        multiple=True,
        type=Parsed("method", _method),
        help=f"Only this method or gas operation; repeatable. {ALL}: every one. "
        f"There are {', '.join(METHODS)}.",
    ),
    click.option(
        "--rate",
        type=Parsed("rate", _rate),
        help="How often it may call: 50/s, 600/m, 1000/h or none; a batch counts as its calls. "
        f"{DEFAULT}: requests_per_second of [serve].",
    ),
    click.option(
        "--burst",
        type=Parsed("calls", _burst),
        help="How many calls may come at once, so also the largest batch. "
        f"{DEFAULT}: as many as one second allows, at least 10.",
    ),
    click.option(
        "--report/--no-report",
        "report",
        default=None,
        help="Whether nodes may report rejections with it. A new key may not.",
    ),
)


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
