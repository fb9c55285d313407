"""The methods of the RPC, by their full names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.errors import WireError
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.documents.openrpc import DISCOVER, openrpc_document
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.rpc.dispatch import AnyMethod, AsyncMethod, CallResult
from dashboard.serve.rpc.exclusion_status import StatusReader
from dashboard.serve.rpc.rejection_queries import COUNT, LIST, VERSIONS, RejectionQueries
from dashboard.serve.rpc.reports import ReportSaver
from dashboard.serve.rpc.subscribe import SUBSCRIBE, UNSUBSCRIBE, SubscribeMethods
from dashboard.wire.exclusion import GET_STATUS, SAVE_REJECTED, method_name
from dashboard.wire.jsonrpc_errors import RpcError
from dashboard.wire.params import named_arguments


def served_methods(
    dependencies: ServeDependencies, status_reader: StatusReader
) -> Mapping[str, AnyMethod]:
    """Return the exclusion methods under every prefix, and our own."""
    methods: dict[str, AnyMethod] = {
        **exclusion_methods(dependencies, status_reader),
        **RejectionQueries(dependencies).methods(),
        **SubscribeMethods(dependencies).methods(),
    }
    return {**methods, DISCOVER: AsyncMethod(_Discovery(document_of(dependencies)))}


def document_of(dependencies: ServeDependencies) -> bytes:
    """Return the OpenRPC document of all methods."""
    exclusion = (
        method_name(prefix, name)
        for prefix in dependencies.method_prefixes
        for name in (GET_STATUS, SAVE_REJECTED)
    )
    return openrpc_document([*exclusion, LIST, VERSIONS, COUNT, SUBSCRIBE, UNSUBSCRIBE, DISCOVER])


class _Discovery:
    """Answers `rpc.discover`."""

    def __init__(self, document: bytes) -> None:
        self._document = document

    async def __call__(self, calls: Sequence[Any], _caller: ApiKey) -> list[CallResult]:
        return [self._answer(params) for params in calls]

    def _answer(self, params: object) -> CallResult:
        try:
            named_arguments(params, ())
        except WireError as error:
            return RpcError.invalid_params(str(error))
        return self._document


def exclusion_methods(
    dependencies: ServeDependencies, status_reader: StatusReader
) -> Mapping[str, AnyMethod]:
    """Return the two exclusion methods under every prefix."""
    get = AsyncMethod(status_reader.statuses)
    save = AsyncMethod(ReportSaver(dependencies).save)
    return {
        method_name(prefix, name): method
        for prefix in dependencies.method_prefixes
        for name, method in ((GET_STATUS, get), (SAVE_REJECTED, save))
    }
