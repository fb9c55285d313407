"""Reasons of rejections: parsed, labelled and explained."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.rejections.line_limits import ModuleLimits
from dashboard.domain.rejections.node_rule_messages import NodeRule, rule_of, words_of

_OVER_LIMIT: Final = re.compile(
    r"Transaction (?:0x[0-9a-fA-F]{64} )?line count for module (\w{1,64})=(\d{1,20})"
    r" is above the limit (\d{1,20})",
    re.ASCII,
)
_SEQUENCER: Final = re.compile(
    r"TX_MODULE_LINE_COUNT_OVERFLOW(_CACHED)?(?: ?\((\w{1,64})\))?", re.ASCII
)
_REMEMBERED: Final = re.compile(
    r"Transaction 0x[0-9a-fA-F]{64} was already identified to go over line count limit", re.ASCII
)
_UNKNOWN_MODULE: Final = re.compile(
    r"Module (\w{1,64}) does not exist in the limits file\.", re.ASCII
)
_INVALID_COUNT: Final = "Internal Error: do not know what to do with result: INVALID_LINE_COUNT"


class ReasonKind(StrEnum):
    """The form of a reason message."""

    OVER_LIMIT = "over_limit"
    MODULE_UNDEFINED = "module_undefined"
    INVALID_COUNT = "invalid_count"
    OTHER_RULE = "other_rule"
    UNPARSED = "unparsed"


class Reason(Struct, frozen=True):
    """A parsed reason message; `count` and `limit` are lines of the module's trace.

    `is_cached`: the node remembered an earlier check. `limit_from` is the table that the limit is
    from, None if the message states it. `rule` is set for OTHER_RULE. `text` is the message as
    sent: hostile, to be shown verbatim and inert.
    """

    kind: ReasonKind
    text: str
    module: str | None = None
    count: int | None = None
    limit: int | None = None
    is_cached: bool = False
    limit_from: str | None = None
    rule: NodeRule | None = None

    @property
    def is_of_line_limit(self) -> bool:
        """Whether it is about line counts."""
        return self.kind not in {ReasonKind.OTHER_RULE, ReasonKind.UNPARSED}


def parse_reason(text: str, limits: ModuleLimits | None = None) -> Reason:
    """Parse a reason message; an unknown form is kept whole as UNPARSED.

    If it names a module but no limit, the limit is looked up in `limits`.
    """
    reason = _line_limit_reason(text)
    if reason is not None:
        return _with_limit(reason, limits)
    rule = rule_of(text)
    if rule is not None:
        return Reason(ReasonKind.OTHER_RULE, text, rule=rule)
    return Reason(ReasonKind.UNPARSED, text)


def _line_limit_reason(text: str) -> Reason | None:
    if match := _OVER_LIMIT.fullmatch(text):
        module, count, limit = match.groups()
        return Reason(ReasonKind.OVER_LIMIT, text, module, int(count), int(limit))
    if match := _SEQUENCER.fullmatch(text):
        return Reason(ReasonKind.OVER_LIMIT, text, match[2], is_cached=match[1] is not None)
    if _REMEMBERED.fullmatch(text):
        return Reason(ReasonKind.OVER_LIMIT, text, is_cached=True)
    if match := _UNKNOWN_MODULE.fullmatch(text):
        return Reason(ReasonKind.MODULE_UNDEFINED, text, match[1])
    if text == _INVALID_COUNT:
        return Reason(ReasonKind.INVALID_COUNT, text)
    return None


def _with_limit(reason: Reason, limits: ModuleLimits | None) -> Reason:
    is_wanted = reason.kind is ReasonKind.OVER_LIMIT and reason.limit is None
    if limits is None or reason.module is None or not is_wanted:
        return reason
    limit = limits.limit_of(reason.module)
    return reason if limit is None else replace(reason, limit=limit, limit_from=limits.title)


_PURPOSES: Final = {
    "ADD": "additions and subtractions (ADD, SUB)",
    "BIN": "bitwise operations (AND, OR, XOR, NOT, BYTE, SIGNEXTEND)",
    "BLAKE_MODEXP_DATA": "data handed to the precompiles BLAKE2f and MODEXP",
    "BLOCK_DATA": "facts of the block that contracts ask for",
    "BLOCK_HASH": "answers of BLOCKHASH",
    "EC_DATA": "data handed to the elliptic-curve precompiles, such as ecRecover and ecPairing",
    "EUC": "small divisions that memory operations need",
    "EXP": "logarithms that price the opcode EXP and the precompile MODEXP",
    "EXT": "modular additions and multiplications (ADDMOD, MULMOD)",
    "GAS": "accounting of gas",
    "HUB": "coordination of all other modules: nearly every instruction takes lines of it",
    "LOG_DATA": "data of events (LOG0 to LOG4), for receipts",
    "LOG_INFO": "topics of events (LOG0 to LOG4), for receipts",
    "MMIO": "single reads and writes of memory, into which MMU splits larger ones",
    "MMU": "memory operations (MLOAD, MSTORE, SHA3, RETURN, copies, CREATE), split into small ones",
    "MOD": "divisions and remainders (DIV, MOD, SDIV, SMOD)",
    "MUL": "multiplications and powers (MUL, EXP)",
    "MXP": "growth of memory, and its price",
    "OOB": "bounds and prices of opcodes and precompiles",
    "RLP_ADDR": "addresses of contracts that are created",
    "RLP_TXN": "decoding of the transaction, for its signature",
    "RLP_TXN_RCPT": "encoding of receipts",
    "ROM": "bytecode that is run or deployed: large contracts take many lines of it",
    "ROM_LEX": "how many different contracts are touched",
    "SHAKIRA_DATA": "data that is hashed by Keccak, SHA2-256 or RIPEMD-160",
    "SHF": "shifts (SHL, SHR, SAR)",
    "STP": "gas handed on by CALL and CREATE",
    "TRM": "addresses cut from words, and which of them are precompiles",
    "TXN_DATA": "fields of the transaction itself",
    "WCP": "comparisons (LT, GT, SLT, SGT, EQ, ISZERO)",
}


KNOWN_MODULES: Final = tuple(_PURPOSES)
"""Modules that have a public description."""


def purpose_of(module: str) -> str | None:
    """Return what a module works on, None if there is no public description."""
    return _PURPOSES.get(module)


Named: TypeAlias = tuple[ReasonKind, str | None]
"""A kind of reason and its module, if it names one."""

KIND_NAMES: Final = {
    ReasonKind.OVER_LIMIT: "module not named",
    ReasonKind.INVALID_COUNT: "lines not counted",
    ReasonKind.OTHER_RULE: "another rule",
    ReasonKind.UNPARSED: "unknown reason",
}
"""Names for reasons without a module; they contain a blank, which no module's name does."""


def name_of(named: Named) -> str:
    """Name a reason in a few words."""
    kind, module = named
    return module or KIND_NAMES.get(kind, kind.value.replace("_", " "))


def in_brief(reason: Reason) -> str:
    """Give the reason in a few words, the same on pages and in headlines: ``HUB over limit``."""
    if reason.module is not None:
        return f"{reason.module} {module_trouble(reason.kind, reason.limit)}"
    if reason.kind is ReasonKind.UNPARSED and not reason.text:
        return "no reason given"
    return _WITHOUT_MODULE[reason.kind]


def module_trouble(kind: ReasonKind, limit: int | None = None) -> str:
    """Say what is wrong with the module of a reason, to follow its name."""
    if kind is ReasonKind.MODULE_UNDEFINED:
        return "missing from the limits file"
    return "over limit 0" if limit == 0 else "over limit"


_WITHOUT_MODULE: Final = {
    ReasonKind.OVER_LIMIT: "over a line limit",
    ReasonKind.INVALID_COUNT: "lines could not be counted",
    ReasonKind.OTHER_RULE: "a rule other than a line limit",
    ReasonKind.UNPARSED: "unknown reason",
}


def overrun(reason: Reason) -> float | None:
    """Return the count divided by the limit, or None if a number is missing or zero."""
    if reason.count is None or not reason.limit:
        return None
    return reason.count / reason.limit


def explain(reason: Reason) -> str:
    """Say in one plain sentence why the transaction was rejected, without upstream text.

    Module names consist of letters, digits and underscores, so the sentence is safe anywhere.
    """
    if reason.kind is ReasonKind.OVER_LIMIT:
        return _explain_over_limit(reason)
    if reason.kind is ReasonKind.MODULE_UNDEFINED:
        return (
            f"The node has no line limit for the prover module {reason.module}, "
            "so it could not accept the transaction."
        )
    if reason.kind is ReasonKind.INVALID_COUNT:
        return "The node could not count the proof lines of this transaction."
    if reason.rule is not None:
        return f"This is not about line limits: {words_of(reason.rule).means}."
    if not reason.text:
        return "The network gave no reason."
    return "The network gave a reason that Linewatch does not know; it is shown as sent."


def _explain_over_limit(reason: Reason) -> str:
    module, count, limit = reason.module, reason.count, reason.limit
    if module is None:
        return "The transaction needs more proof lines than one block may hold."
    source = "" if reason.limit_from is None else f" ({reason.limit_from})"
    if limit == 0:
        return (
            f"The transaction uses {module}, an operation that this network cannot prove: "
            f"its limit is 0{source}."
        )
    if limit is None:
        return f"The transaction exceeds the line limit of the prover module {module}."
    if count is None:
        return (
            f"The transaction exceeds the line limit of the prover module {module}, "
            f"{limit:,}{source}."
        )
    return (
        f"The transaction needs {count:,} lines in the prover module {module}, "
        f"{count / limit:,.2f} times the limit of {limit:,}."
    )
