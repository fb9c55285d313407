"""The gas API: four operations of one network, asked with either form of credentials."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from msgspec import Struct

from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId
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

_DECODERS: Final[Mapping[Operation, Callable[[bytes], Any]]] = {
    Operation.SUGGESTED_GAS_FEES: decode_suggested_gas_fees,
    Operation.BASE_FEE_HISTORY: decode_base_fee_history,
    Operation.BASE_FEE_PERCENTILE: decode_base_fee_percentile,
    Operation.BUSY_THRESHOLD: decode_busy_threshold,
}


class PathKey(Struct, frozen=True):
    """An API key in the path."""

    key: Secret


class BasicKey(Struct, frozen=True):
    """An API key and its secret, sent by HTTP Basic authentication."""

    key: Secret
    secret: Secret


Credentials: TypeAlias = PathKey | BasicKey


class GasClient:
    """Asks the gas API about one network."""

    def __init__(self, asker: HttpAsker, network_id: NetworkId, credentials: Credentials) -> None:
        self._asker = asker
        self._credentials = credentials
        self._path = f"{_path_key(credentials)}networks/{network_id}"
        self._headers = _headers(credentials)

    async def ask(self, operation: Operation) -> Any:  # noqa: ANN401 - each operation has its own answer
        """Return the answer; a history has no block numbers. Raises UpstreamError."""
        path, charge = f"{self._path}/{operation}", Charge(operation, is_fee=True)
        body = await self._asker.get(path, self._headers, body_limit(1), charge)
        try:
            return _DECODERS[operation](body)
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
