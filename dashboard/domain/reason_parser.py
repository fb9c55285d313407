"""Reason messages of rejections: their known forms, parsed.

The forms come from the plugin source of the nodes that report (Linea Besu sequencer plugin):
simulation on RPC and P2P nodes names counts and limits, the sequencer names at most a module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from dashboard.domain.module_limits import ModuleLimits
from dashboard.domain.node_rule_messages import NodeRule, rule_of

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
    """Which known form a reason message has."""

    OVER_LIMIT = "over_limit"
    MODULE_UNDEFINED = "module_undefined"
    INVALID_COUNT = "invalid_count"
    OTHER_RULE = "other_rule"
    UNPARSED = "unparsed"


@dataclass(frozen=True, slots=True)
class Reason:
    """What a reason message says; `count` and `limit` are lines of the module's trace.

    `is_cached` marks a node that remembered an earlier check. `limit_from` names the table that
    the limit is from, None where the message names it. `rule` is set for OTHER_RULE. `text` is the
    message as sent: hostile, to be shown verbatim and inert.
    """

    kind: ReasonKind
    text: str
    module: str | None = None
    count: int | None = None
    limit: int | None = None
    is_cached: bool = False
    limit_from: str | None = None
    rule: NodeRule | None = None


def parse_reason(text: str, limits: ModuleLimits | None = None) -> Reason:
    """Read a reason message; an unknown form is kept whole as UNPARSED.

    Where it names a module and no limit, `limits` tells that, if it is handed in.
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
