"""Error objects: what they say to a program, and what they never reveal."""

from __future__ import annotations

import pytest

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.wire.jsonrpc import RpcError, store_rpc_error


@pytest.mark.parametrize(
    ("allowed", "told"), [(None, None), (2.0, "2"), (0.5, "0.5")], ids=["none", "whole", "half"]
)
def test_rate_is_told_as_it_would_be_written(allowed: float | None, told: str | None) -> None:
    fault = RpcError.rate_exceeded(3, allowed)

    assert isinstance(fault.data, dict)
    rate = fault.data["allowed_rps"]
    assert fault.data["backoff_seconds"] == 3
    assert (None if rate is None else str(rate)) == told


def test_store_that_may_recover_lets_callers_try_again_and_says_not_where_it_is() -> None:
    fault = store_rpc_error(StoreUnavailable("/home/ops/linewatch.sqlite is locked"))

    assert fault.code == -32000
    assert "try again later" in str(fault.data)
    assert "ops" not in str(fault)


def test_store_that_is_broken_waits_for_its_operator() -> None:
    fault = store_rpc_error(StoreError("/home/ops/linewatch.sqlite is damaged"))

    assert "until its operator mends it" in str(fault.data)
    assert "ops" not in str(fault)


def test_what_a_batch_asks_in_vain_is_to_be_asked_again_and_a_fault_of_ours_is_not() -> None:
    too_large, too_slow = RpcError.answer_too_large(), RpcError.batch_too_slow()

    assert too_large.code == too_slow.code == -32003
    assert too_large.data == too_slow.data == "ask for the rest in another batch"
    assert RpcError.internal_error().code == -32603
    assert RpcError.not_allowed().code == -32002
