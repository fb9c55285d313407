"""What must hold of the settings together: find what is well-formed and yet unsafe or void."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Final

from dashboard.devnet.networks import SIMULATED, SimulatedNetwork
from dashboard.domain.allowed_hosts import HOST_NAME
from dashboard.domain.api_key import KEY_PREFIX
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import SettingsError
from dashboard.settings.check_fees import check_fees
from dashboard.settings.check_store import check_store
from dashboard.settings.fees import fees_of
from dashboard.settings.key_limits import check_keys
from dashboard.settings.locate import Path
from dashboard.settings.module_limits import limits_of
from dashboard.settings.schema import EndpointSettings, MailSettings, NetworkSettings, Settings

Finding = tuple[Path, str]
"""The path of a setting, and what to say after its name."""

_MAIL_ADDRESS: Final = re.compile(r"[!-?A-~]+@[!-?A-~]+", re.ASCII)
_EHLO_NAME: Final = re.compile(
    r"(?=.{1,255}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
    r"|\[(IPv6:)?[0-9a-f:.]{1,45}\]",
    re.ASCII | re.IGNORECASE,
)
"""A name of a machine, or its address in brackets, RFC 5321 section 4.1.3."""

_ORIGIN: Final = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/\s?#@*]+", re.ASCII)
_HTTP_SCHEME: Final = ("https://", "http://")
_ANY_SCHEME: Final = (*_HTTP_SCHEME, "wss://", "ws://")


def check_together(settings: Settings) -> Iterator[Finding]:
    """Yield what is unsafe or contradictory, naming the way out."""
    yield from check_store(settings.store)
    yield from _check_addresses(settings)
    yield from _check_origins(settings)
    yield from _check_names(settings)
    yield from _check_devnet_key(settings)
    yield from check_keys(settings)
    yield from _check_networks(settings)
    yield from _check_own_serve(settings)
    yield from _check_mail(settings.mail)
    yield from _check_fees(settings)


def _check_addresses(settings: Settings) -> Iterator[Finding]:
    if not _is_loopback(settings.pages.host):
        said = (
            f"is {shorten(settings.pages.host)}: pages have no sign-in yet, so they "
            "accept only a loopback address such as 127.0.0.1"
        )
        yield ("pages", "host"), said
    for host, section in ((settings.serve.host, "serve"), (settings.devnet.host, "devnet")):
        if settings.has_development_key and not _is_loopback(host):
            said = (
                f"is {shorten(host)}: beyond loopback, serve needs a key of your "
                "own; add a table [serve.keys.NAME] with key"
            )
            yield (section, "host"), said


def _check_origins(settings: Settings) -> Iterator[Finding]:
    """Browsers send origins in one form only: what is written otherwise would never fit."""
    for origin in settings.serve.cors_origins:
        if not _ORIGIN.fullmatch(origin):
            said = f"holds {origin!r}, which no browser sends: write it as https://wallet.example"
            yield ("serve", "cors_origins"), said


def _check_names(settings: Settings) -> Iterator[Finding]:
    for name in settings.http.allowed_hosts:
        if not HOST_NAME.fullmatch(name):
            said = (
                f"holds {shorten(name)}, which is no name of a machine: write it without scheme "
                "and port, as watch.example"
            )
            yield ("http", "allowed_hosts"), said


def _check_fees(settings: Settings) -> Iterator[Finding]:
    common = list(check_fees(settings.fees, ("fees",)))
    yield from common
    for name, network in settings.networks.items():
        if network.fees is not None and not common:
            yield from check_fees(fees_of(settings.fees, network.fees), ("networks", name, "fees"))


def _check_mail(mail: MailSettings) -> Iterator[Finding]:
    addresses = [("sender", mail.sender), *(("recipients", each) for each in mail.recipients)]
    for key, address in addresses:
        if not _MAIL_ADDRESS.fullmatch(address):
            said = f"holds {shorten(address)}, which is no mail address: write name@host in ASCII"
            yield ("mail", key), said
    if mail.ehlo_name and not is_ehlo_name(mail.ehlo_name):
        said = f"is {shorten(mail.ehlo_name)}: write a name such as mx.example.org, or [192.0.2.1]"
        yield ("mail", "ehlo_name"), said
    if mail.smtp_host and not mail.recipients:
        yield ("mail", "recipients"), "is empty and mail.smtp_host is set: say who gets mail"


def is_ehlo_name(text: str) -> bool:
    """Whether a mail server may be greeted with this."""
    return _EHLO_NAME.fullmatch(text) is not None


def _check_devnet_key(settings: Settings) -> Iterator[Finding]:
    if not settings.has_devnet or settings.has_development_key:
        return
    if not _is_accepted(settings.devnet.key, settings):
        said = (
            "is not one of your [serve.keys.*]: with keys or networks of your own the "
            "development key is off; set devnet.key to one of them, or to a key that "
            "`linewatch keys create` made, or devnet.mode to off"
        )
        yield ("devnet", "key"), said


def _check_networks(settings: Settings) -> Iterator[Finding]:
    names = {int(each.network_id): each.title for each in _simulated(settings)}
    yield from _check_titles(settings)
    for name, network in settings.networks.items():
        other = names.setdefault(network.network_id, name)
        if other != name:
            said = f"is {network.network_id}, as is that of {other}: a network is configured once"
            yield ("networks", name, "network_id"), said
        yield from _check_schemes(name, network)
        if network.gas is not None and network.gas.key is None:
            yield (("networks", name, "gas"), "lacks key; add it")
        try:
            limits_of(network)
        except SettingsError as error:
            yield ("networks", name, "module_limits"), f"cannot be used: {error}"


def _simulated(settings: Settings) -> tuple[SimulatedNetwork, ...]:
    return SIMULATED[: settings.devnet.networks] if settings.has_devnet else ()


def _check_titles(settings: Settings) -> Iterator[Finding]:
    """Pages, mails and metrics tell networks apart by what they are called."""
    called = {each.title: each.title for each in _simulated(settings)}
    for name, network in settings.networks.items():
        title = network.title or name
        other = called.setdefault(title, name)
        if other != name:
            said = f"is {title!r}, as {other} is called: give each network a title of its own"
            yield ("networks", name, "title"), said


def _check_schemes(name: str, network: NetworkSettings) -> Iterator[Finding]:
    """Find endpoints that cannot be asked; an address may hold a key, so it is not shown."""
    nodes = {("nodes", str(place)): node for place, node in enumerate(network.nodes)}
    endpoints: dict[Path, tuple[EndpointSettings | None, tuple[str, ...]]] = {
        ("exclusion",): (network.exclusion, _ANY_SCHEME),
        ("gas",): (network.gas, _HTTP_SCHEME),
        ("node",): (network.node, _ANY_SCHEME),
        **{path: (node, _ANY_SCHEME) for path, node in nodes.items()},
    }
    for path, (endpoint, schemes) in endpoints.items():
        if endpoint is None or (endpoint.is_own_serve and path[0] in {"exclusion", "gas"}):
            continue
        if not endpoint.url.reveal().startswith(schemes):
            said = f"does not begin with {' or '.join(schemes)}: write the whole address"
            yield ("networks", name, *path, "url"), said
    for path, node in nodes.items():
        if any(node is not other and node == other for other in network.all_nodes):
            said = "is there twice: another node can stand in, the same one cannot"
            yield ("networks", name, *path), said


def _check_own_serve(settings: Settings) -> Iterator[Finding]:
    for name, network in settings.networks.items():
        for role in ("exclusion", "gas"):
            endpoint: EndpointSettings | None = getattr(network, role)
            if endpoint is None or not endpoint.is_own_serve:
                continue
            if endpoint.key is None or not _is_accepted(endpoint.key, settings):
                said = "is not one of your [serve.keys.*], so our own serve would refuse it"
                yield ("networks", name, role, "key"), said


def _is_accepted(key: Secret, settings: Settings) -> bool:
    """Whether our own serve may accept a key: whether it stands in the store is not known here."""
    is_made = key.reveal().startswith(KEY_PREFIX)
    return is_made or key in {own.key for own in settings.serve.keys.values()}


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
