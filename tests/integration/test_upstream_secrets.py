"""Misbehaving upstreams: none causes a verdict, and no text shows a key, an address or a header."""

from __future__ import annotations

import logging
import traceback

import pytest

from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.secret import Secret
from dashboard.errors import UpstreamError
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.gas import BasicKey, GasClient, PathKey
from tests.integration.faulty_upstreams import (
    AT_ONCE,
    CANARY,
    Behaviour,
    asking_http,
    echoing,
    replying,
)
from tests.integration.upstream_faults import MISBEHAVIOURS, patience_with

HASHES = [TxHash(bytes([place]) * 32) for place in range(5)]
CANARIES: dict[str, Behaviour] = {
    "echo": echoing,
    "echo refused": replying("401 Unauthorized", b'{"message":"' + CANARY.encode() + b'"}'),
    "echo as fee": replying("200 OK", b'{"busyThreshold":"' + CANARY.encode() + b'"}'),
    "echo as json-rpc": replying(
        "200 OK", b'{"id":1,"error":{"code":-32000,"message":"' + CANARY.encode() + b'"}}'
    ),
    "echo as record": replying(
        "200 OK",
        b'{"id":1,"result":{"txHash":"' + CANARY.encode() + b'","from":"","nonce":"","'
        b'txRejectionStage":"","reasonMessage":"","timestamp":""}}',
    ),
    **{case: behave for case, (behave, _, _) in MISBEHAVIOURS.items()},
}


@pytest.mark.parametrize("case", CANARIES)
async def test_misbehaviour_is_a_failure_that_tells_no_key_address_or_header(
    case: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    async with asking_http(CANARIES[case], AT_ONCE, patience_with(case)) as (asker, upstream):
        credentials = BasicKey(Secret(CANARY), Secret(f"{CANARY}-s3cret"))
        gas = GasClient(asker, NetworkId(1), credentials)
        in_path = GasClient(asker, NetworkId(1), PathKey(Secret(CANARY)))
        exclusion = ExclusionClient(asker, "chain")
        for client in (gas, in_path):
            with pytest.raises(UpstreamError) as raised:
                await client.ask(Operation.BUSY_THRESHOLD)
            told += traceback.format_exception(raised.value)
        answers = await exclusion.ask(HASHES)
        told += [str(answer) for answer in answers]
        told += [repr(each) for each in (asker, gas, exclusion, credentials, asker.endpoint)]

    assert [each.tx_hash for each in answers] == HASHES
    assert all(each.failure and each.record is None for each in answers)
    everything = "\n".join([*told, caplog.text, *capsys.readouterr()])
    assert "c4nary" not in everything
    assert str(upstream.port) not in everything
