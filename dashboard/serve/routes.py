"""The routes of serve: their paths, verbs, and names in logs and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

SCOPE_ROUTE: Final = "linewatch.route"
"""Where a request's ASGI scope holds the name of its route."""

SCOPE_CALLER: Final = "linewatch.caller"
"""Where a request's ASGI scope holds the name of the key that it came with."""

READING: Final = ("GET", "HEAD", "OPTIONS")
CALLING: Final = ("POST", "OPTIONS")


class Route(NamedTuple):
    """One pattern of paths; without verbs, nothing is served there.

    `name` has ``<key>`` in place of a key: nothing else of a path is ever logged.
    """

    name: str
    verbs: tuple[str, ...] = ()

    @property
    def allow(self) -> str:
        return ", ".join(self.verbs)


RPC: Final = Route("/v3/<key>", CALLING)
RPC_ELSEWHERE: Final = Route("/v3/<key>/…")
GAS_BY_KEY: Final = Route("/v3/<key>/networks", READING)
GAS_BY_BASIC: Final = Route("/networks", READING)
WEBSOCKET: Final = Route("/ws/v3/<key>", ("GET",))
LIVE: Final = Route("/live", READING)
READY: Final = Route("/ready", READING)
METRICS: Final = Route("/metrics", READING)
DOCUMENT: Final = Route("document", READING)
UNKNOWN: Final = Route("unknown")

PROBES: Final = (LIVE, READY, METRICS)
ALL: Final = (
    RPC,
    RPC_ELSEWHERE,
    GAS_BY_KEY,
    GAS_BY_BASIC,
    WEBSOCKET,
    LIVE,
    READY,
    METRICS,
    DOCUMENT,
    UNKNOWN,
)

_PLAIN: Final[Mapping[str, Route]] = {"live": LIVE, "ready": READY, "metrics": METRICS}
_RPC_SEGMENTS: Final = 2
_WEBSOCKET_SEGMENTS: Final = 3


def route_of(segments: Sequence[str]) -> Route:
    """Find the route of a path, given as the segments after its first slash."""
    first, count = segments[0], len(segments)
    if first == "v3":
        if count == _RPC_SEGMENTS:
            return RPC
        is_gas = count > _RPC_SEGMENTS and segments[_RPC_SEGMENTS] == "networks"
        return GAS_BY_KEY if is_gas else RPC_ELSEWHERE
    if first == "networks":
        return GAS_BY_BASIC
    if first == "ws" and count == _WEBSOCKET_SEGMENTS and segments[1] == "v3":
        return WEBSOCKET
    return _PLAIN.get(first, UNKNOWN) if count == 1 else UNKNOWN
