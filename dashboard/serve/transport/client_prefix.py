"""Which addresses count as one client: limits for each address would else be none in IPv6."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import Final

_IPV6: Final = 6
_IPV6_BITS: Final = 64
"""Bits of an IPv6 address that a household shares: whoever has one address has them all."""


@lru_cache(maxsize=4096)
def household(address: str) -> str:
    """Return what counts as one client: an IPv4 address, or the network of an IPv6 one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version != _IPV6:
        return address
    return str(ipaddress.ip_network((int(parsed), _IPV6_BITS), strict=False))
