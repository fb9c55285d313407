"""Which addresses count as one client: an IPv6 client has 2**64 of them, so its network counts."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import Final

_IPV6: Final = 6
_IPV6_NETWORK_BITS: Final = 64
"""A client that has one address of such a network has them all."""


@lru_cache(maxsize=4096)
def client_prefix(address: str) -> str:
    """Return what counts as one client: an IPv4 address, or the network of an IPv6 one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version != _IPV6:
        return address
    return str(ipaddress.ip_network((int(parsed), _IPV6_NETWORK_BITS), strict=False))
