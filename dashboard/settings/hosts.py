"""What the settings may say of a host: whether it is this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def host_asked(url: str) -> str | None:
    """Return the host that an address names; None where it names none, or no possible port."""
    try:
        address = urlsplit(url)
        return address.hostname if address.port != 0 else None
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether what is sent to a host never leaves this machine; names are not looked up."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_wildcard(host: str) -> bool:
    """Whether to listen there is to listen on every address of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host
