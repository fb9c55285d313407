"""Texts of rules other than line limits, which nodes send to senders and rarely put into a record.

The patterns come from the plugin source of the nodes (Linea Besu sequencer plugin): validators of
the transaction pool, and results of building a block.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from msgspec import Struct


class NodeRule(StrEnum):
    """The rule that refused a transaction."""

    FEE = "fee"
    CALLDATA = "calldata"
    GAS = "gas"
    PRECOMPILE = "precompile"
    TYPE = "type"
    DENIED = "denied"
    INVALID = "invalid"
    UNTRACEABLE = "untraceable"
    BLOCK_FULL = "block_full"
    BUNDLE = "bundle"


class RuleWords(Struct, frozen=True):
    """What a rule means, and what the sender can do, in our own words."""

    means: str
    remedy: str


FAULT_OF_NODE: Final = (
    "The fault is the node's, not the transaction's: send the transaction through another node, or "
    "tell the operator."
)
"""What to do if a node cannot check a transaction."""

_LISTED: Final = (
    r"0x[0-9a-fA-F]{40} is blocked as appearing on the SDN or other legally prohibited list"
)
_PRECOMPILE: Final = r"destination address is a precompile address and cannot receive transactions"
_LITERAL: Final = re.compile(r"[\w :-]*", re.ASCII)
_FORMS: Final = tuple(
    (re.compile(form, re.ASCII | re.DOTALL), rule)
    for form, rule in (
        (r"Gas price too low", NodeRule.FEE),
        (r"TX_UNPROFITABLE(?:_UPFRONT)?", NodeRule.FEE),
        (r"Calldata of transaction is greater than the allowed max of \d{1,20}", NodeRule.CALLDATA),
        (r"Gas limit of transaction is greater than the allowed max of \d{1,20}", NodeRule.GAS),
        (r"TX_GAS_EXCEEDS_USER_MAX_BLOCK_GAS", NodeRule.GAS),
        (_PRECOMPILE, NodeRule.PRECOMPILE),
        (r"TransactionTypeValidation - (?:BLOB_TX|DELEGATE_CODE_TX)_NOT_ALLOWED", NodeRule.TYPE),
        (rf"sender {_LISTED}", NodeRule.DENIED),
        (rf"recipient {_LISTED}", NodeRule.DENIED),
        (rf"authorization authority {_LISTED}", NodeRule.DENIED),
        (rf"authorization address {_LISTED}", NodeRule.DENIED),
        (r"DENIED_LOG_TOPIC", NodeRule.DENIED),
        (r"TX_FILTERED_ADDRESS_(?:FROM|TO|AUTHORIZATION)", NodeRule.DENIED),
        (r"CHAIN_SECURITY_RULE_VIOLATED", NodeRule.DENIED),
        (r"Invalid transaction: .*", NodeRule.INVALID),
        (r"Tracer error during simulation: .*", NodeRule.UNTRACEABLE),
        (r"TX_MODULE_LINE_INVALID_COUNT", NodeRule.UNTRACEABLE),
        (r"BLOCK_(?:CALLDATA|COMPRESSED_SIZE)_OVERFLOW", NodeRule.BLOCK_FULL),
        (r"BLOCK_MODULE_LINE_COUNT_FULL", NodeRule.BLOCK_FULL),
        (r"TX_TOO_LARGE_FOR_REMAINING_USER_GAS", NodeRule.BLOCK_FULL),
        (r"Cumulated line count for module .*", NodeRule.BLOCK_FULL),
        (r"BUNDLE_GAS_EXCEEDS_MAX_BUNDLE_BLOCK_GAS", NodeRule.BUNDLE),
        (r"BUNDLE_TOO_LARGE_FOR_REMAINING_BUNDLE_BLOCK_GAS", NodeRule.BUNDLE),
        (r"Failed Bundled Transaction Criteria", NodeRule.BUNDLE),
        (r"Failed non revertable transaction in bundle", NodeRule.BUNDLE),
    )
)
_WORDS: Final = {
    NodeRule.FEE: RuleWords(
        "it offers a lower fee than the network asks for",
        "Sign it again with the same nonce and a higher fee; the network's own estimate says how "
        "high.",
    ),
    NodeRule.CALLDATA: RuleWords(
        "its input data is longer than the network accepts",
        "Send less input data in one transaction.",
    ),
    NodeRule.GAS: RuleWords(
        "it asks for more gas than the network allows one transaction",
        "Sign it again with a lower gas limit, or split the work into several transactions.",
    ),
    NodeRule.PRECOMPILE: RuleWords(
        "it is sent straight to a precompiled contract, which the network does not accept",
        "Call the precompiled contract from a contract of your own.",
    ),
    NodeRule.TYPE: RuleWords(
        "its type is not accepted on this network",
        "Sign it as another type, such as an ordinary EIP-1559 transaction.",
    ),
    NodeRule.DENIED: RuleWords(
        "an address or an event in it is on a list of the network's operator",
        "Sending it again does not help; only the operator of the network can say more.",
    ),
    NodeRule.INVALID: RuleWords(
        "the node found the transaction itself invalid",
        "Read the reason as sent, correct the transaction, and sign it again.",
    ),
    NodeRule.UNTRACEABLE: RuleWords(
        "the node could not count its proof lines",
        FAULT_OF_NODE,
    ),
    NodeRule.BLOCK_FULL: RuleWords(
        "that block had no room left for it, but the next one may have",
        "Nothing needs to be done yet: it waits for a later block.",
    ),
    NodeRule.BUNDLE: RuleWords(
        "the bundle that it belongs to was not included in a block",
        "Send a smaller bundle, or the transactions one by one.",
    ),
}


def rule_of(text: str) -> NodeRule | None:
    """Return the rule that this text belongs to, or None if no pattern matches."""
    return next((rule for form, rule in _FORMS if form.fullmatch(text)), None)


def beginnings_of(rule: NodeRule) -> tuple[str, ...]:
    """Return the fixed prefixes of a rule's texts, which no other rule shares."""
    begun = (_LITERAL.match(form.pattern) for form, of_form in _FORMS if of_form is rule)
    return tuple(match[0] for match in begun if match)


def words_of(rule: NodeRule) -> RuleWords:
    """Return what a rule means and what the sender can do."""
    return _WORDS[rule]
