"""What anybody asks of one hash: its visible record, or null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboard.errors import WireError
from dashboard.serve.jsonrpc import Outcome
from dashboard.serve.keys import ApiKey
from dashboard.serve.services import ServeServices
from dashboard.store.rejections import visible
from dashboard.wire.exclusion import decode_hash_param, encode_record
from dashboard.wire.jsonrpc import RpcFault


class Lookups:
    """Answers what is on record."""

    def __init__(self, services: ServeServices) -> None:
        """Answer from the store and for the networks of `services`."""
        self._services = services

    def statuses(self, calls: Sequence[Any], caller: ApiKey) -> list[Outcome]:
        """Tell what is on record of each hash, on the networks that the caller's key opens."""
        networks = self._services.networks_of(caller)
        now = self._services.clock()
        outcomes: list[Outcome] = []
        with self._services.store.read() as connection:
            for params in calls:
                try:
                    tx_hash = decode_hash_param(params)
                except WireError as error:
                    outcomes.append(RpcFault.invalid_params(str(error)))
                else:
                    outcomes.append(encode_record(visible(connection, networks, tx_hash, now)))
        return outcomes
