"""All that the RPC serves, by full names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.errors import WireError
from dashboard.serve.dependencies import ServeServices
from dashboard.serve.documents.openrpc import DISCOVER, openrpc_document
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.rpc.dispatch import AnyMethod, AsyncMethod, Outcome
from dashboard.serve.rpc.exclusion_status import Lookups
from dashboard.serve.rpc.rejection_queries import COUNT, LIST, VERSIONS, Archive
from dashboard.serve.rpc.reports import Reports
from dashboard.serve.rpc.subscribe import SUBSCRIBE, UNSUBSCRIBE, Subscriptions
from dashboard.wire.exclusion import GET_STATUS, SAVE_REJECTED, method_name
from dashboard.wire.jsonrpc_errors import RpcFault
from dashboard.wire.params import arguments_of


def served_methods(services: ServeServices, lookups: Lookups) -> Mapping[str, AnyMethod]:
    """Return the exclusion methods under every brand, and our own."""
    methods: dict[str, AnyMethod] = {
        **exclusion_methods(services, lookups),
        **Archive(services).methods(),
        **Subscriptions(services).methods(),
    }
    return {**methods, DISCOVER: AsyncMethod(_Discovery(document_of(services)))}


def document_of(services: ServeServices) -> bytes:
    """Return the OpenRPC document of all that is served."""
    exclusion = (
        method_name(prefix, name)
        for prefix in services.method_prefixes
        for name in (GET_STATUS, SAVE_REJECTED)
    )
    return openrpc_document([*exclusion, LIST, VERSIONS, COUNT, SUBSCRIBE, UNSUBSCRIBE, DISCOVER])


class _Discovery:
    """Answers what is served."""

    def __init__(self, document: bytes) -> None:
        self._document = document

    async def __call__(self, calls: Sequence[Any], _caller: ApiKey) -> list[Outcome]:
        return [self._answer(params) for params in calls]

    def _answer(self, params: object) -> Outcome:
        try:
            arguments_of(params, ())
        except WireError as error:
            return RpcFault.invalid_params(str(error))
        return self._document


def exclusion_methods(services: ServeServices, lookups: Lookups) -> Mapping[str, AnyMethod]:
    """Return both methods by their full names."""
    get = AsyncMethod(lookups.statuses)
    save = AsyncMethod(Reports(services).save)
    return {
        method_name(prefix, name): method
        for prefix in services.method_prefixes
        for name, method in ((GET_STATUS, get), (SAVE_REJECTED, save))
    }
