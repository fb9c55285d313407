"""What another process stored is seen by the next question, on connections long open."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from dashboard.domain.quantity import TxHash
from dashboard.store.rejections import save_polled
from tests.builders import a_record
from tests.integration.documented import a_socket, exchange
from tests.integration.serving import (
    KEY,
    NETWORK,
    a_call,
    a_store,
    services_of,
    serving,
    utc_now,
)
from tests.waiting import eventually

GET = "linea_getTransactionExclusionStatusV1"


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_every_question_sees_what_was_stored_before_it(tmp_path: Path, transport: str) -> None:
    with (
        a_store(tmp_path) as store,
        serving(services := services_of(store)) as address,
        httpx.Client() as http,
        a_socket(address) as socket,
    ):
        eventually(lambda: services.known.is_loaded)

        def ask(tx_hash: TxHash) -> object:
            question = a_call(GET, [str(tx_hash)])
            if transport == "websocket":
                return exchange(socket, question)["result"]
            return http.post(f"http://{address}/v3/{KEY}", json=question).json()["result"]

        for number in range(1, 20):
            tx_hash = TxHash(bytes([number]) * TxHash.LENGTH)  # of which none begin alike
            assert ask(tx_hash) is None
            with store.write() as connection:
                record = a_record(tx_hash=tx_hash, timestamp=utc_now())
                save_polled(connection, NETWORK, record, utc_now())
            assert ask(tx_hash) is not None
