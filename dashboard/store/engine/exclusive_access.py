"""What whoever wants a store for himself is told while others use it."""

from __future__ import annotations

from dashboard.errors import StoreUnavailable


def in_use(name: str) -> StoreUnavailable:
    """Name the remedy."""
    return StoreUnavailable(
        f"{name} is in use: stop everything of this installation that runs (up, worker, serve, "
        "pages, devnet) and try again"
    )
