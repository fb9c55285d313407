"""[serve.keys.NAME]: each key with its limits, checked against the networks and methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from dashboard.devnet.genesis import DEVNET_ID
from dashboard.domain.people.access import ApiKey, ConfiguredKeys, KeyLimits
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.domain.secret import Secret
from dashboard.settings.layers import Remark, SettingPath
from dashboard.settings.schema import ApiKeySettings, Settings
from dashboard.wire.params import method_mistake

DEVELOPMENT_KEY: Final = Secret("dev")
"""The one for a trial, which is published."""


def configured_keys(settings: Settings) -> ConfiguredKeys:
    """Return the keys of the settings, or the one for a trial, which has no limits."""
    default_rate = float(settings.serve.requests_per_second)
    if settings.has_development_key:
        trial = ApiKey.of("development", DEVELOPMENT_KEY, DEVELOPMENT_KEY)
        return ConfiguredKeys((trial,), default_rate, is_for_trial=True)
    keys = (
        ApiKey.of(name, own.key, own.secret).limited(limits_of_key(own, settings), default_rate)
        for name, own in settings.serve.keys.items()
    )
    return ConfiguredKeys(tuple(keys), default_rate)


def limits_of_key(own: ApiKeySettings, settings: Settings) -> KeyLimits:
    """Return the limits of one key, whose networks were checked."""
    ids = _ids(settings)
    networks, methods = own.networks, own.methods
    return KeyLimits(
        None if networks is None else frozenset(ids[str(each)] for each in networks),
        None if methods is None else frozenset(methods),
        None if own.rate is None else float(own.rate),
        own.burst,
        own.report,
    )


def check_keys(settings: Settings) -> Iterator[Remark]:
    """Report keys that no client could present, and limits without effect."""
    owners: dict[Secret, str] = {}
    for name, own in settings.serve.keys.items():
        path = ("serve", "keys", name)
        yield from _check_key(own, path, owners)
        yield from _check_key_networks(own, path, settings)
        complaint = method_mistake(own.methods, may_report=own.report)
        if complaint is not None:
            yield (*path, "methods"), complaint


def _check_key(
    own: ApiKeySettings, path: SettingPath, owners: dict[Secret, str]
) -> Iterator[Remark]:
    """Add the key to `owners`: names by key."""
    name = path[-1]
    text, owner = own.key.reveal(), owners.setdefault(own.key, name)
    if not text or set("/:") & set(text):
        message = "is empty or holds / or :, so no client could present it: write another"
        yield (*path, "key"), message
    if owner != name:
        yield (*path, "key"), f"is also the key of {owner}: a log could not say who called"


def _check_key_networks(
    own: ApiKeySettings, path: SettingPath, settings: Settings
) -> Iterator[Remark]:
    ids = _ids(settings)
    for each in own.networks or ():
        if str(each) not in ids:
            known = ", ".join(_known(settings)) or "none is configured"
            message = f"holds {shorten(str(each))}, which is not a network here: {known}"
            yield (*path, "networks"), message


def _ids(settings: Settings) -> Mapping[str, NetworkId]:
    """Return the ids of the networks by name and by id as text."""
    named = [(name, network.network_id) for name, network in settings.networks.items()]
    if settings.has_devnet:
        named.append(("devnet", DEVNET_ID))
    by_id = {str(network_id): NetworkId(network_id) for _, network_id in named}
    return by_id | {name: NetworkId(network_id) for name, network_id in named}


def _known(settings: Settings) -> Iterator[str]:
    if settings.has_devnet:
        yield f"devnet ({DEVNET_ID})"
    for name, network in settings.networks.items():
        yield f"{name} ({network.network_id})"
