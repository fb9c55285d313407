"""The gas API: four operations of one network, asked with either form of credentials."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar
from urllib.parse import quote

from dashboard.domain.fees.gas import SuggestedGasFees
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.secret import Secret
from dashboard.errors import WireError
from dashboard.upstream.endpoint import Charge, body_limit, unreadable
from dashboard.upstream.http import HttpAsker
from dashboard.wire.gas import (
    decode_base_fee_history,
    decode_base_fee_percentile,
    decode_busy_threshold,
    decode_suggested_gas_fees,
)

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class PathKey:
    """An API key that stands in the path."""

    key: Secret


@dataclass(frozen=True, slots=True)
class BasicKey:
    """An API key and its secret, sent by HTTP Basic."""

    key: Secret
    secret: Secret


Credentials: TypeAlias = PathKey | BasicKey


class GasClient:
    """Asks the gas API about one network; every method raises UpstreamError."""

    def __init__(self, asker: HttpAsker, network_id: NetworkId, credentials: Credentials) -> None:
        """Prepare the path and headers that every question has in common."""
        self._asker = asker
        self._credentials = credentials
        self._path = f"{_path_key(credentials)}networks/{network_id}"
        self._headers = _headers(credentials)

    async def suggested_gas_fees(self) -> SuggestedGasFees:
        """Return the fees suggested for the next blocks."""
        return await self._ask(Operation.SUGGESTED_GAS_FEES, decode_suggested_gas_fees)

    async def base_fee_history(self) -> tuple[Wei, ...]:
        """Return the base fees of the last blocks as sent; the API names no block numbers."""
        return await self._ask(Operation.BASE_FEE_HISTORY, decode_base_fee_history)

    async def base_fee_percentile(self) -> Wei:
        """Return the base fee that half of the past blocks did not exceed."""
        return await self._ask(Operation.BASE_FEE_PERCENTILE, decode_base_fee_percentile)

    async def busy_threshold(self) -> Wei:
        """Return the base fee strictly above which the network counts as busy."""
        return await self._ask(Operation.BUSY_THRESHOLD, decode_busy_threshold)

    async def _ask(self, operation: Operation, decode: Callable[[bytes], Answer]) -> Answer:
        path, charge = f"{self._path}/{operation}", Charge(operation)
        body = await self._asker.get(path, self._headers, body_limit(1), charge)
        try:
            return decode(body)
        except WireError as error:
            raise unreadable(self._asker.endpoint, error, _secrets(self._credentials)) from None


def _path_key(credentials: Credentials) -> str:
    match credentials:
        case PathKey(key):
            return f"v3/{quote(key.reveal(), safe='')}/"
        case BasicKey():
            return ""


def _headers(credentials: Credentials) -> dict[str, str]:
    match credentials:
        case PathKey():
            return {}
        case BasicKey(key, secret):
            pair = f"{key.reveal()}:{secret.reveal()}".encode()
            return {"Authorization": f"Basic {b64encode(pair).decode()}"}


def _secrets(credentials: Credentials) -> tuple[str, ...]:
    match credentials:
        case PathKey(key):
            return (key.reveal(), quote(key.reveal(), safe=""))
        case BasicKey(key, secret):
            return (key.reveal(), secret.reveal(), *_headers(credentials).values())
