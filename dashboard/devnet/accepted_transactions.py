"""Transactions accepted from outside: each is on disk before it is answered."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from dashboard.devnet.genesis import sync_folder
from dashboard.domain.exclusion import SignedTransaction
from dashboard.domain.quantity import Address, TxHash
from dashboard.errors import RoleError, StoreUnavailable

_FILE: Final = "accepted_transactions.jsonl"


class AcceptedTransaction(msgspec.Struct, frozen=True):
    """One accepted transaction and the block that includes it, which may still be to come."""

    block: int
    gas_used: int
    nonce: int
    tx_hash: bytes
    sender: bytes
    raw: bytes

    @classmethod
    def of(cls, transaction: SignedTransaction, block: int, gas_used: int) -> AcceptedTransaction:
        """Make the entry of `transaction` in block number `block`."""
        return cls(
            block=block,
            gas_used=gas_used,
            nonce=transaction.nonce,
            tx_hash=bytes(transaction.tx_hash),
            sender=bytes(transaction.sender),
            raw=transaction.raw,
        )


_ENTRY: Final = msgspec.json.Decoder(AcceptedTransaction)


class AcceptedTransactions:
    """An append-only file of lines, held in memory as well; used by one process at a time."""

    def __init__(self, folder: Path) -> None:
        """Open the file in `folder`, or begin one; RoleError where it cannot be used.

        A last line without an end was never acknowledged, and is dropped.
        """
        self._by_hash: dict[bytes, AcceptedTransaction] = {}
        self._by_block: defaultdict[int, list[AcceptedTransaction]] = defaultdict(list)
        self._by_sender: defaultdict[bytes, list[AcceptedTransaction]] = defaultdict(list)
        path = folder / _FILE
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            text = path.read_bytes() if path.exists() else b""
            self._length = text.rfind(b"\n") + 1
            self._load(path, text[: self._length])
            self._file = path.open("ab", buffering=0)
            self._file.truncate(self._length)
            sync_folder(folder)
        except OSError as error:
            raise RoleError(f"devnet cannot keep {path}: {error.strerror}") from error

    def append(self, entry: AcceptedTransaction) -> None:
        """Write `entry` durably, or raise StoreUnavailable and write nothing."""
        line = msgspec.json.encode(entry) + b"\n"
        try:
            written = self._file.write(line)
            os.fsync(self._file.fileno())
        except OSError as error:
            self._truncate()
            raise StoreUnavailable(
                f"devnet's accepted transactions cannot be written: {error.strerror}"
            ) from error
        if written != len(line):
            self._truncate()
            raise StoreUnavailable(
                "devnet's accepted transactions cannot be written: the disk is full"
            )
        self._length += len(line)
        self._remember(entry)

    def find(self, tx_hash: TxHash) -> AcceptedTransaction | None:
        """Return the entry with this hash."""
        return self._by_hash.get(bytes(tx_hash))

    def in_block(self, number: int) -> Sequence[AcceptedTransaction]:
        """Return the transactions of a block, in the order of acceptance."""
        return self._by_block.get(number, ())

    def gas_in(self, number: int) -> int:
        """Return the gas that they use in a block."""
        return sum(entry.gas_used for entry in self.in_block(number))

    def last_of(self, sender: Address, until: int | None = None) -> AcceptedTransaction | None:
        """Return the sender's entry with the highest nonce, in blocks up to `until` if given."""
        entries = self._by_sender.get(bytes(sender), ())
        seen = (entry for entry in entries if until is None or entry.block <= until)
        return max(seen, key=lambda entry: entry.nonce, default=None)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _load(self, path: Path, text: bytes) -> None:
        for number, line in enumerate(text.splitlines(), start=1):
            try:
                self._remember(_ENTRY.decode(line))
            except msgspec.DecodeError as error:
                raise RoleError(
                    f"line {number} of {path} is damaged ({error}): "
                    f"remove {path.parent} to begin a new devnet"
                ) from error

    def _remember(self, entry: AcceptedTransaction) -> None:
        self._by_hash[entry.tx_hash] = entry
        self._by_block[entry.block].append(entry)
        self._by_sender[entry.sender].append(entry)

    def _truncate(self) -> None:
        with suppress(OSError):
            self._file.truncate(self._length)
