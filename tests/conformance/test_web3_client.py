"""web3.py, unmodified, calls both methods over HTTP and over WebSocket, singly and in batches."""

from __future__ import annotations

import asyncio
from typing import Any, Final, TypeAlias

import pytest
from web3 import AsyncHTTPProvider, AsyncWeb3, HTTPProvider, Web3, WebSocketProvider
from web3.exceptions import Web3RPCError
from web3.method import Method
from web3.module import Module
from web3.types import RPCEndpoint

from tests.conformance.running_apis import GET, SAVE, UNKNOWN_HASH, Served, a_former_report
from tests.integration.running_server import Signed, a_signed_transaction

ODD_LENGTH = "Hex string of transaction hash cannot be parsed: Must have an even length"
METHOD_NOT_FOUND: Final = -32601

Client: TypeAlias = Any
"""web3.py with a module attached, which has no types."""


class Exclusion(Module):  # type: ignore[misc]  # mypy is told to skip web3
    """Both methods, as web3.py lets a user attach them."""

    status: Method[Any] = Method(RPCEndpoint(GET))
    save: Method[Any] = Method(RPCEndpoint(SAVE))


class AsyncExclusion(Exclusion):
    """The same for the asynchronous client."""

    is_async = True


@pytest.fixture(scope="module")
def transaction(served: Served) -> Signed:
    """Return a transaction that was reported."""
    transaction = a_signed_transaction(3)
    served.result(SAVE, a_former_report(transaction))
    return transaction


@pytest.fixture
def web3(served: Served) -> Client:
    return Web3(HTTPProvider(served.http_url), external_modules={"exclusion": Exclusion})


def over_websocket(served: Served) -> Client:
    provider: WebSocketProvider = WebSocketProvider(served.ws_url)
    return AsyncWeb3(provider, external_modules={"exclusion": AsyncExclusion})


def test_calls_reports_and_refusals_arrive_over_http(web3: Client, transaction: Signed) -> None:
    other = a_signed_transaction(4)

    record = web3.exclusion.status(transaction.tx_hash)
    saved = web3.exclusion.save(a_former_report(other))
    unknown = web3.provider.make_request(RPCEndpoint("eth_chainId"), [])
    with pytest.raises(Web3RPCError) as refused:
        web3.exclusion.status("0xabc")

    assert (record["txHash"], record["nonce"]) == (transaction.tx_hash, "0x3")
    assert web3.exclusion.status(UNKNOWN_HASH) is None
    assert saved == {"status": "SAVED", "txHash": other.tx_hash}
    assert unknown["error"]["code"] == METHOD_NOT_FOUND
    assert refused.value.rpc_response is not None
    assert refused.value.rpc_response["error"] == {"code": -32602, "message": ODD_LENGTH}


@pytest.mark.parametrize("size", [1, 20])
def test_batch_over_http_has_its_results_in_order(
    web3: Client, transaction: Signed, size: int
) -> None:
    hashes = [transaction.tx_hash, *[UNKNOWN_HASH] * (size - 1)]
    with web3.batch_requests() as batch:
        for tx_hash in hashes:
            batch.add(web3.exclusion.status(tx_hash))
        results = batch.execute()

    assert results[0]["txHash"] == transaction.tx_hash
    assert results[1:] == [None] * (size - 1)


async def test_asynchronous_client_is_answered_over_http(
    served: Served, transaction: Signed
) -> None:
    provider = AsyncHTTPProvider(served.http_url)
    web3: Client = AsyncWeb3(provider, external_modules={"exclusion": AsyncExclusion})

    record = await web3.exclusion.status(transaction.tx_hash)
    await provider.disconnect()

    assert record["txHash"] == transaction.tx_hash


async def test_socket_answers_calls_reports_and_refusals(
    served: Served, transaction: Signed
) -> None:
    other = a_signed_transaction(5)
    async with over_websocket(served) as web3:
        record = await web3.exclusion.status(transaction.tx_hash)
        saved = await web3.exclusion.save(a_former_report(other))
        with pytest.raises(Web3RPCError) as refused:
            await web3.exclusion.status("0xabc")
        again = await web3.exclusion.status(transaction.tx_hash)

    assert record == again
    assert saved["status"] == "SAVED"
    assert ODD_LENGTH in str(refused.value)


async def test_socket_answers_a_batch(served: Served, transaction: Signed) -> None:
    async with over_websocket(served) as web3, web3.batch_requests() as batch:
        batch.add(web3.exclusion.status(transaction.tx_hash))
        batch.add(web3.exclusion.status(UNKNOWN_HASH))
        results = await batch.async_execute()

    assert (results[0]["txHash"], results[1]) == (transaction.tx_hash, None)


async def test_calls_at_once_on_one_socket_each_get_their_own_answer(
    served: Served, transaction: Signed
) -> None:
    hashes = [transaction.tx_hash, UNKNOWN_HASH] * 20
    async with over_websocket(served) as web3:
        records = await asyncio.gather(*[web3.exclusion.status(each) for each in hashes])

    assert [record is not None for record in records] == [True, False] * 20
