"""The two exclusion methods under every brand: what a node reports, and what anybody asks."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.serve.rpc.dispatch import AnyMethod, AsyncMethod
from dashboard.serve.rpc.lookups import Lookups
from dashboard.serve.rpc.reports import Reports
from dashboard.serve.services import ServeServices
from dashboard.wire.exclusion import GET_STATUS, SAVE_REJECTED, method_name


def exclusion_methods(services: ServeServices, lookups: Lookups) -> Mapping[str, AnyMethod]:
    """Return both methods by their full names."""
    get = AsyncMethod(lookups.statuses)
    save = AsyncMethod(Reports(services).save)
    return {
        method_name(prefix, name): method
        for prefix in services.method_prefixes
        for name, method in ((GET_STATUS, get), (SAVE_REJECTED, save))
    }
