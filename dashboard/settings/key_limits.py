"""What the settings let an API key do: read into limits, and held against what is configured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dashboard.devnet.chain import DEVNET_ID
from dashboard.domain.api_key import KeyLimits
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.domain.secret import Secret
from dashboard.settings.locate import Path
from dashboard.settings.partly import as_far_as_readable
from dashboard.settings.schema import ApiKeySettings, Settings
from dashboard.wire.method_names import unfit


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


@as_far_as_readable
def check_keys(settings: Settings) -> Iterator[tuple[Path, str]]:
    """Find keys that nobody could present, and limits that mean nothing here."""
    owners: dict[Secret, str] = {}
    for name, own in settings.serve.keys.items():
        path = ("serve", "keys", name)
        yield from _check_key(own, path, owners)
        yield from _check_key_networks(own, path, settings)
        yield from _check_key_methods(own, path)


@as_far_as_readable
def _check_key(
    own: ApiKeySettings, path: Path, owners: dict[Secret, str]
) -> Iterator[tuple[Path, str]]:
    """Note the key in `owners`, the names by their keys."""
    name = path[-1]
    text, owner = own.key.reveal(), owners.setdefault(own.key, name)
    if not text or set("/:") & set(text):
        said = "is empty or holds / or :, so no client could present it: write another"
        yield (*path, "key"), said
    if owner != name:
        yield (*path, "key"), f"is that of {owner}: a log could not say who called"


@as_far_as_readable
def _check_key_networks(
    own: ApiKeySettings, path: Path, settings: Settings
) -> Iterator[tuple[Path, str]]:
    ids = _ids(settings)
    for each in own.networks or ():
        if str(each) not in ids:
            known = ", ".join(_known(settings)) or "none is configured"
            said = f"holds {shorten(str(each))}, which is no network here: {known}"
            yield (*path, "networks"), said


@as_far_as_readable
def _check_key_methods(own: ApiKeySettings, path: Path) -> Iterator[tuple[Path, str]]:
    complaint = unfit(own.methods, may_report=own.report)
    if complaint is not None:
        yield (*path, "methods"), complaint


def _ids(settings: Settings) -> Mapping[str, NetworkId]:
    """Return the ids of the networks by all that stands for them: their names and their ids."""
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
