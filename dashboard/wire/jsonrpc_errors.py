"""Error objects of JSON-RPC replies, with the codes and messages of the exclusion API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from msgspec import UNSET, UnsetType

from dashboard.errors import StoreError, StoreUnavailable


@dataclass(frozen=True, slots=True)
class RpcError:
    """The error object of a reply; a value, not an exception."""

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
        """Answer a method that is not served."""
        return cls(-32601, "Method not found", name)

    @classmethod
    def invalid_params(cls, message: str) -> Self:
        """Answer wrong params; `message` is that of a WireError."""
        return cls(-32602, message)

    @classmethod
    def not_allowed(cls) -> Self:
        """Refuse a call that the key does not allow."""
        return cls(-32002, "rejected due to project ID settings")

    @classmethod
    def rate_exceeded(cls, seconds: int, allowed: float | None) -> Self:
        """Refuse calls that came too fast; `allowed` is the key's rate in calls a second.

        None where there is no valid key and so no rate. Whole rates are sent as whole numbers.
        """
        whole = None if allowed is None or allowed % 1 else int(allowed)
        data = {"backoff_seconds": seconds, "allowed_rps": allowed if whole is None else whole}
        return cls(-32005, "project ID request rate exceeded", data)

    @classmethod
    def server_error(cls, detail: str) -> Self:
        """Answer that the store cannot be used; `detail` says whether to try again."""
        return cls(-32000, "Server error", detail)

    @classmethod
    def answer_too_large(cls) -> Self:
        """Refuse a call after the batch's answer has become too large, as geth does."""
        return cls(-32003, "response too large", "ask for the rest in another batch")

    @classmethod
    def batch_too_slow(cls) -> Self:
        """Refuse a call after the batch has taken too long."""
        return cls(-32003, "batch takes too long", "ask for the rest in another batch")

    @classmethod
    def internal_error(cls) -> Self:
        """Answer where we made a mistake."""
        return cls(-32603, "Internal error")


def store_rpc_error(error: StoreError) -> RpcError:
    """Return the error for a caller: whether to try again; details are for the log alone."""
    if isinstance(error, StoreUnavailable):
        remedy = "The store cannot be used now, and nothing was saved: try again later"
    else:
        remedy = "The store cannot be used until its operator mends it, and nothing was saved"
    return RpcError.server_error(remedy)
