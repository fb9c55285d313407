"""What both peers share: the statement, the record as they write it, and their start."""

from __future__ import annotations

import hmac
import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

COLUMNS: Final = (
    "tx_hash, sender, nonce, tx_rejection_stage, reason_message, timestamp, block_number"
)
NETWORK: Final = 59144

_WEEK: Final = 7 * 86_400_000


def open_database(file: str) -> sqlite3.Connection:
    """Open the archive for reading."""
    return sqlite3.connect(f"file:{file}?mode=ro", uri=True, check_same_thread=False)


def key_check(key: str) -> Callable[[str], bool]:
    """Return what tells the right key from others, in constant time."""
    digest = sha256(key.encode()).digest()
    return lambda told: hmac.compare_digest(sha256(told.encode()).digest(), digest)


def oldest_visible() -> int:
    """Return the claimed time before which a record is not shown, in milliseconds."""
    return int(time.time() * 1000) - _WEEK


def record(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return a row of `COLUMNS` as the wire has it."""
    tx_hash, sender, nonce, stage, reason, timestamp, block = row
    moment = datetime.fromtimestamp(timestamp / 1000, UTC).replace(tzinfo=None)
    shown = {
        "txHash": f"0x{tx_hash.hex()}",
        "from": f"0x{sender.hex()}",
        "nonce": hex(int.from_bytes(nonce, "big")),
        "txRejectionStage": stage,
        "reasonMessage": reason,
        "timestamp": f"{moment.isoformat(timespec='milliseconds').removesuffix('.000')}Z",
    }
    if stage == "SEQUENCER" and block is not None:
        shown["blockNumber"] = hex(block)
    return shown


def run(app: ASGIApp, port: int) -> None:
    """Serve under uvicorn as fast as it goes: its C parser, no log of requests."""
    uvicorn.run(
        app, host="127.0.0.1", port=port, http="httptools", access_log=False, log_level="warning"
    )
