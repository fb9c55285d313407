"""Every form of a signed transaction that a node may report, from the wire to the record.

Lines of the contract: raw typed bytes, legacy lists, the wrapping of block bodies, ``0x`` optional
and either case; hash, sender, nonce and network are derived; nonces in minimal hexadecimal.
"""

from __future__ import annotations

from typing import Any

import pytest
import rlp  # type: ignore[import-untyped] # it has no types
from eth_hash.auto import keccak

from tests.conformance.running_apis import GET, SAVE, Served, a_former_report
from tests.integration.running_server import NARROW_KEY, Signed
from tests.recorded import recorded
from tests.signed_transactions import BY_KIND, SIGNER, sign_kind

VECTORS: list[dict[str, Any]] = recorded("signed_transactions")["vectors"]
FORMS = {
    f"{vector['name']}, {'wrapped' if 'wrapped' in key else 'raw'}": (vector, text)
    for vector in VECTORS
    for key, text in vector.items()
    if key.startswith("transactionRLP")
}
WRITTEN = {
    "with 0x": lambda text: text,
    "without 0x": lambda text: text[2:],
    "in upper case": lambda text: f"0x{text[2:].upper()}",
}
TYPED = [name for name, fields in BY_KIND.items() if "type" in fields]


def report_of(raw: str, reason: str) -> dict[str, Any]:
    return a_former_report(Signed("", "", raw), reasonMessage=reason)


@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN.keys())
@pytest.mark.parametrize(("vector", "text"), FORMS.values(), ids=FORMS.keys())
def test_recorded_transaction_is_reported_and_found_as_it_was_recorded(
    served: Served,
    request: pytest.FixtureRequest,
    vector: dict[str, Any],
    text: str,
    write: Any,  # noqa: ANN401 - a function of the table
) -> None:
    saved = served.result(SAVE, report_of(write(text), request.node.name))
    record = served.result(GET, [vector["hash"]])

    assert saved == {"status": "SAVED", "txHash": vector["hash"]}
    assert (record["from"], record["nonce"]) == (vector["from"], vector["nonce"])


@pytest.mark.parametrize("name", BY_KIND)
def test_transaction_of_each_kind_is_found_under_its_hash(served: Served, name: str) -> None:
    raw = sign_kind(name, nonce=16)

    saved = served.result(SAVE, [report_of(raw.hex(), "each kind")])
    record = served.result(GET, [saved["txHash"]])

    assert saved["txHash"] == f"0x{keccak(raw).hex()}"
    assert (record["from"], record["nonce"]) == (SIGNER.address.lower(), "0x10")


@pytest.mark.parametrize("name", TYPED)
def test_wrapping_of_block_bodies_makes_no_other_transaction(served: Served, name: str) -> None:
    raw = sign_kind(name, nonce=17)
    wrapped: bytes = rlp.encode(raw)

    statuses = [
        served.result(SAVE, report_of(form.hex(), "wrapped or not"))["status"]
        for form in (wrapped, raw)
    ]

    assert statuses == ["SAVED", "DUPLICATE_ALREADY_SAVED_BEFORE"]


@pytest.mark.parametrize("name", [name for name in BY_KIND if name != "before EIP-155"])
def test_network_of_a_transaction_is_read_from_its_signed_bytes(served: Served, name: str) -> None:
    raw = sign_kind(name, nonce=18, chainId=59144)

    saved = served.result(SAVE, report_of(raw.hex(), "of the other network"), NARROW_KEY)

    assert served.result(GET, [saved["txHash"]], NARROW_KEY) is not None


def test_transaction_that_names_no_network_belongs_to_the_one_configured_for_such(
    served: Served,
) -> None:
    raw = sign_kind("before EIP-155", nonce=19)

    refused = served.ask(SAVE, report_of(raw.hex(), "old"), NARROW_KEY)
    saved = served.result(SAVE, report_of(raw.hex(), "old"))

    assert refused["error"]["code"] == -32602
    assert served.result(GET, [saved["txHash"]], NARROW_KEY) is None
    assert served.result(GET, [saved["txHash"]]) is not None
