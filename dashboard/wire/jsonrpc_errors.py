"""Faults of JSON-RPC: the error object of a reply, and the codes that the exclusion API uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from msgspec import UNSET, UnsetType

from dashboard.errors import StoreError, StoreUnavailable


@dataclass(frozen=True, slots=True)
class RpcError:
    """The error object of a reply; codes and messages as the exclusion API sends them."""

    code: int
    message: str
    data: Any | UnsetType = UNSET

    @classmethod
    def parse_error(cls) -> Self:
        """Answer text that is no JSON."""
        return cls(-32700, "Parse error")

    @classmethod
    def invalid_request(cls, detail: str | UnsetType = UNSET) -> Self:
        """Answer JSON that is no request; `detail` says why."""
        return cls(-32600, "Invalid Request", detail)

    @classmethod
    def method_not_found(cls, name: str) -> Self:
        """Name a method that is not served."""
        return cls(-32601, "Method not found", name)

    @classmethod
    def invalid_params(cls, message: str) -> Self:
        """Answer params that the method cannot use; `message` is the text of a WireError."""
        return cls(-32602, message)

    @classmethod
    def not_allowed(cls) -> Self:
        """Refuse what the caller's key does not open."""
        return cls(-32002, "rejected due to project ID settings")

    @classmethod
    def rate_exceeded(cls, seconds: int, allowed: float | None) -> Self:
        """Refuse calls that came too fast; `allowed` is the key's rate in calls a second.

        None where the address has no right key, and so no rate. Whole rates are whole numbers.
        """
        whole = None if allowed is None or allowed % 1 else int(allowed)
        data = {"backoff_seconds": seconds, "allowed_rps": allowed if whole is None else whole}
        return cls(-32005, "project ID request rate exceeded", data)

    @classmethod
    def server_error(cls, detail: str) -> Self:
        """Tell what keeps the store from doing it now."""
        return cls(-32000, "Server error", detail)

    @classmethod
    def answer_too_large(cls) -> Self:
        """Refuse, as geth does, what is asked after a batch's answer has become too large."""
        return cls(-32003, "response too large", "ask for the rest in another batch")

    @classmethod
    def batch_too_slow(cls) -> Self:
        """Refuse what is asked after a batch has kept the store busy for too long."""
        return cls(-32003, "batch takes too long", "ask for the rest in another batch")

    @classmethod
    def internal_error(cls) -> Self:
        """Own up to a fault of ours."""
        return cls(-32603, "Internal error")


def store_rpc_error(error: StoreError) -> RpcError:
    """Tell a caller whether to try again; where the store is and what ails it, the log tells."""
    if isinstance(error, StoreUnavailable):
        remedy = "The store cannot be used now, and nothing was saved: try again later"
    else:
        remedy = "The store cannot be used until its operator mends it, and nothing was saved"
    return RpcError.server_error(remedy)
