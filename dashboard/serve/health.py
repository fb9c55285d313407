"""Health: whether this process lives, and whether it can answer."""

from __future__ import annotations

from anyio import to_thread
from starlette.responses import JSONResponse, Response

from dashboard.domain.quantity import TxHash
from dashboard.errors import StoreError
from dashboard.serve.services import Follower, ServeServices
from dashboard.store.rejections import visible

_ANY_HASH = TxHash(bytes(TxHash.LENGTH))


def live() -> Response:
    """Answer that the process answers."""
    return JSONResponse({"status": "OK"})


async def ready(services: ServeServices) -> Response:
    """Answer 200 when the store can be read and each node was read lately, else 503 and why."""
    reasons = [
        reason
        for network in services.networks
        if network.follower and (reason := _trouble(network.name, network.follower, services))
    ]
    try:
        await to_thread.run_sync(_read_store, services)
    except StoreError as error:
        reasons.insert(0, f"The store cannot be read: {error}")
    if reasons:
        return JSONResponse({"status": "UNAVAILABLE", "reasons": reasons}, status_code=503)
    return JSONResponse({"status": "OK"})


def _trouble(name: str, follower: Follower, services: ServeServices) -> str | None:
    if follower.head is None or follower.read_at is None:
        return f"The node of {name} has not answered yet."
    age = services.clock() - follower.read_at
    if age > services.limits.oldest_fees:
        return f"The node of {name} last answered {age.total_seconds():.0f} s ago."
    return None


def _read_store(services: ServeServices) -> None:
    """Read as a question about a hash does."""
    with services.store.read() as connection:
        visible(connection, (), _ANY_HASH, services.clock())
