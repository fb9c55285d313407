"""The two exclusion methods under every brand: what a node reports, and what anybody asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from anyio import CapacityLimiter

from dashboard.serve.jsonrpc import AnyMethod, AsyncMethod, Method
from dashboard.serve.lookups import Lookups
from dashboard.serve.reports import Reports
from dashboard.serve.services import ServeServices
from dashboard.wire.exclusion import GET_STATUS, SAVE_REJECTED, method_name

_READERS: Final = 16


def exclusion_methods(services: ServeServices) -> Mapping[str, AnyMethod]:
    """Return both methods by their full names."""
    get = Method(Lookups(services).statuses, CapacityLimiter(_READERS))
    save = AsyncMethod(Reports(services).save)
    return {
        method_name(prefix, name): method
        for prefix in services.method_prefixes
        for name, method in ((GET_STATUS, get), (SAVE_REJECTED, save))
    }
