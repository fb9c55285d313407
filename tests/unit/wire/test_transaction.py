"""Signed transactions: every form gives hash, sender, recipient, nonce and chain; others do not."""

from __future__ import annotations

from typing import Any, Final

import pytest
import rlp  # type: ignore[import-untyped] # it has no types
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.errors import WireError
from dashboard.wire.transaction import LARGEST_CHAIN_ID, LARGEST_NONCE, decode_transaction
from tests.recorded import recorded
from tests.signed_transactions import BY_KIND, SIGNER, sign_kind

VECTORS: Final[list[dict[str, str]]] = recorded("signed_transactions")["vectors"]
ACCESS_LISTS: Final = st.lists(
    st.fixed_dictionaries(
        {
            "address": st.binary(min_size=20, max_size=20),
            "storageKeys": st.lists(
                st.binary(min_size=32, max_size=32).map(lambda key: f"0x{key.hex()}"), max_size=3
            ),
        }
    ),
    max_size=3,
)


def object_members(raw: bytes) -> list[Any]:
    """Split a signed transaction into the members of its list."""
    return list(rlp.decode(raw if raw[0] >= 0xC0 else raw[1:]))


def changed(raw: bytes, place: int, member: object) -> bytes:
    """Put another member in one place of a signed transaction."""
    members = object_members(raw)
    members[place] = member
    encoded: bytes = rlp.encode(members)
    return raw[: raw[0] < 0xC0] + encoded


def as_recorded(raw: bytes) -> tuple[str, str, str | None, str]:
    transaction = decode_transaction(raw)
    recipient = transaction.recipient
    return (
        str(transaction.tx_hash),
        str(transaction.sender),
        None if recipient is None else str(recipient),
        hex(transaction.nonce),
    )


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_recorded_transaction_says_what_was_recorded(vector: dict[str, str]) -> None:
    raw = bytes.fromhex(vector["transactionRLP"][2:])

    assert as_recorded(raw) == (vector["hash"], vector["from"], vector["to"], vector["nonce"])
    assert decode_transaction(raw).chain_id == 424242


@pytest.mark.parametrize(
    "vector",
    [vector for vector in VECTORS if "transactionRLP_block_body_wrapped" in vector],
    ids=lambda vector: vector["name"],
)
def test_wrapping_of_block_bodies_is_taken_off(vector: dict[str, str]) -> None:
    wrapped = bytes.fromhex(vector["transactionRLP_block_body_wrapped"][2:])
    raw = bytes.fromhex(vector["transactionRLP"][2:])

    assert decode_transaction(wrapped) == decode_transaction(raw)
    assert decode_transaction(wrapped).raw == raw


@pytest.mark.parametrize("name", BY_KIND)
def test_transaction_of_each_kind_names_its_signer_and_chain(name: str) -> None:
    transaction = decode_transaction(sign_kind(name))

    assert str(transaction.sender) == SIGNER.address.lower()
    assert transaction.chain_id == BY_KIND[name].get("chainId")


@settings(max_examples=30)
@given(
    name=st.sampled_from([name for name in BY_KIND if "type" in BY_KIND[name]]),
    nonce=st.integers(0, LARGEST_NONCE),
    gas=st.integers(21_000, 2**64 - 1),
    value=st.integers(0, 2**256 - 1),
    data=st.binary(max_size=300),
    access_list=ACCESS_LISTS,
)
def test_typed_transaction_is_read_whatever_its_members(
    *, name: str, nonce: int, gas: int, value: int, data: bytes, access_list: list[Any]
) -> None:
    raw = sign_kind(name, nonce=nonce, gas=gas, value=value, data=data, accessList=access_list)

    transaction = decode_transaction(raw)

    assert (transaction.nonce, str(transaction.sender)) == (nonce, SIGNER.address.lower())


@pytest.mark.parametrize("name", ["before EIP-155", "EIP-155", "EIP-2930", "EIP-1559"])
def test_transaction_without_recipient_is_a_deployment(name: str) -> None:
    assert decode_transaction(sign_kind(name, to=None, data=b"\x60")).recipient is None


@pytest.mark.parametrize(("name", "place"), [("EIP-4844", 5), ("EIP-7702", 5)])
def test_kind_that_cannot_deploy_needs_a_recipient(name: str, place: int) -> None:
    with pytest.raises(WireError, match="needs a recipient"):
        decode_transaction(changed(sign_kind(name), place, b""))


@pytest.mark.parametrize("name", ["EIP-155", "EIP-1559"])
def test_largest_chain_id_is_read(name: str) -> None:
    assert decode_transaction(sign_kind(name, chainId=LARGEST_CHAIN_ID)).chain_id == (
        2**63 - 37  # EIP-2294
    )


@pytest.mark.parametrize("name", ["EIP-155", "EIP-1559"])
def test_chain_id_beyond_the_largest_is_refused(name: str) -> None:
    with pytest.raises(WireError, match="is larger than"):
        decode_transaction(sign_kind(name, chainId=LARGEST_CHAIN_ID + 1))


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b"", "empty"),
        (b"\x80", "empty"),
        (b"\x00\xc0", "type 0x00 is not known"),
        (b"\x05\xc0", "type 0x05 is not known"),
        (b"\x7f\xc0", "type 0x7f is not known"),
        (b"\x82\xf8\x01", "type 0xf8 is not known"),
        (b"\x02", "the RLP is empty"),
        (b"\x02\x80", "a string stands where a list belongs"),
        (b"\x02\xc0", "it has 0 members; this type has 12"),
        (b"\xc0", "it has 0 members; this type has 9"),
        (b"\xca" + b"\x80" * 10, "more than 9 members"),
        (b"\xc1" * 100_000, "bytes follow the end"),
        (b"\xfa\x0f\x42\x40" + b"\x80" * 1_000_000, "more than 9 members"),
    ],
)
def test_bytes_that_are_no_transaction_are_refused(raw: bytes, complaint: str) -> None:
    with pytest.raises(WireError, match=complaint):
        decode_transaction(raw)


@pytest.mark.parametrize(
    ("place", "member", "complaint"),
    [
        (0, b"\x00\x01", "chain id is not an integer in its shortest form"),
        (1, b"\xff" * 8, "nonce is larger than 18446744073709551614"),
        (1, b"\xff" * 40, "nonce is larger than"),
        (3, [], "max fee is not an integer"),
        (4, b"\x01" * 33, "gas is larger than"),
        (4, b"\x01" * 100_000, "gas is larger than"),
        (5, b"\x01" * 19, "to is not 20 bytes long"),
        (5, [], "to is not 20 bytes long"),
        (7, [], "data is a list"),
        (8, b"", "a string stands where a list belongs"),
        (8, [[b"\x01" * 20]], "access list: an entry has"),
        (8, [[b"\x01" * 19, []]], "access list is not 20 bytes long"),
        (8, [[b"\x01" * 20, [b"\x01" * 31]]], "access list is not 32 bytes long"),
        (9, b"\x02", "y parity is larger than 1"),
        (10, b"", "its signature belongs to no key"),
        (11, b"", "its signature belongs to no key"),
        (10, b"\xff" * 32, "r is larger than"),
        (11, b"\xff" * 32, "s is larger than"),
    ],
)
def test_member_that_does_not_fit_is_named(place: int, member: object, complaint: str) -> None:
    with pytest.raises(WireError, match=complaint):
        decode_transaction(changed(sign_kind("EIP-1559"), place, member))


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ([b""] * 5, "authorizations: an entry has six members"),
        ([b"", b"\x01" * 19, b"", b"", b"", b""], "authorizations is not 20 bytes long"),
        ([b"\x00", b"\x01" * 20, b"", b"", b"", b""], "authorizations is not an integer"),
    ],
)
def test_authorization_that_does_not_fit_is_refused(entry: list[bytes], complaint: str) -> None:
    with pytest.raises(WireError, match=complaint):
        decode_transaction(changed(sign_kind("EIP-7702"), 9, [entry]))


def test_blob_hash_of_another_length_is_refused() -> None:
    with pytest.raises(WireError, match="blob hashes is not 32 bytes long"):
        decode_transaction(changed(sign_kind("EIP-4844"), 10, [b"\x01"]))


@pytest.mark.parametrize("v", [0, 1, 26, 29, 34])
def test_v_of_no_signature_is_refused(v: int) -> None:
    with pytest.raises(WireError, match=f"v is {v}; it must be 27, 28 or at least 35"):
        decode_transaction(changed(sign_kind("EIP-155"), 6, v))
