"""The two exclusion methods: what a node reports, and what anybody asks of one hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anyio import CapacityLimiter

from dashboard.domain.exclusion import RejectionReport
from dashboard.domain.quantity import NetworkId
from dashboard.errors import WireError
from dashboard.serve.jsonrpc import Method, Outcome
from dashboard.serve.keys import ApiKey
from dashboard.serve.services import ServeServices
from dashboard.store.rejections import save_report, visible
from dashboard.wire.exclusion import (
    GET_STATUS,
    SAVE_REJECTED,
    decode_hash_param,
    decode_report,
    encode_record,
    encode_saved,
    method_name,
)
from dashboard.wire.jsonrpc import RpcFault

_READERS = 16


class Exclusion:
    """Keeps what nodes report and answers what is on record."""

    def __init__(self, services: ServeServices) -> None:
        """Answer from the store and for the networks of `services`."""
        self._services = services
        self._home_of_old_reports = next(
            (net.network_id for net in services.networks if net.is_default_for_old_reports), None
        )

    def methods(self) -> Mapping[str, Method]:
        """Return both methods under every prefix.

        Saves run one after the other: the store has one writer, and waiting here is cheaper
        than waiting for its lock.
        """
        get = Method(self.statuses, CapacityLimiter(_READERS))
        save = Method(self.save, CapacityLimiter(1))
        return {
            method_name(prefix, name): method
            for prefix in self._services.method_prefixes
            for name, method in ((GET_STATUS, get), (SAVE_REJECTED, save))
        }

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

    def save(self, calls: Sequence[Any], caller: ApiKey) -> list[Outcome]:
        """Keep reports in one transaction: each is acknowledged when all of them are on disk."""
        decoded = [self._decode(params, caller) for params in calls]
        if all(isinstance(item, RpcFault) for item in decoded):
            return [item for item in decoded if isinstance(item, RpcFault)]
        now = self._services.clock()
        outcomes: list[Outcome] = []
        with self._services.store.write() as connection:
            for item in decoded:
                if isinstance(item, RpcFault):
                    outcomes.append(item)
                    continue
                report, network_id = item
                status = save_report(connection, report, network_id, now)
                outcomes.append(encode_saved(status, report.transaction.tx_hash))
        return outcomes

    def _decode(self, params: Any, caller: ApiKey) -> tuple[RejectionReport, NetworkId] | RpcFault:  # noqa: ANN401 - params are any JSON until decoded
        try:
            report = decode_report(params)
            return report, self._network_of(report, caller)
        except WireError as error:
            return RpcFault.invalid_params(str(error))

    def _network_of(self, report: RejectionReport, caller: ApiKey) -> NetworkId:
        """Return the network that the signed bytes name, or the home of old-style ones."""
        named = report.transaction.chain_id
        network_id = self._home_of_old_reports if named is None else named
        if network_id is None:
            msg = (
                "The transaction's signature names no chain id, "
                "and no default network is configured for such reports"
            )
            raise WireError(msg)
        if network_id not in self._services.networks_of(caller):
            msg = f"Unsupported network: the transaction's chain id {network_id} is not served here"
            raise WireError(msg)
        return network_id
