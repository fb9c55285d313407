"""Fast status answers: equal to the general ones, to the byte, and never stale."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from structlog.testing import capture_logs

from dashboard.domain.people.access import ApiKey
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import QUERYABLE_WINDOW
from dashboard.domain.secret import Secret
from dashboard.serve.counters import Counters
from dashboard.serve.dependencies import ServeDependencies, ServedNetwork
from dashboard.serve.keys.key_ring import KeyLimiter, KeyRing
from dashboard.serve.rpc.dispatch import Dispatcher
from dashboard.serve.rpc.exclusion_status import StatusReader, load_known_hashes
from dashboard.serve.rpc.methods import exclusion_methods
from dashboard.store.engine.engine import Store, open_store
from dashboard.wire.params import SAVE_REJECTED
from dashboard.wire.status_request import StatusRequest, decode_status_request
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_record
from tests.databases import DATABASES, new_sqlite_store
from tests.integration.running_server import (
    a_call,
    a_report_of,
    a_signed_transaction,
    a_store,
    utc_now,
)
from tests.rpc_messages import METHOD, rpc_messages
from tests.saved_record import save_record

EVERYBODY = ApiKey.of("everybody", Secret("key"))
NARROW = ApiKey.of("narrow", Secret("key"), network_ids=[ANOTHER_NETWORK])
OLD = A_MOMENT - QUERYABLE_WINDOW - timedelta(milliseconds=1)
LAST_MOMENT = A_MOMENT - QUERYABLE_WINDOW
HASHES = [a_hash(number << 224 | 1) for number in range(1, 8)]
ALIKE = a_hash(1 << 224 | 2)
"""Begins as the first of the hashes does, and is not on record."""


@pytest.fixture(scope="module", name="store")
def seeded_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Yield a store with records of both networks, old ones and many versions of one hash."""
    url = new_sqlite_store(tmp_path_factory.mktemp("quick") / "linewatch.db")
    with open_store(url) as store:
        one, other, old, aged, both, much, undated = HASHES
        keep(store, A_NETWORK, one)
        keep(store, ANOTHER_NETWORK, other, reason="\\ \0 é")
        keep(store, A_NETWORK, old, OLD)
        keep(store, A_NETWORK, aged, LAST_MOMENT)
        keep(store, A_NETWORK, both, LAST_MOMENT)
        keep(store, ANOTHER_NETWORK, both, A_MOMENT)
        keep(store, A_NETWORK, undated, None)
        for number in range(150):
            keep(store, A_NETWORK, much, A_MOMENT, reason=f"version {number}")
        yield store


def keep(
    store: Store,
    network: NetworkId,
    tx_hash: TxHash,
    at: object = A_MOMENT,
    *,
    reason: str = "too many lines",
) -> None:
    record = a_record(tx_hash=tx_hash, timestamp=at, reason_message=reason)
    with store.write() as connection:
        save_record(connection, network, record, A_MOMENT)


def services_of(store: Store) -> ServeDependencies:
    networks = (ServedNetwork(A_NETWORK, "one"), ServedNetwork(ANOTHER_NETWORK, "other"))
    return ServeDependencies(store, KeyRing([EVERYBODY]), networks, lambda: A_MOMENT)


async def answered(
    store: Store, bodies: list[bytes], caller: ApiKey, *, quickly: bool
) -> tuple[list[bytes | None], Counters]:
    """Answer all bodies by quick answers, or by none."""
    dependencies = services_of(store)
    lookups = StatusReader(dependencies)
    if quickly:
        await load_known_hashes(dependencies)
    methods = exclusion_methods(dependencies, lookups)
    quick = lookups.quick_records if quickly else None
    rpc = Dispatcher(methods, KeyLimiter(), dependencies.counters, 5, quick)
    try:
        return await rpc.answer_all(bodies, caller), dependencies.counters
    finally:
        dependencies.rejections.close()


@settings(max_examples=40)
@given(
    st.lists(rpc_messages([*HASHES, ALIKE]), min_size=1, max_size=4),
    st.sampled_from([EVERYBODY, NARROW]),
)
def test_quick_answer_is_the_general_one_to_the_byte(
    store: Store, bodies: list[bytes], caller: ApiKey
) -> None:
    ask = partial(answered, store, bodies, caller)

    quick, counted = anyio.run(partial(ask, quickly=True))
    general, counted_generally = anyio.run(partial(ask, quickly=False))

    assert quick == general
    assert +counted.calls == +counted_generally.calls
    assert counted.lookups == counted_generally.lookups


def lookup_of(tx_hash: TxHash, request_id: int = 1) -> bytes:
    call = {"jsonrpc": "2.0", "id": request_id, "method": METHOD, "params": [str(tx_hash)]}
    return json.dumps(call).encode()


@settings(max_examples=20)
@given(st.lists(st.sampled_from([*HASHES, ALIKE]), min_size=2, max_size=9))
def test_lookups_answered_together_are_answered_as_one_by_one(
    store: Store, hashes: list[TxHash]
) -> None:
    bodies = [lookup_of(tx_hash, number) for number, tx_hash in enumerate(hashes)]
    ask = partial(answered, store, bodies, EVERYBODY)

    quick, counted = anyio.run(partial(ask, quickly=True))
    general, counted_generally = anyio.run(partial(ask, quickly=False))

    assert quick == general
    assert counted.calls == counted_generally.calls
    assert counted.lookups == counted_generally.lookups


async def test_burst_over_the_rate_is_answered_as_far_as_the_rate_allows(store: Store) -> None:
    caller = replace(EVERYBODY, requests_per_second=1.0, burst=3)
    bodies = [lookup_of(ALIKE, number) for number in range(5)]

    replies, counted = await answered(store, bodies, caller, quickly=True)

    codes = [json.loads(reply or b"").get("error", {}).get("code") for reply in replies]
    assert codes == [None] * 3 + [-32005] * 2
    assert counted.limited == 2


async def test_lookups_together_of_a_quick_answer_that_breaks_are_admitted_once(
    store: Store,
) -> None:
    dependencies = services_of(store)
    await load_known_hashes(dependencies)
    key_limiter = KeyLimiter()
    methods = exclusion_methods(dependencies, StatusReader(dependencies))
    rpc = Dispatcher(
        methods, key_limiter, dependencies.counters, 5, Broken(dependencies).quick_records
    )

    with capture_logs():
        replies = await rpc.answer_all([lookup_of(HASHES[0]), lookup_of(ALIKE)], EVERYBODY)
    dependencies.rejections.close()

    results = [json.loads(reply or b"")["result"] for reply in replies]
    assert (results[0]["txHash"], results[1]) == (str(HASHES[0]), None)
    assert [use.calls for use in key_limiter.take_uses().values()] == [2]


class Broken(StatusReader):
    """Fails in a way that nobody thought of."""

    async def quick_records(
        self, request: StatusRequest, caller: ApiKey
    ) -> Mapping[int, bytes] | None:
        raise ZeroDivisionError(f"{request} {caller}")


class Shut(KeyLimiter):
    """Opens no method."""

    def allows(self, caller: ApiKey, method: str) -> bool:
        return caller is not EVERYBODY and method == METHOD


def dispatcher_of(
    dependencies: ServeDependencies, lookups: StatusReader, key_limiter: KeyLimiter | None = None
) -> Dispatcher:
    """Dispatch to the methods of these look-ups, which may answer quickly."""
    methods = exclusion_methods(dependencies, lookups)
    limiter = key_limiter or KeyLimiter()
    return Dispatcher(methods, limiter, dependencies.counters, 5, lookups.quick_records)


async def ask(
    dependencies: ServeDependencies,
    lookups: StatusReader,
    tx_hash: TxHash,
    key_limiter: KeyLimiter | None = None,
) -> Any:  # noqa: ANN401 - any JSON value
    rpc = dispatcher_of(dependencies, lookups, key_limiter)
    body = (await rpc.answer(lookup_of(tx_hash), EVERYBODY)).body
    dependencies.rejections.close()
    return None if body is None else json.loads(body)


async def test_quick_answer_that_breaks_is_given_by_the_method(store: Store) -> None:
    dependencies = services_of(store)
    await load_known_hashes(dependencies)

    with capture_logs():
        answer = await ask(dependencies, Broken(dependencies), HASHES[0])

    assert answer["result"]["txHash"] == str(HASHES[0])


async def test_lookup_before_all_is_learnt_is_answered_from_the_store(store: Store) -> None:
    dependencies = services_of(store)

    answer = await ask(dependencies, StatusReader(dependencies), HASHES[0])

    assert answer["result"]["txHash"] == str(HASHES[0])


async def test_lookup_is_refused_to_a_key_that_does_not_open_it(store: Store) -> None:
    dependencies = services_of(store)
    await load_known_hashes(dependencies)

    answer = await ask(dependencies, StatusReader(dependencies), ALIKE, Shut())

    assert answer["error"]["code"] == -32002


@pytest.mark.parametrize("is_queue", [True, False])
async def test_question_after_a_report_sees_it_though_nothing_came_between(
    tmp_path: Path, *, is_queue: bool
) -> None:
    with a_store(tmp_path) as store:
        dependencies = dataclasses.replace(services_of(store), clock=utc_now)
        lookups = StatusReader(dependencies)
        await load_known_hashes(dependencies)
        rpc = dispatcher_of(dependencies, lookups)
        transaction = a_signed_transaction(1, chain_id=A_NETWORK)
        report = json.dumps(a_call(f"linea_{SAVE_REJECTED}", [a_report_of(transaction)])).encode()
        question = lookup_of(TxHash.parse(transaction.tx_hash))

        bodies = [question, report, question]
        if is_queue:
            replies = await rpc.answer_all(bodies, EVERYBODY)
        else:
            replies = [(await rpc.answer(body, EVERYBODY)).body for body in bodies]
        dependencies.rejections.close()

    results = [json.loads(reply or b"")["result"] for reply in replies]
    assert results[0] is None
    assert results[1]["status"] == "SAVED"
    assert results[2]["txHash"] == transaction.tx_hash


async def a_turn_of_the_loop() -> None:
    """Let come what comes from outside: until then one check of the store serves all requests."""
    await asyncio.sleep(0)


@pytest.mark.parametrize("database", DATABASES)
async def test_quick_answer_knows_what_was_saved_a_moment_ago(store_url: str) -> None:
    request = decode_status_request(lookup_of(HASHES[0]))
    assert request is not None
    with open_store(store_url) as store:
        dependencies = services_of(store)
        await load_known_hashes(dependencies)
        lookups = StatusReader(dependencies)

        before = await lookups.quick_records(request, EVERYBODY)
        await a_turn_of_the_loop()
        keep(store, A_NETWORK, HASHES[0])
        after = await lookups.quick_records(request, EVERYBODY)
        dependencies.rejections.close()

    assert before == {}
    assert after is not None
    assert json.loads(after[0])["txHash"] == str(HASHES[0])


def spoil(folder: Path) -> None:
    """Put something into the place of the store that is none."""
    for file in folder.iterdir():
        file.unlink()
    (folder / "linewatch.db").write_bytes(b"no database" * 1_000)


async def test_lookup_is_not_answered_from_memory_while_the_store_cannot_be_asked(
    tmp_path: Path,
) -> None:
    with a_store(tmp_path) as store:
        dependencies = services_of(store)
        await load_known_hashes(dependencies)
        lookups = StatusReader(dependencies)
        request = decode_status_request(lookup_of(ALIKE))
        assert request is not None
        assert await lookups.quick_records(request, EVERYBODY) == {}
        dependencies.rejections.close()

        await a_turn_of_the_loop()
        spoil(tmp_path)

        assert await lookups.quick_records(request, EVERYBODY) is None
