"""Which methods a key can be limited to, and which limits make no sense."""

from __future__ import annotations

import pytest

from dashboard.wire.method_names import GET_STATUS, METHODS, SAVE_REJECTED, method_mistake


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
        ({"eth_call"}, False, "holds 'eth_call', which is no method: choose from "),
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
