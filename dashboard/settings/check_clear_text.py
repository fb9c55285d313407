"""Check that no password or key leaves this machine without TLS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from dashboard.domain.quantity import shorten
from dashboard.errors import StoreError
from dashboard.settings.check_addresses import endpoint_at, endpoint_paths
from dashboard.settings.hosts import host_of, is_loopback
from dashboard.settings.layers import Remark, SettingPath
from dashboard.settings.mistakes import as_far_as_readable
from dashboard.settings.schema import EndpointSettings, MailSettings, Settings, StoreSettings
from dashboard.store.engine.database import clear_text_hosts

_CLEAR: Final = ("http://", "ws://")
_SHORTEST_KEY: Final = 16
"""A part of an address with as many characters may be a key."""

_CALLED_KEY: Final = re.compile(r"(?:key|token|secret|auth|pass\w*|pwd)=[^&]", re.IGNORECASE)
"""A parameter that by its name holds a key, however short."""


def check_clear_text(settings: Settings) -> Iterator[Remark]:
    """Yield each connection on which a secret could be read, unless that is allowed."""
    yield from _check_store(settings.store)
    yield from _check_mail(settings.mail)
    yield from _check_networks(settings)


@as_far_as_readable
def _check_store(store: StoreSettings) -> Iterator[Remark]:
    try:
        message = clear_text_store(store, store.url.reveal()) if store.url.reveal() else None
    except StoreError as error:
        message = f"cannot be used: {error}"
    if message is not None:
        yield ("store", "url"), message


def clear_text_store(store: StoreSettings, url: str) -> str | None:
    """Say why the connection to a store could be read, and the remedy; None where it is safe.

    StoreError for what is no address of a store.
    """
    beyond = [host for host in clear_text_hosts(url) if not is_loopback(host)]
    if not beyond or store.allow_clear_text:
        return None
    return (
        f"lets {shorten(beyond[0])} do without TLS, so that others could read and change what "
        "is stored: add ?sslmode=verify-full (with sslrootcert for an authority of your own) or "
        "at least ?sslmode=require, or set store.allow_clear_text to true"
    )


@as_far_as_readable
def _check_mail(mail: MailSettings) -> Iterator[Remark]:
    if mail.security != "none" or not mail.username or not mail.smtp_host:
        return
    if not is_loopback(mail.smtp_host) and not mail.allow_clear_text:
        message = (
            f"is none, so that {shorten(mail.smtp_host)} would get the password in clear text: "
            "set it to starttls or tls, or mail.allow_clear_text to true"
        )
        yield ("mail", "security"), message


@as_far_as_readable
def _check_networks(settings: Settings) -> Iterator[Remark]:
    for name, network in settings.networks.items():
        for path in endpoint_paths(network):
            endpoint = endpoint_at(network, path)
            yield from _check_endpoint(endpoint, ("networks", name, *path), settings)


@as_far_as_readable
def _check_endpoint(
    endpoint: EndpointSettings, path: SettingPath, settings: Settings
) -> Iterator[Remark]:
    url, host = endpoint.url.reveal(), host_of(endpoint.url.reveal())
    if endpoint.allow_clear_text or not url.startswith(_CLEAR) or host is None:
        return
    if is_loopback(host) or host == settings.serve.host:
        return
    if endpoint.key is not None or endpoint.secret is not None or _may_hold_key(url):
        message = (
            "begins with http:// or ws://, so that its key could be read on the way: write "
            "https:// or wss://, or allow_clear_text = true beside it"
        )
        yield (*path, "url"), message


def _may_hold_key(url: str) -> bool:
    """Whether an address holds a login, anything as long as a key, or what is called one."""
    address = urlsplit(url)
    parts = [*address.path.split("/"), *address.query.replace("=", "&").split("&")]
    is_long = any(len(part) >= _SHORTEST_KEY for part in parts)
    return "@" in address.netloc or is_long or _CALLED_KEY.search(address.query) is not None
