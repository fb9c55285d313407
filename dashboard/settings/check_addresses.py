"""Check addresses: where roles listen, endpoints, and that no key is sent in clear text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Final
from urllib.parse import urlsplit

from dashboard.alert.channels.smtp import Security
from dashboard.domain.ip_addresses import ip_address_of
from dashboard.domain.people.sign_in import EVERYBODY
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret, holds_login
from dashboard.errors import StoreError
from dashboard.settings.budgets import endpoints_of
from dashboard.settings.check_keys import quoted
from dashboard.settings.layers import Remark, SettingPath
from dashboard.settings.mail import MailSettings
from dashboard.settings.schema import (
    EndpointSettings,
    ExclusionSettings,
    IssuerSettings,
    NetworkSettings,
    ProxySettings,
    Settings,
    StoreSettings,
)
from dashboard.settings.values import (
    host_of,
    is_loopback,
    is_wildcard,
    network_of,
)

_HTTP_SCHEME: Final = ("https://", "http://")
_WEBSOCKET_SCHEME: Final = ("wss://", "ws://")
_ANY_SCHEME: Final = (*_HTTP_SCHEME, *_WEBSOCKET_SCHEME)
_ISSUER_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}", re.ASCII)
_OTHER_HEADERS: Final = frozenset(
    {"authorization", "cookie", "host", "origin", "referer", "user-agent", "x-linewatch-session"}
)
"""Headers that mean something else here, or that browsers set."""

_SIGN_OUT_URL: Final = re.compile(r"(https?:/)?/[!#-;=?-~]{1,500}", re.ASCII)
_ROLES: Final = ("pages", "serve", "devnet")
_PUBLIC_URL: Final = re.compile(
    r"https?://(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,254})(:\d{1,5})?(/[^\s?#]*)?", re.ASCII
)


def check_addresses(settings: Settings) -> Iterator[Remark]:
    """Yield addresses that are unsafe or invalid."""
    yield from _check_hosts(settings)
    yield from _check_pages_host(settings)
    yield from _check_sign_in(settings)
    for section in ("serve", "devnet"):
        yield from _check_development_host(settings, section)
    for first, second in combinations(_ROLES, 2):
        yield from _check_ports(settings, first, second)
    yield from _check_public_url(settings)
    for name, network in settings.networks.items():
        yield from _check_endpoints(name, network)


def _check_hosts(settings: Settings) -> Iterator[Remark]:
    """Report an address in place of a host, which errors would quote with its login."""
    places = ((name, "host") for name in _ROLES)
    for section, name in (*places, ("mail", "smtp_host"), ("bounces", "imap_host")):
        host: str = getattr(getattr(settings, section), name)
        if set("/@ ") & set(host):
            message = "is more than a host: leave scheme, login and path out"
            yield (section, name), message
        elif ":" in host and ip_address_of(host) is None:
            port = name.replace("host", "port")
            message = f"is {shorten(host)}: write the port as {section}.{port}, and no brackets"
            yield (section, name), message


def _check_pages_host(settings: Settings) -> Iterator[Remark]:
    if not is_loopback(settings.pages.host) and not settings.sign_in.is_on:
        message = (
            f"is {quoted(settings.pages.host)}, and nobody has to sign in: set accounts = true in "
            "[sign_in], or add an issuer or the addresses of a proxy to it; or keep 127.0.0.1, and "
            "let people come through a reverse proxy that asks them to sign in, or through an SSH "
            "tunnel"
        )
        yield ("pages", "host"), message


def _check_sign_in(settings: Settings) -> Iterator[Remark]:
    """Report what would let nobody sign in: browsers send the cookie over HTTPS alone."""
    given, url = settings.sign_in, settings.pages.public_url
    if given.is_on and url.startswith("http:") and not is_loopback(host_of(url) or ""):
        message = (
            "is not an https address, and browsers would not stay signed in: let a reverse "
            "proxy serve it over TLS"
        )
        yield ("pages", "public_url"), message
    from_elsewhere = given.issuers or given.proxy.addresses or not is_loopback(settings.pages.host)
    if given.is_on and not url and from_elsewhere:
        message = "is needed if people sign in from other machines: the https address they use"
        yield ("pages", "public_url"), message
    if given.second_factor and not given.accounts:
        message = (
            "is for passwords of Linewatch, and accounts is false: leave it out, and let the "
            "provider or the proxy ask for a second factor"
        )
        yield ("sign_in", "second_factor"), message
    if given.longest < given.idle:
        yield ("sign_in", "longest"), "is shorter than sign_in.idle: give it at least that"
    for name, issuer in given.issuers.items():
        yield from _check_issuer(name, issuer)
    yield from _check_proxy(given.proxy)


def _check_proxy(proxy: ProxySettings) -> Iterator[Remark]:
    """Report settings by which a proxy would let in nobody, or anybody."""
    path = ("sign_in", "proxy")
    for each in proxy.addresses:
        try:
            network_of(each)
        except ValueError as error:
            yield (*path, "addresses"), f"holds {error}"
    if proxy.roles and not proxy.addresses:
        yield (*path, "addresses"), "is empty: say from where the proxy connects"
    if proxy.addresses and not proxy.roles:
        yield (*path, "roles"), 'is empty, so that nobody has a role: write { "*" = "viewer" }, say'
    if set(proxy.roles) - {EVERYBODY} and not proxy.groups_header:
        yield (*path, "groups_header"), "is empty, and roles name groups: say which header has them"
    if proxy.groups_header and proxy.groups_header.lower() == proxy.header.lower():
        yield (*path, "groups_header"), "is the header of the person: groups need one of their own"
    for name in ("header", "groups_header"):
        text: str = getattr(proxy, name)
        is_given = text or name == "header"
        if is_given and (text.lower() in _OTHER_HEADERS or not _HEADER.fullmatch(text)):
            message = (
                f"is {shorten(text)}: write the name of a header that the proxy alone sets, such "
                "as Remote-User"
            )
            yield (*path, name), message
    out = proxy.sign_out_url
    if out and (holds_login(out) or not _SIGN_OUT_URL.fullmatch(out)):
        named = "holds a login" if holds_login(out) else f"is {quoted(out)}"
        message = f"{named}: write https://… or a path such as /logout"
        yield (*path, "sign_out_url"), message


def _check_issuer(name: str, issuer: IssuerSettings) -> Iterator[Remark]:
    path = ("sign_in", "issuers", name)
    if not _ISSUER_NAME.fullmatch(name):
        message = (
            f"is called {shorten(name)}, which is part of addresses: write small letters, digits "
            "and -, a letter first, 40 at most"
        )
        yield path, message
    host = host_of(issuer.url)
    if not (_PUBLIC_URL.fullmatch(issuer.url) and host):
        named = "holds a login" if "@" in issuer.url else f"is {shorten(issuer.url)}"
        yield (*path, "url"), f"{named}: write the issuer, such as https://id.example"
    elif issuer.url.startswith("http:") and not is_loopback(host):
        message = "begins with http://, so that others could sign in as anybody: write https://"
        yield (*path, "url"), message


def _check_development_host(settings: Settings, section: str) -> Iterator[Remark]:
    host: str = getattr(settings, section).host
    if settings.has_development_key and not is_loopback(host):
        message = (
            f"is {quoted(host)}: beyond loopback, serve needs a key of your "
            "own; add a table [serve.keys.NAME] with key"
        )
        yield (section, "host"), message


def _check_ports(settings: Settings, first: str, second: str) -> Iterator[Remark]:
    """Report two roles that would listen on the same port."""
    if "devnet" in {first, second} and not settings.has_devnet:
        return
    one, other = getattr(settings, first), getattr(settings, second)
    if one.port == other.port and _overlap(one.host, other.host):
        message = f"is {other.port}, as is {first}.port: give each role a port of its own"
        yield (second, "port"), message


def _overlap(one: str, other: str) -> bool:
    if is_wildcard(one) or is_wildcard(other) or one == other:
        return True
    return "localhost" in {one, other} and is_loopback(one) and is_loopback(other)


def _check_public_url(settings: Settings) -> Iterator[Remark]:
    url = settings.pages.public_url
    if url and not (_PUBLIC_URL.fullmatch(url) and host_of(url)):
        named = "holds a login" if "@" in url else f"is {shorten(url)}"  # never quote a password
        message = (
            f"{named}, which no browser opens: write an address such as "
            "https://linewatch.example, or leave it empty"
        )
        yield ("pages", "public_url"), message


def _check_endpoints(name: str, network: NetworkSettings) -> Iterator[Remark]:
    for path, endpoint in endpoints_of(network):
        schemes = _HTTP_SCHEME if path[0] == "gas" else _ANY_SCHEME
        yield from _check_endpoint(endpoint, ("networks", name, *path), schemes)


def _check_endpoint(
    endpoint: EndpointSettings, path: SettingPath, schemes: tuple[str, ...]
) -> Iterator[Remark]:
    """Report an invalid address; it may contain a key, so it is not shown."""
    url = endpoint.url.reveal()
    if endpoint.is_own_serve and path[2] in {"exclusion", "exclusions", "gas"}:
        return
    if not url.startswith(schemes):
        message = f"does not begin with {' or '.join(schemes)}: write the whole address"
        yield (*path, "url"), message
    elif host_of(url) is None:
        yield (*path, "url"), "names no host: write the whole address"
    if isinstance(endpoint, ExclusionSettings) and endpoint.websocket_url is not None:
        yield from _check_websocket(endpoint, endpoint.websocket_url.reveal(), path)


def _check_websocket(endpoint: EndpointSettings, url: str, path: SettingPath) -> Iterator[Remark]:
    own = (*path, "websocket_url")
    if not url.startswith(_WEBSOCKET_SCHEME) or host_of(url) is None:
        yield own, "is not a complete address: begin with wss:// or ws://"
    elif endpoint.url.reveal().startswith(_WEBSOCKET_SCHEME):
        yield own, "conflicts with url, which is one itself: remove it, or give url an https one"


_CLEAR: Final = ("http://", "ws://")
_SHORTEST_KEY: Final = 16
"""A part of an address with at least this many characters may be a key."""

_CALLED_KEY: Final = re.compile(r"(?:key|token|secret|auth|pass\w*|pwd)=[^&]", re.IGNORECASE)
"""Parameters whose names say that they contain a key, however short."""


def check_clear_text(settings: Settings) -> Iterator[Remark]:
    """Yield each connection on which a secret could be read, unless that is allowed."""
    yield from _check_store(settings.store)
    yield from _check_mail(settings.mail)
    yield from _check_networks(settings)


def _check_store(store: StoreSettings) -> Iterator[Remark]:
    for name in ("url", "read_url"):
        url: str = getattr(store, name).reveal()
        try:
            message = unsafe_store(store, url) if url else None
        except StoreError as error:
            message = f"cannot be used: {error}".replace("store.url", f"store.{name}")
        if message is not None:
            yield ("store", name), message


def unsafe_store(store: StoreSettings, url: str) -> str | None:
    """Say why a store cannot be at this address, and the remedy; None if it can.

    The connection to it could be read, or each process would look for its file in another folder.
    StoreError for an invalid address.
    """
    from dashboard.store.engine.database import database_at  # noqa: PLC0415 - SQLAlchemy takes 30 MB, which a process without a store does not need
    from dashboard.store.engine.sqlite import SqliteFile  # noqa: PLC0415 - likewise

    database = database_at(url)
    if isinstance(database, SqliteFile) and not database.path.is_absolute():
        return (
            f"names the file {shorten(str(database.path))} without its folder, which differs from "
            "process to process: write sqlite:////folder/linewatch.db, with four slashes"
        )
    beyond = [host for host in database.clear_text_hosts() if not is_loopback(host)]
    if not beyond or store.allow_clear_text:
        return None
    return (
        f"lets {shorten(beyond[0])} do without TLS, so that others could read and change what "
        "is stored: add ?sslmode=verify-full (with sslrootcert for an authority of your own) or "
        "at least ?sslmode=require, or set store.allow_clear_text to true"
    )


def _check_mail(mail: MailSettings) -> Iterator[Remark]:
    if mail.security is not Security.NONE or not mail.username or not mail.smtp_host:
        return
    if not is_loopback(mail.smtp_host) and not mail.allow_clear_text:
        message = (
            f"is none, so that {shorten(mail.smtp_host)} would get the password in clear text: "
            "set it to starttls or tls, or mail.allow_clear_text to true"
        )
        yield ("mail", "security"), message


def _check_networks(settings: Settings) -> Iterator[Remark]:
    for name, network in settings.networks.items():
        for path, endpoint in endpoints_of(network):
            yield from _check_clear_endpoint(endpoint, ("networks", name, *path), settings)


def _check_clear_endpoint(
    endpoint: EndpointSettings, path: SettingPath, settings: Settings
) -> Iterator[Remark]:
    for setting in ("url", "websocket_url"):
        given: Secret | None = getattr(endpoint, setting, None)
        url = "" if given is None else given.reveal()
        host = host_of(url)
        if endpoint.allow_clear_text or not url.startswith(_CLEAR) or host is None:
            continue
        if is_loopback(host) or host == settings.serve.host:
            continue
        if endpoint.key is not None or endpoint.secret is not None or _may_hold_key(url):
            message = (
                "begins with http:// or ws://, so that its key could be read on the way: write "
                "https:// or wss://, or allow_clear_text = true beside it"
            )
            yield (*path, setting), message


def _may_hold_key(url: str) -> bool:
    """Whether an address contains a login, anything as long as a key, or a parameter called one."""
    address = urlsplit(url)
    parts = [*address.path.split("/"), *address.query.replace("=", "&").split("&")]
    is_long = any(len(part) >= _SHORTEST_KEY for part in parts)
    return "@" in address.netloc or is_long or _CALLED_KEY.search(address.query) is not None
