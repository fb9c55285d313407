"""The servers that the settings let a worker ask through TLS, as people call them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from dashboard.alert.channels.smtp import Security
from dashboard.domain.secret import Secret
from dashboard.settings import Settings
from dashboard.wiring.clients import place_names
from dashboard.wiring.networks import Network, networks_of


def tls_servers(settings: Settings) -> dict[str, str]:
    """Return by host what each server is called; addresses are never shown, as they hold keys."""
    found: dict[str, str] = {}
    for host, name in _servers(settings):
        found.setdefault(host.lower(), name)
    return found


def _servers(settings: Settings) -> Iterator[tuple[str, str]]:
    mail, bounces = settings.mail, settings.bounces
    if mail.smtp_host and Security(mail.security) is not Security.NONE:
        yield mail.smtp_host, "the mail server"
    if bounces.imap_host:
        yield bounces.imap_host, "the mailbox of bounces"
    for name, channel in settings.channels.items():
        yield from _of(channel.url, f"channel {name}")
    yield from _of(settings.alerts.heartbeat_url, "the heartbeat")
    for network in networks_of(settings):
        yield from _of_network(network)


def _of_network(network: Network) -> Iterator[tuple[str, str]]:
    endpoints = network.endpoints
    for role, each in (("gas", endpoints.gas), ("exclusion", endpoints.exclusion)):
        if each is not None:
            yield from _of(each.url, f"the {network.title} {role} endpoint")
    nodes = endpoints.all_nodes
    for place, each in zip(place_names(len(nodes)), nodes, strict=True):
        yield from _of(each.url, f"the {network.title} node{place}")


def _of(url: Secret, name: str) -> Iterator[tuple[str, str]]:
    address = urlsplit(url.reveal())
    if address.scheme in {"https", "wss"} and address.hostname:
        yield address.hostname, name
