"""Accepted transactions: what was acknowledged is there after any end, and only that."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from dashboard.devnet.admission import AcceptedTransaction, AcceptedTransactions
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import SignedTransaction
from dashboard.errors import RoleError, StoreUnavailable

SENDER = Address(b"\x33" * 20)


def an_entry(nonce: int = 0, block: int = 5) -> AcceptedTransaction:
    transaction = SignedTransaction(
        TxHash(bytes([nonce]) * 32), SENDER, None, nonce, NetworkId(424242), b"raw"
    )
    return AcceptedTransaction.of(transaction, block, 21_000)


def append(folder: Path, *entries: AcceptedTransaction) -> None:
    with closing(AcceptedTransactions(folder)) as accepted:
        for entry in entries:
            accepted.append(entry)


def nonces(folder: Path) -> list[int]:
    with closing(AcceptedTransactions(folder)) as accepted:
        return [entry.nonce for entry in accepted.in_block(5)]


def test_entry_is_found_again_by_another_opening(tmp_path: Path) -> None:
    entry = an_entry()
    append(tmp_path, entry)

    with closing(AcceptedTransactions(tmp_path)) as reopened:
        assert reopened.find(TxHash(entry.tx_hash)) == entry
        assert list(reopened.in_block(5)) == [entry]
        assert reopened.gas_in(5) == 21_000


def test_last_of_a_sender_is_the_highest_nonce_up_to_a_block(tmp_path: Path) -> None:
    entries = [an_entry(nonce=4, block=6), an_entry(nonce=2, block=8)]
    append(tmp_path, *entries)

    with closing(AcceptedTransactions(tmp_path)) as accepted:
        assert accepted.last_of(SENDER) == entries[0]
        assert accepted.last_of(SENDER, until=6) == entries[0]
        assert accepted.last_of(SENDER, until=5) is None
        assert accepted.last_of(Address(bytes(20))) is None


def test_line_that_was_cut_off_is_dropped_and_the_next_one_is_whole(tmp_path: Path) -> None:
    append(tmp_path, an_entry(nonce=0))
    path = tmp_path / "accepted_transactions.jsonl"
    path.write_bytes(path.read_bytes() + b'{"block":9,"gas_u')

    append(tmp_path, an_entry(nonce=1))

    assert nonces(tmp_path) == [0, 1]


def test_damaged_line_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "accepted_transactions.jsonl").write_bytes(b"{}\n")

    with pytest.raises(
        RoleError, match=r"line 1 of .*accepted_transactions\.jsonl is damaged .* remove"
    ):
        AcceptedTransactions(tmp_path)


def test_folder_that_cannot_hold_a_ledger_is_named(tmp_path: Path) -> None:
    (tmp_path / "accepted_transactions.jsonl").mkdir()

    with pytest.raises(RoleError, match=r"cannot keep .*accepted_transactions"):
        AcceptedTransactions(tmp_path)


@contextmanager
def no_file_grows_beyond(size: int) -> Iterator[None]:
    """Let the operating system cut every write off at `size`, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("room", [0, 10])
def test_entry_that_does_not_fit_the_disk_leaves_nothing_behind(tmp_path: Path, room: int) -> None:
    append(tmp_path, an_entry(nonce=0))
    size = (tmp_path / "accepted_transactions.jsonl").stat().st_size

    with closing(AcceptedTransactions(tmp_path)) as accepted:
        with (
            no_file_grows_beyond(size + room),
            pytest.raises(StoreUnavailable, match="cannot be written"),
        ):
            accepted.append(an_entry(nonce=1))
        accepted.append(an_entry(nonce=2))
        assert [entry.nonce for entry in accepted.in_block(5)] == [0, 2]

    assert nonces(tmp_path) == [0, 2]
