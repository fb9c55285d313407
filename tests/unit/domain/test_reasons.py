"""Reasons in words: their names, modules and limits, the rules of nodes, and what to do."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.advice import advise
from dashboard.domain.rejections.exclusion import (
    WIRE_STAGES,
    EndedLimits,
    ModuleOverflow,
    RejectedTransaction,
    RejectionReport,
    RejectionStage,
    SaveStatus,
    SignedTransaction,
)
from dashboard.domain.rejections.line_limits import LimitsEnd, LineLimits, ModuleLimits
from dashboard.domain.rejections.node_rule_messages import NodeRule, beginnings_of, words_of
from dashboard.domain.rejections.reasons import (
    KNOWN_MODULES,
    ReasonKind,
    explain,
    in_brief,
    name_of,
    parse_reason,
    purpose_of,
)
from dashboard.domain.tracking.inclusion import FollowUp
from tests.builders import A_MOMENT, a_rejection, seconds
from tests.golden_texts import GoldenTexts


@pytest.mark.parametrize(
    ("kind", "module", "name"),
    [
        (ReasonKind.OVER_LIMIT, "HUB", "HUB"),
        (ReasonKind.OVER_LIMIT, None, "module not named"),
        (ReasonKind.MODULE_UNDEFINED, None, "module undefined"),
    ],
)
def test_reason_is_named_by_its_module_or_else_by_its_kind(
    kind: ReasonKind, module: str | None, name: str
) -> None:
    assert name_of((kind, module)) == name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Transaction line count for module HUB=9 is above the limit 2", "HUB over limit"),
        (
            "Transaction line count for module BLAKE=9 is above the limit 0",
            "BLAKE over limit 0",
        ),
        ("TX_MODULE_LINE_COUNT_OVERFLOW", "over a line limit"),
        ("Module BIN does not exist in the limits file.", "BIN missing from the limits file"),
        ("Gas price too low", "a rule other than a line limit"),
        ("", "no reason given"),
        ("<b>", "unknown reason"),
    ],
)
def test_reason_is_said_in_brief(text: str, said: str) -> None:
    assert in_brief(parse_reason(text)) == said


def test_purpose_names_the_operations_that_take_lines() -> None:
    assert purpose_of("MOD") == "divisions and remainders (DIV, MOD, SDIV, SMOD)"
    assert purpose_of("MADE_UP") is None


def test_each_module_with_a_purpose_is_one_that_nodes_limit() -> None:
    table = Path(__file__).parents[3] / "config" / "module_limits" / "linea-dev-v4.4.toml"

    limits = tomllib.loads(table.read_text(encoding="utf-8"))["traces-limits"]

    assert limits.keys() >= {*KNOWN_MODULES}


def test_table_of_limits_can_be_part_of_a_key() -> None:
    one, same, other = (
        ModuleLimits("mainnet", "v1", "a file", {"HUB": limit}) for limit in (8, 8, 9)
    )

    assert {one: "kept"}[same] == "kept"
    assert one != other


def test_rejection_is_read_by_the_table_that_held_when_it_is_dated() -> None:
    change, end = A_MOMENT, A_MOMENT + timedelta(days=1)
    first = ModuleLimits("first", "", "", {"MMU": 1}, until=change)
    second = ModuleLimits("second", "", "", {"MMU": 2}, since=change)
    limits = LineLimits((first, second), LimitsEnd(end))

    found = [limits.at(at) for at in (change - seconds(1), change, end - seconds(1), end)]

    assert found == [first, second, second, None]
    assert second.title == "second, from 2026-11-20"


def test_end_of_limits_is_announced_a_week_before_and_said_after(golden: GoldenTexts) -> None:
    day = timedelta(days=1)
    timed, block = LimitsEnd(A_MOMENT), LimitsEnd(A_MOMENT, 31_000_000, is_expected=True)
    cases = {
        "more than a week before": (timed, -8 * day),
        "a week before": (timed, -7 * day),
        "then": (timed, timedelta()),
        "a block that is expected": (block, -day),
        "a block that is overdue": (block, timedelta()),
        "a block that came": (LimitsEnd(A_MOMENT, 31_000_000), day),
        "a block of which nothing is known": (LimitsEnd(block_number=31_000_000), day),
    }

    said = {name: end.in_words(A_MOMENT + after) for name, (end, after) in cases.items()}

    golden.check("end_of_limits", said)


MMU_OVER = "Transaction line count for module MMU=2163904 is above the limit 2097152"
RIPEMD = "Transaction line count for module PRECOMPILE_RIPEMD_BLOCKS=1 is above the limit 0"


ADVISED = (
    MMU_OVER,
    "TX_MODULE_LINE_COUNT_OVERFLOW(MMU)",
    RIPEMD,
    "Module XYZ does not exist in the limits file.",
    "TX_MODULE_LINE_COUNT_OVERFLOW_CACHED(MMU)",
    "Gas price too low",
    "<b>who knows</b>",
)


def test_advice_reads_as_it_was_reviewed(golden: GoldenTexts) -> None:
    table = ModuleLimits("own", "1", "own", {"RIP": 0})
    barred = parse_reason("TX_MODULE_LINE_COUNT_OVERFLOW(RIP)", table)
    over = parse_reason(MMU_OVER)
    advice = {
        **{text: advise(parse_reason(text), 7) for text in ADVISED},
        "an operation that a table bars": advise(barred, 7),
        "the largest nonce": advise(over, 2**64 - 2),
        **{
            f"after line limits ended, in spite {is_in_spite}": advise(
                over, 7, limits=EndedLimits(A_MOMENT, is_in_spite)
            )
            for is_in_spite in (False, True)
        },
        "another rule after line limits ended": advise(
            parse_reason("Gas price too low"), 7, limits=EndedLimits(A_MOMENT, is_in_spite=True)
        ),
        **{
            f"nonce 7 while the node expects {nonce or 'nobody knows which'}": advise(
                over, 7, FollowUp(A_MOMENT, next_nonce=nonce)
            )
            for nonce in (None, 5, 7, 8)
        },
    }

    golden.check("advice", advice)


def test_advice_never_repeats_foreign_text() -> None:
    assert not any("who knows" in step for step in advise(parse_reason("<b>who knows</b>"), 7))


ACCOUNT: Final = f"0x{'cd' * 20}"
LISTED: Final = "is blocked as appearing on the SDN or other legally prohibited list"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Gas price too low", NodeRule.FEE),
        ("TX_UNPROFITABLE", NodeRule.FEE),
        ("TX_UNPROFITABLE_UPFRONT", NodeRule.FEE),
        ("Calldata of transaction is greater than the allowed max of 60000", NodeRule.CALLDATA),
        ("Gas limit of transaction is greater than the allowed max of 24000000", NodeRule.GAS),
        ("TX_GAS_EXCEEDS_USER_MAX_BLOCK_GAS", NodeRule.GAS),
        (
            "destination address is a precompile address and cannot receive transactions",
            NodeRule.PRECOMPILE,
        ),
        ("TransactionTypeValidation - BLOB_TX_NOT_ALLOWED", NodeRule.TYPE),
        ("TransactionTypeValidation - DELEGATE_CODE_TX_NOT_ALLOWED", NodeRule.TYPE),
        (f"sender {ACCOUNT} {LISTED}", NodeRule.DENIED),
        (f"recipient {ACCOUNT} {LISTED}", NodeRule.DENIED),
        (f"authorization authority {ACCOUNT} {LISTED}", NodeRule.DENIED),
        (f"authorization address {ACCOUNT} {LISTED}", NodeRule.DENIED),
        ("DENIED_LOG_TOPIC", NodeRule.DENIED),
        ("TX_FILTERED_ADDRESS_FROM", NodeRule.DENIED),
        ("TX_FILTERED_ADDRESS_TO", NodeRule.DENIED),
        ("TX_FILTERED_ADDRESS_AUTHORIZATION", NodeRule.DENIED),
        ("CHAIN_SECURITY_RULE_VIOLATED", NodeRule.DENIED),
        ("Invalid transaction: <b>\nnonce too low", NodeRule.INVALID),
        ("Tracer error during simulation: <i>", NodeRule.UNTRACEABLE),
        ("TX_MODULE_LINE_INVALID_COUNT", NodeRule.UNTRACEABLE),
        ("BLOCK_CALLDATA_OVERFLOW", NodeRule.BLOCK_FULL),
        ("BLOCK_COMPRESSED_SIZE_OVERFLOW", NodeRule.BLOCK_FULL),
        ("BLOCK_MODULE_LINE_COUNT_FULL", NodeRule.BLOCK_FULL),
        ("TX_TOO_LARGE_FOR_REMAINING_USER_GAS", NodeRule.BLOCK_FULL),
        ("Cumulated line count for module ADD=9 is above the limit 8", NodeRule.BLOCK_FULL),
        ("BUNDLE_GAS_EXCEEDS_MAX_BUNDLE_BLOCK_GAS", NodeRule.BUNDLE),
        ("BUNDLE_TOO_LARGE_FOR_REMAINING_BUNDLE_BLOCK_GAS", NodeRule.BUNDLE),
        ("Failed Bundled Transaction Criteria", NodeRule.BUNDLE),
        ("Failed non revertable transaction in bundle", NodeRule.BUNDLE),
    ],
)
def test_text_of_another_rule_is_known_not_to_be_about_line_limits(
    text: str, rule: NodeRule
) -> None:
    reason = parse_reason(text)

    assert (reason.kind, reason.rule, reason.module) == (ReasonKind.OTHER_RULE, rule, None)
    assert explain(reason) == f"This is not about line limits: {words_of(rule).means}."


@pytest.mark.parametrize("rule", NodeRule)
def test_every_rule_has_words_that_are_whole_sentences(rule: NodeRule) -> None:
    words = words_of(rule)

    assert words.remedy[0].isupper()
    assert words.remedy.endswith(".")
    assert not words.means.endswith(".")


@pytest.mark.parametrize("rule", NodeRule)
def test_beginnings_of_a_rule_are_those_of_no_other(rule: NodeRule) -> None:
    others = [each for other in NodeRule if other is not rule for each in beginnings_of(other)]

    assert beginnings_of(rule)
    assert not {begun for begun in beginnings_of(rule) if begun.startswith(tuple(others))}


def test_report_shows_its_record_without_overflows_and_bytes() -> None:
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    transaction = SignedTransaction(
        TxHash(bytes(32)), Address(bytes(20)), None, 2**64 - 2, NetworkId(1), b"\x02"
    )
    report = RejectionReport(
        transaction, RejectionStage.P2P, "why", moment, 7, (ModuleOverflow("ADD", 2, 1),)
    )

    assert report.record() == RejectedTransaction(
        TxHash(bytes(32)), Address(bytes(20)), 2**64 - 2, RejectionStage.P2P, "why", moment, 7
    )


def test_stages_and_answers_are_the_words_of_the_wire() -> None:
    assert [*WIRE_STAGES] == ["SEQUENCER", "RPC", "P2P"]
    assert [*SaveStatus] == ["SAVED", "DUPLICATE_ALREADY_SAVED_BEFORE"]


def test_rejection_was_seen_last_when_it_was_seen_again() -> None:
    later = A_MOMENT + seconds(3600)

    assert a_rejection(first_seen_at=A_MOMENT).last_seen_at == A_MOMENT
    assert a_rejection(first_seen_at=A_MOMENT, seen_again_at=later).last_seen_at == later
