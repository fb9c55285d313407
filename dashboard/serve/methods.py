"""All that the RPC serves, by full names."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.serve.archive import Archive
from dashboard.serve.exclusion import exclusion_methods
from dashboard.serve.jsonrpc import AnyMethod
from dashboard.serve.services import ServeServices
from dashboard.serve.subscriptions import Subscriptions


def served_methods(services: ServeServices) -> Mapping[str, AnyMethod]:
    """Return the exclusion methods under every brand, and our own."""
    return {
        **exclusion_methods(services),
        **Archive(services).methods(),
        **Subscriptions(services).methods(),
    }
