"""Params of the methods that are ours, drawn by chance: filters, pages, cursors, counts."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.conformance.generated_messages import Grammar
from tests.signed_transactions import SIGNER

_MEMBERS: Final[dict[str, tuple[object, ...]]] = {
    "networkId": ("0x67932", "0xe708", "0x0", 424242, "424242", "0x" + "f" * 17, ""),
    "txHash": ("0x0", "0xab", "0x" + "a" * 64, "0x" + "a" * 65, "0x", "ab", "0xZ"),
    "from": (SIGNER.address, SIGNER.address.lower(), "0x0", 5),
    "txRejectionStage": ("SEQUENCER", "RPC", "P2P", "sequencer", []),
    "module": ("HUB", "", "hub", "m" * 64, "m" * 65, "%", 1),
    "reasonKind": ("over_limit", "unparsed", "OVER_LIMIT", ""),
    "text": ("reason", "", "%", "_", "\\", "'", '"', "r" * 1024, "r" * 1025, "\0", "é"),
    "firstSeenFrom": ("2026-11-20T12:00:00Z", "0001-01-01T00:00:00Z", "now", 0),
    "firstSeenUntil": ("2026-11-20T12:00:00Z", "9999-12-31T23:59:59Z", ""),
    "timestampFrom": ("2026-11-13T12:00:00Z", "2026-11-20T12:00:00+14:00"),
    "timestampUntil": ("2026-11-20T12:00:00Z", None),
}
_LIMITS: Final = (1, 2, 100, 1000, 1001, 0, -1, 1.0, "1", True, 2**70)
_CURSORS: Final = ("", "A" * 16, "_" * 16, "A" * 15, "é" * 16, 7)
_GROUPINGS: Final = (
    *("module", "txRejectionStage", "reasonKind", "from", "networkId", "hour", "day", "", 5),
)


def _filter(grammar: Grammar) -> dict[str, object]:
    names = [name for name in _MEMBERS if grammar.chance.random() < 0.12]
    chosen: dict[str, object] = {name: grammar.one_of(_MEMBERS[name]) for name in names}
    return chosen | ({"extra": 1} if grammar.chance.random() < 0.02 else {})


def _given(grammar: Grammar, members: dict[str, Any]) -> str:
    """Write arguments by name or by position, some of them left out."""
    kept = {name: value for name, value in members.items() if grammar.chance.random() < 0.7}
    if grammar.chance.random() < 0.5:
        return json.dumps(kept)
    return json.dumps(list(members.values())[: len(kept)])


def list_params(grammar: Grammar) -> str:
    order, limit = grammar.one_of(("newest", "oldest", "", 5)), grammar.one_of(_LIMITS)
    cursor = None if grammar.chance.random() < 0.8 else grammar.one_of(_CURSORS)
    members = {"filter": _filter(grammar), "limit": limit, "order": order, "cursor": cursor}
    return _given(grammar, members)


def count_params(grammar: Grammar) -> str:
    by, limit = grammar.one_of(_GROUPINGS), grammar.one_of(_LIMITS)
    return _given(grammar, {"by": by, "filter": _filter(grammar), "limit": limit})


def version_params(grammar: Grammar) -> str:
    tx_hash = grammar.reports.tx_hash(grammar.chance)
    return f"[{tx_hash}]" if grammar.chance.random() < 0.5 else f'{{"txHash":{tx_hash}}}'


def subscribe_params(grammar: Grammar) -> str:
    topic, since = grammar.one_of(("rejections", "rejections", "logs")), grammar.one_of(_CURSORS)
    members = {"topic": topic, "filter": _filter(grammar)}
    return _given(grammar, members | ({"since": since} if grammar.chance.random() < 0.1 else {}))


def unsubscribe_params(grammar: Grammar) -> str:
    return _given(grammar, {"subscription": grammar.one_of((f"0x{'0' * 32}", "", 5))})


ASKING: Final = {
    "linewatch_listRejectionsV1": list_params,
    "linewatch_getRejectionVersionsV1": version_params,
    "linewatch_countRejectionsV1": count_params,
}
"""Methods that change nothing and answer alike over every transport."""

ALL: Final = {
    **ASKING,
    "linewatch_subscribe": subscribe_params,
    "linewatch_unsubscribe": unsubscribe_params,
}
"""With those that need a WebSocket."""
