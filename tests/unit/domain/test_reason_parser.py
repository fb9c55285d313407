"""Reason messages: every known form is read and said in plain words, others are kept whole."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.rejections.line_limits import ModuleLimits
from dashboard.domain.rejections.reasons import ReasonKind, explain, overrun, parse_reason
from tests.golden_texts import GoldenTexts
from tests.recorded import recorded

HASH: Final = f"0x{'ab' * 32}"
OVER: Final = ReasonKind.OVER_LIMIT
TABLE: Final = ModuleLimits("Linea mainnet", "2026-05-12", "public", {"MMU": 2097152, "RIP": 0})


@pytest.mark.parametrize(
    ("text", "kind", "module", "count", "limit"),
    [
        (
            f"Transaction {HASH} line count for module EXT=1310720 is above the limit 1048576",
            OVER,
            "EXT",
            1310720,
            1048576,
        ),
        (
            "Transaction line count for module ADD=600000 is above the limit 524288",
            OVER,
            "ADD",
            600000,
            524288,
        ),
        (
            "Transaction line count for module PRECOMPILE_RIPEMD_BLOCKS=1 is above the limit 0",
            OVER,
            "PRECOMPILE_RIPEMD_BLOCKS",
            1,
            0,
        ),
        ("TX_MODULE_LINE_COUNT_OVERFLOW(MMU)", OVER, "MMU", None, None),
        ("TX_MODULE_LINE_COUNT_OVERFLOW (MMU)", OVER, "MMU", None, None),
        ("TX_MODULE_LINE_COUNT_OVERFLOW_CACHED(MMU)", OVER, "MMU", None, None),
        ("TX_MODULE_LINE_COUNT_OVERFLOW", OVER, None, None, None),
        ("TX_MODULE_LINE_COUNT_OVERFLOW_CACHED", OVER, None, None, None),
        (
            f"Transaction {HASH} was already identified to go over line count limit",
            OVER,
            None,
            None,
            None,
        ),
        (
            "Module EXT_V9 does not exist in the limits file.",
            ReasonKind.MODULE_UNDEFINED,
            "EXT_V9",
            None,
            None,
        ),
        (
            "Internal Error: do not know what to do with result: INVALID_LINE_COUNT",
            ReasonKind.INVALID_COUNT,
            None,
            None,
            None,
        ),
    ],
)
def test_reason_of_a_known_form_is_read(
    text: str, kind: ReasonKind, module: str | None, count: int | None, limit: int | None
) -> None:
    reason = parse_reason(text)

    assert (reason.kind, reason.module, reason.count, reason.limit) == (kind, module, count, limit)
    assert reason.text == text


@pytest.mark.parametrize(
    ("text", "is_cached"),
    [
        ("TX_MODULE_LINE_COUNT_OVERFLOW_CACHED", True),
        ("TX_MODULE_LINE_COUNT_OVERFLOW_CACHED(MMU)", True),
        (f"Transaction {HASH} was already identified to go over line count limit", True),
        ("TX_MODULE_LINE_COUNT_OVERFLOW", False),
    ],
)
def test_reason_of_a_remembered_check_is_cached(text: str, *, is_cached: bool) -> None:
    assert parse_reason(text).is_cached is is_cached


@pytest.mark.parametrize("name", ["rpc_stage", "p2p_stage", "sequencer_stage"])
def test_recorded_reason_is_known(name: str) -> None:
    text = recorded(f"exclusion_get_response_{name}")["result"]["reasonMessage"]

    assert parse_reason(text).kind is not ReasonKind.UNPARSED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Gas price too low today",
        "tx_module_line_count_overflow(MMU)",
        "TX_MODULE_LINE_COUNT_OVERFLOW()",
        "TX_MODULE_LINE_COUNT_OVERFLOW(MMU) and more",
        "TX_MODULE_LINE_COUNT_OVERFLOW(MMU)\n",
        "TX_MODULE_LINE_COUNT_OVERFLOW(<script>)",
        "TX_MODULE_LINE_COUNT_OVERFLOW(ÄÖ)",
        f"TX_MODULE_LINE_COUNT_OVERFLOW({'M' * 65})",
        "Transaction line count for module ADD=-1 is above the limit 1",
        "Transaction line count for module ADD=1e9 is above the limit 1",
        f"Transaction line count for module ADD={'9' * 21} is above the limit 1",
        "Transaction 0x12 line count for module ADD=2 is above the limit 1",
        "Module EXT_V9 does not exist in the limits file",
        "x" * 1024,
    ],
    ids=range(15),
)
def test_reason_of_another_form_is_kept_whole(text: str) -> None:
    reason = parse_reason(text)

    assert (reason.kind, reason.text, reason.module) == (ReasonKind.UNPARSED, text, None)


@pytest.mark.parametrize("memory", ["", "_CACHED"])
def test_limit_that_a_reason_lacks_is_looked_up(memory: str) -> None:
    reason = parse_reason(f"TX_MODULE_LINE_COUNT_OVERFLOW{memory}(MMU)", TABLE)

    assert (reason.limit, reason.limit_from) == (2097152, "Linea mainnet, 2026-05-12")
    assert overrun(reason) is None


@pytest.mark.parametrize(
    "text",
    [
        "TX_MODULE_LINE_COUNT_OVERFLOW(ADD)",
        "TX_MODULE_LINE_COUNT_OVERFLOW",
        "Module MMU does not exist in the limits file.",
        "Gas price too low",
        "who knows",
    ],
)
def test_limit_that_no_table_tells_stays_unknown(text: str) -> None:
    assert parse_reason(text, TABLE) == parse_reason(text)


def test_limit_that_a_reason_names_is_taken_before_any_table() -> None:
    reason = parse_reason("Transaction line count for module MMU=3 is above the limit 2", TABLE)

    assert (reason.limit, reason.limit_from) == (2, None)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Transaction line count for module ADD=3 is above the limit 2", 1.5),
        ("Transaction line count for module ADD=3 is above the limit 0", None),
        ("TX_MODULE_LINE_COUNT_OVERFLOW(ADD)", None),
        ("unknown", None),
    ],
)
def test_overrun_is_the_count_by_the_limit_where_both_are_known(
    text: str, share: float | None
) -> None:
    assert overrun(parse_reason(text)) == share


EXPLAINED = (
    "Transaction line count for module EXT=1310720 is above the limit 1048576",
    "Transaction line count for module RIP=1 is above the limit 0",
    "TX_MODULE_LINE_COUNT_OVERFLOW(MMU)",
    "TX_MODULE_LINE_COUNT_OVERFLOW_CACHED",
    "TX_MODULE_LINE_COUNT_OVERFLOW_CACHED(RIP)",
    "Module EXT_V9 does not exist in the limits file.",
    "Internal Error: do not know what to do with result: INVALID_LINE_COUNT",
    "Gas price is too low",
)


def test_reasons_are_explained_as_it_was_reviewed(golden: GoldenTexts) -> None:
    texts = {
        **{text: explain(parse_reason(text)) for text in EXPLAINED},
        **{f"{text}, with a table": explain(parse_reason(text, TABLE)) for text in EXPLAINED},
    }

    golden.check("reasons_explained", texts)


@given(
    st.text()
    | st.builds(
        "Transaction line count for module {}={} is above the limit {}".format,
        st.text(max_size=10),
        st.integers(-1, 10**22),
        st.integers(-1, 10**22),
    )
    | st.builds("TX_MODULE_LINE_COUNT_OVERFLOW({})".format, st.text(max_size=10))
)
def test_any_reason_is_read_and_explained_in_plain_ascii(text: str) -> None:
    reason = parse_reason(text)

    assert reason.text == text
    assert explain(reason).isascii()
    assert not set(explain(reason)) & set("<>&\"'\n")
