"""Reports for a benchmark: really signed transactions, each with the answers that are right."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from dashboard.devnet.chain import SeededRandom
from dashboard.devnet.own_transactions import Payment, SimulatedAccount
from dashboard.domain.quantity import Address, TxHash, Wei
from dashboard.domain.rejections.exclusion import RejectionReport, RejectionStage, SaveStatus
from dashboard.wire.exclusion import encode_record, encode_saved
from dashboard.wire.rejection_report import encode_report
from tests.bench.expected_replies import call, reply

SAVE: Final = "linea_saveRejectedTransactionV1"

_GWEI: Final = Wei(10**9)
_RECIPIENT: Final = Address(b"\x42" * Address.LENGTH)


@dataclass(frozen=True, slots=True)
class SentReport:
    """A report as it is sent, the question about it, and the two right replies."""

    tx_hash: TxHash
    save: bytes
    saved: bytes
    get: bytes
    got: bytes


class Reporter:
    """A node that rejects: an endless supply of transactions, no two alike."""

    def __init__(self) -> None:
        """Begin with the first nonce of a new account, for the archive may know older ones."""
        self._account = SimulatedAccount(SeededRandom(secrets.randbits(32)), "benchmarks", 1)
        self._nonce = 0

    def take(self, count: int) -> Iterator[SentReport]:
        """Yield reports of the moment."""
        now = datetime.now(UTC)
        now = now.replace(microsecond=now.microsecond // 1_000 * 1_000)
        for request_id in range(count):
            self._nonce += 1
            yield _handed(request_id, self._report(now))

    def _report(self, now: datetime) -> RejectionReport:
        payment = Payment(self._nonce, _RECIPIENT, Wei(1), b"", 21_000, _GWEI, _GWEI)
        return RejectionReport(
            transaction=self._account.sign(payment),
            tx_rejection_stage=RejectionStage.SEQUENCER,
            reason_message="TX_MODULE_LINE_COUNT_OVERFLOW(HUB)",
            timestamp=now,
            block_number=self._nonce,
            overflows=(),
        )


def _handed(request_id: int, report: RejectionReport) -> SentReport:
    tx_hash = report.transaction.tx_hash
    save = {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": SAVE,
        "params": [encode_report(report)],
    }
    return SentReport(
        tx_hash,
        save=msgspec.json.encode(save),
        saved=reply(request_id, encode_saved(SaveStatus.SAVED, tx_hash)),
        get=call(request_id, tx_hash),
        got=reply(request_id, encode_record(report.record())),
    )
