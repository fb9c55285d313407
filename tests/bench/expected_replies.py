"""What is true in a benchmark: which hashes are on record, and what each lookup must be told."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import (
    WIRE_STAGES,
    RejectedTransaction,
    RejectionSource,
    RejectionStage,
)
from dashboard.store.rejections.save import row_of_record
from dashboard.wire.exclusion import encode_record

NETWORK: Final = NetworkId(59144)
METHOD: Final = "linea_getTransactionExclusionStatusV1"
HITS: Final = 100
"""One hash in so many is on record."""

_MODULES: Final = ("ADD", "HUB", "MMIO", "PRECOMPILE_MODEXP_EFFECTIVE_CALLS", "BLOCK_KECCAK")
_SPREAD: Final = timedelta(days=4)


def stored_hash(number: int) -> TxHash:
    """Return the hash of the stored record `number`, counted from zero."""
    return TxHash(sha256(b"stored %d" % number).digest())


def unknown_hash(number: int) -> TxHash:
    """Return a hash that nothing is known of."""
    return TxHash(sha256(b"unknown %d" % number).digest())


def record_of(number: int, day: datetime) -> RejectedTransaction:
    """Return the stored record `number`, claimed within the four days before `day`."""
    stage = WIRE_STAGES[number % len(WIRE_STAGES)]
    module = _MODULES[number % len(_MODULES)]
    counted = 600_000 + number % 1_000
    reason = f"Transaction line count for module {module}={counted} is above the limit 524288"
    return RejectedTransaction(
        tx_hash=stored_hash(number),
        sender=Address(sha256(b"sender %d" % (number % 5_000)).digest()[:20]),
        nonce=number % 10_000,
        tx_rejection_stage=stage,
        reason_message=reason,
        timestamp=day - _SPREAD * (number % 9_973) / 9_973,
        block_number=number if stage is RejectionStage.SEQUENCER else None,
    )


def midnight(now: datetime) -> datetime:
    """Return the beginning of the day in UTC."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


class Questions:
    """The same lookups each time, one in a hundred of a hash on record, each with its result."""

    def __init__(self, stored: int, day: datetime) -> None:
        """Ask about an archive of `stored` records as of `day`."""
        self._stored = stored
        self._day = day
        self._chance = random.Random(7)  # noqa: S311 - chance for a benchmark, not a secret

    def take(self, count: int) -> Iterator[tuple[TxHash, bytes]]:
        """Yield hashes, each with the JSON that is its result."""
        for _ in range(count):
            if self._chance.randrange(HITS) == 0:
                number = self._chance.randrange(self._stored)
                yield stored_hash(number), encode_record(record_of(number, self._day))
            else:
                yield unknown_hash(self._chance.randrange(10**12)), b"null"


def call(request_id: int, tx_hash: TxHash) -> bytes:
    """Write one lookup as clients do, blanks left out."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":["%b"]}' % (
        request_id,
        METHOD.encode(),
        str(tx_hash).encode(),
    )


def reply(request_id: int, result: bytes) -> bytes:
    """Write the answer to `call`."""
    return b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (request_id, result)


def joined(items: Sequence[bytes]) -> bytes:
    return b"[%b]" % b",".join(items)


def row_of(number: int, day: datetime) -> dict[str, Any]:
    """Return the stored record `number` as a row of the archive, reported by a node."""
    record = record_of(number, day)
    assert record.timestamp is not None
    seen_at = record.timestamp + timedelta(seconds=2)
    return row_of_record(record, NETWORK, seen_at) | {
        "reported_at": seen_at,
        "reported_reason_digest": sha256(record.reason_message.encode()).digest(),
        "overflows": [],
        "source": RejectionSource.REPORTED.value,
    }
