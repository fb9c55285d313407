"""The gas API: four operations of each followed network, read from replies kept ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from starlette.responses import Response

from dashboard.domain.clock import Clock
from dashboard.domain.observation import FEE_OPERATIONS
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.serve.gas.followed_networks import FollowedNetwork
from dashboard.serve.http_reply import HttpReply
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.wire.gas import encode_error

_NO_NETWORK: Final = (NetworkId(0), None)
_WITH_EMPTY_SEGMENT: Final = 3


class GasApi:
    """Answers what follows ``/networks/`` in a path, for callers that are authenticated."""

    def __init__(
        self, fees: Mapping[NetworkId, FollowedNetwork], clock: Clock, oldest: timedelta
    ) -> None:
        """Serve the fees of these networks until `oldest` after their node last answered."""
        self._fees = {str(network_id): (network_id, each) for network_id, each in fees.items()}
        self._clock = clock
        self._oldest = oldest

    def answer(self, rest: Sequence[str], caller: ApiKey) -> Response | HttpReply:
        """Answer ``<network_id>/<operation>``, given as its segments."""
        network_text, operation = _network_and_operation(rest)
        if operation not in FEE_OPERATIONS:
            known = ", ".join(sorted(FEE_OPERATIONS))
            return status_error(
                404, f"{shorten(operation)} is not an operation; there are {known}."
            )
        network_id, network = self._fees.get(network_text, _NO_NETWORK)
        if network is None or not caller.opens(network_id):
            return status_error(400, f"{shorten(network_text)} is not a supported chain id.")
        replies = network.replies
        if replies is None or self._clock() - replies.read_at > self._oldest:
            return _unavailable(network)
        return replies.ready[operation]


def _unavailable(network: FollowedNetwork) -> Response:
    """Refuse for lack of recent fees; the client may try again after about the next poll."""
    if network.loading is not None:
        return status_error(503, network.loading, {"Retry-After": "1"})
    msg = f"The node of {network.name} does not answer and no recent fees are held."
    return status_error(503, msg, {"Retry-After": "5"})


def status_error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error in the form of every address but the RPC's."""
    return Response(
        encode_error(status, message),
        status_code=status,
        media_type="application/json",
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def _network_and_operation(rest: Sequence[str]) -> tuple[str, str]:
    """Split the segments; some clients send ``/networks//1/busyThreshold``."""
    if len(rest) == _WITH_EMPTY_SEGMENT and not rest[0]:
        rest = rest[1:]
    return (rest[0] if rest else ""), "/".join(rest[1:])
