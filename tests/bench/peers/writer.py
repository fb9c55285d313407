"""A worker's writing, and more than one does: twenty polled rejections, five times a second."""

from __future__ import annotations

import secrets
import socket
import sys
import threading
from datetime import UTC, datetime
from typing import Final

from dashboard.domain.quantity import Address, TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction, RejectionStage
from dashboard.store.engine.engine import Store, open_store
from tests.bench.expected_replies import NETWORK
from tests.saved_record import save_record

AT_ONCE: Final = 20
PAUSE: Final = 0.2


def write_once(store: Store, many: int = AT_ONCE, at: datetime | None = None) -> None:
    """Keep some rejections that nobody has seen yet, in one transaction; now, or at some time."""
    now = at or datetime.now(UTC)
    with store.write() as connection:
        for _ in range(many):
            save_record(connection, NETWORK, _record(now), now)


def _record(now: datetime) -> RejectedTransaction:
    return RejectedTransaction(
        tx_hash=TxHash(secrets.token_bytes(TxHash.LENGTH)),
        sender=Address(secrets.token_bytes(Address.LENGTH)),
        nonce=0,
        tx_rejection_stage=RejectionStage.RPC,
        reason_message="Transaction line count for module ADD=600000 is above the limit 524288",
        timestamp=now,
        block_number=None,
    )


if __name__ == "__main__":
    with open_store(f"sqlite:///{sys.argv[2]}") as opened:
        write_once(opened)
        # Whoever started this waits for the port.
        with socket.create_server(("127.0.0.1", int(sys.argv[1]))):
            pause = threading.Event()
            while not pause.wait(PAUSE):
                write_once(opened)
