"""Hosts in settings: which one an address names, and whether that is this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def host_of(url: str) -> str | None:
    """Return the host of an address, in lower case; None for no host or an impossible port."""
    try:
        address = urlsplit(url)
        has_port = address.port != 0
    except ValueError:
        return None
    return (address.hostname or "").removesuffix(".") or None if has_port else None


def origin_of(url: str) -> str:
    """Return the origin of a web address that has a host, as browsers send it."""
    address, host = urlsplit(url), host_of(url) or ""
    scheme = address.scheme.lower()
    usual = {"http": 80, "https": 443}.get(scheme)
    port = "" if address.port in {None, usual} else f":{address.port}"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}{port}"


def is_loopback(host: str) -> bool:
    """Whether traffic to a host never leaves this machine; names are not resolved."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_wildcard(host: str) -> bool:
    """Whether listening there is listening on every address of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host
