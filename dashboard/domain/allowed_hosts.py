"""Which hosts and origins a request may name, against DNS rebinding."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from dashboard.domain.ip_addresses import ip_address_of
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
    bare = host.removeprefix("[").removesuffix("]")
    return host == "localhost" or ip_address_of(bare) is not None


def origin_authority(origin: str) -> str | None:
    """Return host and port of a browser's origin; None for an origin without them."""
    match = _ORIGIN.fullmatch(origin)
    return match["authority"] if match else None
