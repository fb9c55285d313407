"""Which hosts requests may name, which IP addresses are public, and which are one client."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

from msgspec import Struct

from dashboard.domain.quantity import shorten

HOST_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63}){0,30}", re.ASCII)
"""A host name in an address, without a port."""

_AUTHORITY: Final = r"(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,254})(?::\d{1,5})?"
_HOST: Final = re.compile(_AUTHORITY, re.ASCII)
_ORIGIN: Final = re.compile(rf"https?://(?P<authority>{_AUTHORITY})", re.ASCII)


class AllowedHosts(Struct, frozen=True):
    """The names by which browsers reach this machine, in lower case.

    A web site can point its own name at our address (DNS rebinding); a browser then takes our
    answers for the site's. It cannot do so with `localhost` or a numeric address, so these are
    always allowed. `origins` are other sites that may call, as browsers write them; ``*`` is all.
    """

    names: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()

    def refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> str | None:
        """Return why a request with these headers is refused; None if it may pass."""
        hosts: list[bytes] = []
        origins: list[bytes] = []
        for name, value in headers:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                origins.append(value)
        host = hosts[0].decode("latin-1") if len(hosts) == 1 else ""
        if not self._allows_host(host):
            return f"Nothing is served under the name {shorten(host)}."
        for origin in origins:
            if not self._allows_origin(origin.decode("latin-1"), host):
                return f"Calls from {shorten(origin.decode('latin-1'))} are not accepted."
        return None

    def _allows_host(self, text: str) -> bool:
        match = _HOST.fullmatch(text)
        if match is None:
            return False
        name = match["host"].lower().removesuffix(".")
        return name in self.names or needs_no_permission(name)

    def _allows_origin(self, origin: str, host: str) -> bool:
        """Whether a page may call: its origin is listed, or has the host that the request names.

        Another port of this machine is another site. So is the other scheme of a listed origin:
        nothing else says which of the two schemes is ours.
        """
        if "*" in self.origins or origin.lower() in self.origins:
            return True
        authority = (origin_authority(origin) or "").lower()
        listed = {origin_authority(each) for each in self.origins}
        return authority == host.lower() and authority not in listed


def needs_no_permission(host: str) -> bool:
    """Whether no web site can point this host, given in lower case, at us.

    This is true of requests to the host alone: a page on another port of it need not be ours.
    """
    return host == "localhost" or _is_address(host)


def origin_authority(origin: str) -> str | None:
    """Return host and port of a browser's origin; None for an origin without them."""
    match = _ORIGIN.fullmatch(origin)
    return match["authority"] if match else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


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
    address = peer_address(text)
    if not isinstance(address, IPv6Address):
        return text if address is None else str(address)
    network = IPv6Address(int(address) >> _CLIENT_BITS << _CLIENT_BITS)
    return f"{network}/{_CLIENT_BITS}"


def peer_address(text: str) -> IPv4Address | IPv6Address | None:
    """Read the address of a peer; an IPv4 address that a socket maps to IPv6 is read as IPv4.

    None for what is not an address, such as the peer of a Unix socket.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
