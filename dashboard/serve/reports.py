"""What nodes report: each is acknowledged when it is on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboard.domain.exclusion import RejectionReport
from dashboard.domain.quantity import NetworkId
from dashboard.errors import WireError
from dashboard.serve.jsonrpc import Outcome
from dashboard.serve.keys import ApiKey
from dashboard.serve.services import ServeServices
from dashboard.store.rejections import save_report
from dashboard.wire.exclusion import decode_report, encode_saved
from dashboard.wire.jsonrpc import RpcFault


class Reports:
    """Keeps what nodes report."""

    def __init__(self, services: ServeServices) -> None:
        """Keep reports in the store and for the networks of `services`."""
        self._services = services
        self._home_of_old_reports = next(
            (net.network_id for net in services.networks if net.is_default_for_old_reports), None
        )

    def save(self, calls: Sequence[Any], caller: ApiKey) -> list[Outcome]:
        """Keep reports in one transaction: each is acknowledged when all of them are on disk."""
        if not caller.may_report:
            return [RpcFault.not_allowed()] * len(calls)
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
