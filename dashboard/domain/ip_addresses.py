"""Which IP addresses are public, and which are one client."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

_PRIVATE_IPV4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # of carriers; one cloud keeps its metadata at 100.100.100.200
            "127.0.0.0/8",
            "168.63.129.16/32",  # a public address that one cloud uses for its own machinery
            "169.254.0.0/16",  # link-local, with the metadata of most clouds
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
"""Networks in IANA's register of special-purpose addresses, and two that clouds use."""

_GLOBAL_IPV6: Final = IPv6Network("2000::/3")
_PRIVATE_IPV6: Final = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # of the IETF, Teredo among them, which hides an IPv4 address
            "2001:db8::/32",
            "2002::/16",  # 6to4, which holds an IPv4 address and is given up
            "3fff::/20",
        ),
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
"""How machines without IPv4 reach an IPv4 address, which stands in the last 32 bits (RFC 6052)."""


def is_public(text: str) -> bool:
    """Whether an address, as the resolver writes it, belongs to the public internet.

    False for this machine, its networks and a cloud's metadata, also if an IPv6 address embeds such
    an IPv4 address; and for a text that is not an address.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return _is_public_ipv4(address)
    if address.scope_id is not None:
        return False
    if address in _NAT64:
        return _is_public_ipv4(_last_32_bits(address))
    return address in _GLOBAL_IPV6 and not any(address in each for each in _PRIVATE_IPV6)


def _is_public_ipv4(address: IPv4Address) -> bool:
    return not any(address in each for each in _PRIVATE_IPV4)


def _last_32_bits(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFF_FFFF)


_CLIENT_BITS: Final = 64
"""A client that has one address in an IPv6 network of this size has all of them."""


@lru_cache(maxsize=4096)
def client_prefix(text: str) -> str:
    """Return what counts as one client: an IPv4 address, or the network of an IPv6 address."""
    address = ip_address_of(text)
    if not isinstance(address, IPv6Address):
        return text if address is None else str(address)
    network = IPv6Address(int(address) >> _CLIENT_BITS << _CLIENT_BITS)
    return f"{network}/{_CLIENT_BITS}"


def ip_address_of(text: str) -> IPv4Address | IPv6Address | None:
    """Read an IP address; an IPv4 address that a socket maps to IPv6 is read as IPv4.

    None for what is not an address, such as the peer of a Unix socket.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
