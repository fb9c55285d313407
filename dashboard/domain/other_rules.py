"""Texts of rules other than line limits: nodes tell them to senders, and seldom to a record.

The forms come from the plugin source of the nodes (Linea Besu sequencer plugin): validators of
the transaction pool, and results of building a block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Rule(StrEnum):
    """Which rule refused a transaction."""

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


@dataclass(frozen=True, slots=True)
class RuleWords:
    """What a rule means, and what the sender can do; sentences of ours alone."""

    means: str
    remedy: str


_LISTED: Final = (
    r"0x[0-9a-fA-F]{40} is blocked as appearing on the SDN or other legally prohibited list"
)
_PRECOMPILE: Final = r"destination address is a precompile address and cannot receive transactions"
_LITERAL: Final = re.compile(r"[\w :-]*", re.ASCII)
_FORMS: Final = tuple(
    (re.compile(form, re.ASCII | re.DOTALL), rule)
    for form, rule in (
        (r"Gas price too low", Rule.FEE),
        (r"TX_UNPROFITABLE(?:_UPFRONT)?", Rule.FEE),
        (r"Calldata of transaction is greater than the allowed max of \d{1,20}", Rule.CALLDATA),
        (r"Gas limit of transaction is greater than the allowed max of \d{1,20}", Rule.GAS),
        (r"TX_GAS_EXCEEDS_USER_MAX_BLOCK_GAS", Rule.GAS),
        (_PRECOMPILE, Rule.PRECOMPILE),
        (r"TransactionTypeValidation - (?:BLOB_TX|DELEGATE_CODE_TX)_NOT_ALLOWED", Rule.TYPE),
        (rf"sender {_LISTED}", Rule.DENIED),
        (rf"recipient {_LISTED}", Rule.DENIED),
        (rf"authorization authority {_LISTED}", Rule.DENIED),
        (rf"authorization address {_LISTED}", Rule.DENIED),
        (r"DENIED_LOG_TOPIC", Rule.DENIED),
        (r"TX_FILTERED_ADDRESS_(?:FROM|TO|AUTHORIZATION)", Rule.DENIED),
        (r"CHAIN_SECURITY_RULE_VIOLATED", Rule.DENIED),
        (r"Invalid transaction: .*", Rule.INVALID),
        (r"Tracer error during simulation: .*", Rule.UNTRACEABLE),
        (r"TX_MODULE_LINE_INVALID_COUNT", Rule.UNTRACEABLE),
        (r"BLOCK_(?:CALLDATA|COMPRESSED_SIZE)_OVERFLOW", Rule.BLOCK_FULL),
        (r"BLOCK_MODULE_LINE_COUNT_FULL", Rule.BLOCK_FULL),
        (r"TX_TOO_LARGE_FOR_REMAINING_USER_GAS", Rule.BLOCK_FULL),
        (r"Cumulated line count for module .*", Rule.BLOCK_FULL),
        (r"BUNDLE_GAS_EXCEEDS_MAX_BUNDLE_BLOCK_GAS", Rule.BUNDLE),
        (r"BUNDLE_TOO_LARGE_FOR_REMAINING_BUNDLE_BLOCK_GAS", Rule.BUNDLE),
        (r"Failed Bundled Transaction Criteria", Rule.BUNDLE),
        (r"Failed non revertable transaction in bundle", Rule.BUNDLE),
    )
)
_WORDS: Final = {
    Rule.FEE: RuleWords(
        "it offers a lower fee than the network asks for",
        "Sign it again with the same nonce and a higher fee; the network's own fee estimate "
        "says how much it asks for.",
    ),
    Rule.CALLDATA: RuleWords(
        "its input data is longer than the network accepts",
        "Send less input data in one transaction.",
    ),
    Rule.GAS: RuleWords(
        "it asks for more gas than the network allows one transaction",
        "Sign it again with a lower gas limit, or split the work into several transactions.",
    ),
    Rule.PRECOMPILE: RuleWords(
        "it is sent straight to a precompiled contract, which the network does not accept",
        "Call the precompiled contract from a contract of your own.",
    ),
    Rule.TYPE: RuleWords(
        "its type is not accepted on this network",
        "Sign it as another type, such as an ordinary EIP-1559 transaction.",
    ),
    Rule.DENIED: RuleWords(
        "an address or an event in it is on a list of the network's operator",
        "Sending it again does not help; only the operator of the network can say more.",
    ),
    Rule.INVALID: RuleWords(
        "the node found the transaction itself invalid",
        "Read the reason as sent, correct the transaction, and sign it again.",
    ),
    Rule.UNTRACEABLE: RuleWords(
        "the node could not count its proof lines",
        "This points at the node and not at the transaction: "
        "send it through another node, or tell the operator.",
    ),
    Rule.BLOCK_FULL: RuleWords(
        "that block had no room left for it, which says nothing of the next one",
        "Nothing needs to be done yet: it waits for a later block.",
    ),
    Rule.BUNDLE: RuleWords(
        "the bundle that it belongs to was not taken into a block",
        "Send a smaller bundle, or the transactions one by one.",
    ),
}


def rule_of(text: str) -> Rule | None:
    """Return the rule whose text this is, or None where no form fits."""
    return next((rule for form, rule in _FORMS if form.fullmatch(text)), None)


def beginnings_of(rule: Rule) -> tuple[str, ...]:
    """Return how the texts of a rule begin; no text of another rule begins so."""
    begun = (_LITERAL.match(form.pattern) for form, of_form in _FORMS if of_form is rule)
    return tuple(match[0] for match in begun if match)


def words_of(rule: Rule) -> RuleWords:
    """Say what a rule means and what follows for the sender."""
    return _WORDS[rule]
