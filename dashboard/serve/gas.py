"""The gas API: four operations of each followed network, read from replies kept ready."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from starlette.responses import Response

from dashboard.domain.clock import Clock
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.serve.following import GasReplies, NetworkFees
from dashboard.serve.keys import ApiKey
from dashboard.wire.gas import encode_error

OPERATIONS: Final = frozenset(
    {
        Operation.SUGGESTED_GAS_FEES,
        Operation.BASE_FEE_HISTORY,
        Operation.BASE_FEE_PERCENTILE,
        Operation.BUSY_THRESHOLD,
    }
)

_CHAIN_ID = re.compile(r"0|[1-9][0-9]{0,19}", re.ASCII)
_WITH_EMPTY_SEGMENT: Final = 3


class GasApi:
    """Answers what stands after ``/networks/`` for a caller whose key was already checked."""

    def __init__(
        self, fees: Mapping[NetworkId, NetworkFees], clock: Clock, oldest: timedelta
    ) -> None:
        """Tell the fees of these networks, at most `oldest` after their node last answered."""
        self._fees = fees
        self._clock = clock
        self._oldest = oldest

    def answer(self, rest: Sequence[str], caller: ApiKey) -> Response:
        """Answer ``<network_id>/<operation>``, given as its segments."""
        network_text, operation = _network_and_operation(rest)
        if operation not in OPERATIONS:
            known = ", ".join(sorted(OPERATIONS))
            return status_error(
                404, f"{shorten(operation)} is not an operation; there are {known}."
            )
        network = self._network(network_text, caller)
        if network is None:
            return status_error(400, f"{shorten(network_text)} is not a supported chain id.")
        replies = self._recent_replies(network)
        if replies is None:
            msg = f"The node of {network.name} does not answer and no recent fees are held."
            return status_error(503, msg, {"Retry-After": "5"})
        return Response(replies.bodies[operation], headers=_headers(replies.block_time))

    def _network(self, text: str, caller: ApiKey) -> NetworkFees | None:
        if not _CHAIN_ID.fullmatch(text):
            return None
        network_id = NetworkId(int(text))
        return self._fees.get(network_id) if caller.opens(network_id) else None

    def _recent_replies(self, network: NetworkFees) -> GasReplies | None:
        replies = network.replies
        if replies is None or self._clock() - replies.read_at > self._oldest:
            return None
        return replies


def status_error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as the gas API has them and as every address but the RPC's answers."""
    return Response(
        encode_error(status, message),
        status_code=status,
        media_type="application/json",
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def _network_and_operation(rest: Sequence[str]) -> tuple[str, str]:
    """Split the segments; clients are seen to send ``/networks//1/busyThreshold`` too."""
    if len(rest) == _WITH_EMPTY_SEGMENT and not rest[0]:
        rest = rest[1:]
    return (rest[0] if rest else ""), "/".join(rest[1:])


def _headers(block_time: timedelta) -> dict[str, str]:
    seconds = max(1, math.floor(block_time.total_seconds()))
    return {"Content-Type": "application/json", "Cache-Control": f"max-age={seconds}"}
