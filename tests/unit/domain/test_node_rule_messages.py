"""Texts of other rules than line limits are known as such, and said in words of our own."""

from __future__ import annotations

from typing import Final

import pytest

from dashboard.domain.rejections.node_rule_messages import NodeRule, beginnings_of, words_of
from dashboard.domain.rejections.reasons import ReasonKind, explain, parse_reason

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
