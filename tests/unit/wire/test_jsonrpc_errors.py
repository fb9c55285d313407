"""JSON-RPC errors, names of methods, and how long a throttle asks to wait."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.wire.decoding import parse_retry_after
from dashboard.wire.jsonrpc import RpcError, store_rpc_error
from dashboard.wire.params import GET_STATUS, METHODS, SAVE_REJECTED, method_mistake


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

    assert "until its operator repairs it" in str(fault.data)
    assert "ops" not in str(fault)


def test_what_a_batch_asks_in_vain_is_to_be_asked_again_and_a_fault_of_ours_is_not() -> None:
    too_large, too_slow = RpcError.answer_too_large(), RpcError.batch_too_slow()

    assert too_large.code == too_slow.code == -32003
    assert too_large.data == too_slow.data == "ask for the rest in another batch"
    assert RpcError.internal_error().code == -32603
    assert RpcError.not_allowed().code == -32002


@pytest.mark.parametrize(
    ("methods", "may_report"),
    [(None, True), (None, False), ({SAVE_REJECTED}, True), ({GET_STATUS}, False), (METHODS, True)],
)
def test_methods_that_fit_are_taken(methods: set[str] | None, may_report: bool) -> None:  # noqa: FBT001 - a column of the table
    assert method_mistake(methods, may_report=may_report) is None


@pytest.mark.parametrize(
    ("methods", "may_report", "said"),
    [
        (set(), False, "is empty"),
        ({"eth_call"}, False, "holds 'eth_call', which is not a method: choose from "),
        ({"linea_getTransactionExclusionStatusV1"}, False, GET_STATUS),
        ({GET_STATUS}, True, f"leaves out {SAVE_REJECTED}"),
        ({SAVE_REJECTED}, False, f"holds {SAVE_REJECTED}, yet the key may not report"),
    ],
)
def test_methods_that_do_not_fit_are_told_with_the_way_out(
    methods: set[str],
    may_report: bool,  # noqa: FBT001 - a column of the table
    said: str,
) -> None:
    complaint = method_mistake(methods, may_report=may_report)

    assert complaint is not None
    assert said in complaint


NOON = "Fri, 20 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("text", "date", "wait"),
    [
        ("120", "", timedelta(minutes=2)),
        (" 0 ", NOON, timedelta()),
        ("9" * 400, NOON, timedelta(minutes=5)),
        ("Fri, 20 Nov 2026 12:00:30 GMT", NOON, timedelta(seconds=30)),
        ("Fri, 20 Nov 2026 11:59:30 GMT", NOON, timedelta()),
        ("Fri, 20 Nov 2099 11:59:30 GMT", NOON, timedelta(minutes=5)),
        ("Fri, 20 Nov 2026 12:00:30 GMT", "", None),
        ("Fri, 20 Nov 2026 12:00:30", NOON, None),
        ("soon", NOON, None),
        ("\u0661\u0662", NOON, None),
        ("", NOON, None),
    ],
)
def test_wait_is_read_in_each_form(text: str, date: str, wait: timedelta | None) -> None:
    assert parse_retry_after(text, date) == wait
