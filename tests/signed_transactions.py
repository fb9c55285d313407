"""Transactions of every kind, signed with a throw-away key by a library that is not ours."""

from __future__ import annotations

from typing import Any, Final

from eth_account import Account

SIGNER: Final = Account.from_key(bytes(31) + b"\x07")
RECIPIENT: Final = bytes.fromhex("0e1f42") + bytes(17)

FEES: Final = {"maxFeePerGas": 3, "maxPriorityFeePerGas": 1}
BY_KIND: Final[dict[str, dict[str, Any]]] = {
    "before EIP-155": {"gasPrice": 3},
    "EIP-155": {"gasPrice": 3, "chainId": 424242},
    "EIP-2930": {"type": 1, "gasPrice": 3, "chainId": 424242},
    "EIP-1559": {"type": 2, "chainId": 424242} | FEES,
    "EIP-4844": {"type": 3, "chainId": 424242, "maxFeePerBlobGas": 1} | FEES,
    "EIP-7702": {"type": 4, "chainId": 424242} | FEES,
}


def sign(**changes: object) -> bytes:
    """Sign a transaction of the fields in `changes`; by default an old one."""
    fields = {"nonce": 1, "gas": 21_000, "to": RECIPIENT, "value": 0, "data": b""} | changes
    if fields["to"] is None:
        del fields["to"]
    return bytes(SIGNER.sign_transaction(fields).raw_transaction)


def sign_kind(name: str, **changes: object) -> bytes:
    """Sign a transaction of the kind that BY_KIND calls `name`, on chain 424242 if it names one."""
    extra: dict[str, object] = dict(BY_KIND[name])
    if name == "EIP-4844":
        extra["blobVersionedHashes"] = [b"\x01" + bytes(31)]
    if name == "EIP-7702":
        authorization = {"chainId": 0, "address": RECIPIENT, "nonce": 1}
        extra["authorizationList"] = [SIGNER.sign_authorization(authorization)]
    return sign(**(extra | changes))
