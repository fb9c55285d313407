"""What another process stored is seen by the next question, on connections long open."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from dashboard.domain.quantity import TxHash
from dashboard.store.engine.engine import Store, open_store
from tests.builders import a_record
from tests.databases import DATABASES, new_store
from tests.integration.documented_server import a_socket, exchange
from tests.integration.running_server import (
    KEY,
    NETWORK,
    a_call,
    services_of,
    serving,
    utc_now,
)
from tests.saved_record import save_record
from tests.waiting import PATIENCE, eventually

GET = "linea_getTransactionExclusionStatusV1"


@contextmanager
def a_store_in(database: str, folder: Path) -> Iterator[tuple[Store, str]]:
    with new_store(database, folder) as url, open_store(url) as store:
        yield store, url


def save(store: Store, tx_hash: TxHash) -> None:
    with store.write() as connection:
        record = a_record(tx_hash=tx_hash, timestamp=utc_now())
        save_record(connection, NETWORK, record, utc_now())


def numbered(number: int) -> TxHash:
    """Return a hash; none of them begin alike."""
    return TxHash(bytes([number]) * TxHash.LENGTH)


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_every_question_sees_what_was_stored_before_it(
    tmp_path: Path, transport: str, database: str
) -> None:
    with (
        a_store_in(database, tmp_path) as (store, _),
        serving(dependencies := services_of(store)) as address,
        httpx.Client(timeout=PATIENCE) as http,
        a_socket(address) as socket,
    ):
        eventually(lambda: dependencies.known.is_loaded)

        def ask(tx_hash: TxHash) -> object:
            question = a_call(GET, [str(tx_hash)])
            if transport == "websocket":
                return exchange(socket, question)["result"]
            return http.post(f"http://{address}/v3/{KEY}", json=question).json()["result"]

        for number in range(1, 20):
            tx_hash = numbered(number)
            assert ask(tx_hash) is None
            save(store, tx_hash)
            assert ask(tx_hash) is not None


@pytest.mark.parametrize("database", DATABASES)
async def test_many_at_once_miss_nothing_that_any_of_two_servers_stored(
    tmp_path: Path, database: str
) -> None:
    with (
        a_store_in(database, tmp_path) as (store, url),
        open_store(url) as another,
        serving(dependencies := services_of(store)) as first,
        serving(others := services_of(another)) as second,
    ):
        eventually(lambda: dependencies.known.is_loaded and others.known.is_loaded)
        async with httpx.AsyncClient(timeout=PATIENCE) as http:

            async def ask(address: str, tx_hash: TxHash) -> bool:
                question = a_call(GET, [str(tx_hash)])
                reply = await http.post(f"http://{address}/v3/{KEY}", json=question)
                return reply.json()["result"] is not None

            async def one_after_the_other(number: int) -> list[bool]:
                tx_hash = numbered(number)
                addresses = (first, second)
                before = [await ask(each, tx_hash) for each in addresses]
                await asyncio.to_thread(save, another if number % 2 else store, tx_hash)
                return before + [await ask(each, tx_hash) for each in addresses]

            told = await asyncio.gather(*(one_after_the_other(number) for number in range(1, 30)))

    assert told == [[False, False, True, True]] * 29


def test_lookups_go_on_after_the_server_ended_every_session(tmp_path: Path) -> None:
    with (
        a_store_in("postgresql", tmp_path) as (store, url),
        serving(dependencies := services_of(store)) as address,
        httpx.Client(timeout=PATIENCE) as http,
        psycopg.connect(url, autocommit=True) as administrator,
    ):
        eventually(lambda: dependencies.known.is_loaded)

        def ask(number: int) -> dict[str, object]:
            question = a_call(GET, [str(numbered(number))])
            reply: dict[str, object] = http.post(f"http://{address}/v3/{KEY}", json=question).json()
            return reply

        for number in range(1, 6):
            save(store, numbered(number))
            administrator.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid != pg_backend_pid()"
            )
            replies = [ask(number) for _ in range(3)]
            assert all("error" in each or each["result"] for each in replies), replies
            assert replies[-1]["result"] is not None
