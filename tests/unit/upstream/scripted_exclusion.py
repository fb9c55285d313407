"""Upstreams of the exclusion API: a sound one, and what its answers are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from eth_account import Account

from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import ModuleOverflow, RejectionReport, RejectionStage
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.wire.transaction import decode_transaction
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker, result

Answer = Callable[[list[Call]], Any]


def hashes(count: int) -> list[TxHash]:
    return [TxHash(number.to_bytes(32)) for number in range(1, count + 1)]


def a_record(tx_hash: object, **changes: object) -> dict[str, object]:
    return {
        "txHash": str(tx_hash),
        "from": f"0x{'ab' * 20}",
        "nonce": "0x7",
        "txRejectionStage": "RPC",
        "reasonMessage": "Module EXT does not exist in the limits file.",
        "timestamp": "2026-11-18T07:41:12.304Z",
        **changes,
    }


def a_report() -> RejectionReport:
    signed = Account.sign_transaction(
        {"to": bytes(20), "value": 0, "gas": 21000, "gasPrice": 1, "nonce": 7, "chainId": 424242},
        "0x" + "11" * 32,
    )
    return RejectionReport(
        transaction=decode_transaction(bytes(signed.raw_transaction)),
        tx_rejection_stage=RejectionStage.SEQUENCER,
        reason_message="TX_MODULE_LINE_COUNT_OVERFLOW(MMU)",
        timestamp=datetime(2026, 11, 20, tzinfo=UTC),
        block_number=9,
        overflows=(ModuleOverflow("MMU", 3, 2),),
    )


def truth(calls: list[Call]) -> list[dict[str, Any]]:
    """Answer as a sound upstream does that holds a record for every even hash."""
    return [result(call, true_result(call["params"][0])) for call in calls]


def true_result(tx_hash: str) -> dict[str, object] | None:
    return a_record(tx_hash) if int(tx_hash, 16) % 2 == 0 else None


def single_or_batch(answer: Answer) -> Answer:
    """Answer one call with an object, as it was asked."""
    return lambda calls: answer(calls) if len(calls) > 1 else answer(calls)[0]


async def ask(answer: Answer, count: int, batch_size: int = 1000) -> Sequence[ExclusionAnswer]:
    return await ExclusionClient(ScriptedAsker(answer), "chain", batch_size).ask(hashes(count))


def summary(answers: Sequence[ExclusionAnswer]) -> list[str]:
    """Say of each answer what kind it is."""
    return [
        each.failure.kind.value if each.failure else "record" if each.record else "null"
        for each in answers
    ]
