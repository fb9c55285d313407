"""Reports and questions drawn by chance: signed transactions whole or damaged, fields right or not.

A few transactions come again and again, so that duplicates, newer times and finds come about.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any, Final

from eth_hash.auto import keccak

from tests.builders import A_MOMENT
from tests.signed_transactions import BY_KIND, sign_kind

_TIMES: Final = (
    *("2026-11-20T11:59:59Z", "2026-11-20T11:59:59.9999Z", "2026-11-20T12:00:00+00:00", "now"),
    *("2026-11-13T12:00:00Z", "2026-11-13T11:59:59.999Z", "0001-01-01T00:00:00+14:00"),
    *("9999-12-31T23:59:59.999Z", "2026-02-30T00:00:00Z", "2016-12-31T23:59:60Z", "2026-11-20"),
    *("2026-11-20T24:00:00Z", "2026-11-20T12:00:00", "٢٠٢٦-11-20T12:00:00Z", ""),
)
_BLOCKS: Final[tuple[object, ...]] = (
    0,
    1,
    "7",
    "0x1",
    -1,
    1.5,
    2**63 - 1,
    2**63,
    2**64,
    "9" * 30,
    "",
    None,
    True,
    [],
)
_STAGES: Final = ("SEQUENCER", "SEQUENCER", "RPC", "P2P", "sequencer", "", None, 5)
_REASONS: Final = ("TX_MODULE_LINE_COUNT_OVERFLOW(HUB)", "", "é" * 1024, "r" * 1025, "\0", None, 7)
_OVERFLOWS: Final[tuple[Any, ...]] = (
    *([], [{"module": "HUB", "count": 2, "limit": 1}], [{"module": "", "count": "2", "limit": 0}]),
    *([{"module": None, "count": 2, "limit": 1}], [{}], [[]], {}, "[]", None),
    *([{"module": "M", "count": 2**63, "limit": 1}], [{"module": "M", "count": -1, "limit": 1}]),
)


@dataclass
class Reports:
    """Transactions of every kind, and what is done to them."""

    raw: list[bytes] = field(
        default_factory=lambda: [sign_kind(name, nonce=n) for name in BY_KIND for n in (0, 300)]
    )

    def tx_hash(self, chance: Random) -> str:
        """Return the JSON of a hash: of one of the transactions, of none, or nearly one."""
        text = f"0x{keccak(chance.choice(self.raw)).hex()}"
        kinds: tuple[object, ...] = (
            *(text, text, text, text[2:], text.upper(), text[:-1], f"{text}00", f"0x{'ab' * 32}"),
            *("", "0x", 7, None, [text], {"txHash": text}, 1e300, True, f"{text[:-1]}g"),
        )
        return json.dumps(kinds[chance.randrange(len(kinds))])

    def report(self, chance: Random, any_json: Callable[[int], str]) -> str:
        """Return the JSON of a report, mostly right; `any_json` writes what stands where."""
        recent = (A_MOMENT - timedelta(milliseconds=chance.randrange(7 * 86_400_000))).isoformat()
        members = {
            "txRejectionStage": "RPC",
            "timestamp": recent,
            "blockNumber": 7,
            "transactionRLP": self.transaction(chance),
            "reasonMessage": f"reason {chance.randrange(5)}",
            "overflows": [],
        }
        odd = {
            "txRejectionStage": _STAGES,
            "timestamp": _TIMES,
            "blockNumber": _BLOCKS,
            "reasonMessage": _REASONS,
            "overflows": _OVERFLOWS,
        }
        for name in [name for name in odd if chance.random() < 0.15]:
            members[name] = odd[name][chance.randrange(len(odd[name]))]
        texts = {name: json.dumps(value) for name, value in members.items()}
        if chance.random() < 0.1:
            texts[chance.choice([*texts, "extra"])] = any_json(2)
        if chance.random() < 0.1:
            del texts[chance.choice(list(texts))]
        return "{" + ",".join(f'"{name}":{text}' for name, text in texts.items()) + "}"

    def transaction(self, chance: Random) -> str:
        """Return a signed transaction as text, now and then damaged."""
        raw = chance.choice(self.raw)
        if chance.random() < 0.3:
            raw = damaged(chance, raw)
        return f"{'0x' if chance.random() < 0.9 else ''}{raw.hex()}"


def damaged(chance: Random, raw: bytes) -> bytes:
    """Change, cut, repeat or wrap the bytes of a signed transaction."""
    place = chance.randrange(len(raw) + 1)
    match chance.randrange(6):
        case 0:
            return raw[:place]
        case 1:
            return raw[:place] + bytes((chance.randrange(256),)) + raw[place + 1 :]
        case 2:
            return raw[:place] + bytes((chance.randrange(256),)) + raw[place:]
        case 3:
            return raw[:place] + raw[chance.randrange(len(raw)) :]
        case 4:
            return b"\xb8" + bytes((len(raw) % 256,)) + raw
        case _:
            return raw + bytes(chance.randrange(256) for _ in range(chance.randrange(5)))
