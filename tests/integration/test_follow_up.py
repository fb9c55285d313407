"""Follow-up by receipt: what becomes of rejected transactions on devnet and on a real node."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

import pytest
from eth_account import Account

from dashboard.devnet.genesis import DEVNET_ID
from dashboard.devnet.rejection_scripts import SCRIPTS, FinalOutcome
from dashboard.devnet.traffic import REJECTION_SECONDS, Traffic, TrafficRunner
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import RejectionReport, SaveStatus
from dashboard.domain.secret import Secret
from dashboard.domain.tracking.cadence import FOLLOW_UP_CADENCE, calls_between
from dashboard.domain.tracking.inclusion import SETTLES_AFTER
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import Verdict, VerdictKind, conclude
from dashboard.poll.block_follower import BlockReader, InclusionAsker
from dashboard.poll.inclusion import InclusionPoll, ReceiptQueue
from dashboard.poll.lease import Clocks, Lease, NetworkStore
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.transactions import track
from dashboard.upstream.blocks import BlockStream
from dashboard.upstream.endpoint import Charge, Endpoint
from dashboard.upstream.http import HttpAsker, RetryPolicy, open_client
from dashboard.upstream.node import InclusionClient, NodeClient
from tests.anvil import CHAIN_ID, Anvil, running_anvil
from tests.builders import a_hash, a_record, seconds
from tests.fake_clock import FakeClock
from tests.one_by_one import read_evidence, save_report
from tests.saved_record import save_record
from tests.unit.devnet.small_devnet import Devnet, ManualClock

ANVIL_NETWORK: Final = NetworkId(CHAIN_ID)
# The second account of the phrase that every development node is born with: worth nothing.
KEY: Final = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
SENDER: Final = Account.from_key(KEY).address
GENEROUS: Final = 100 * 10**9
A_MINUTE: Final = seconds(60)
PLAYED: Final = 17 * REJECTION_SECONDS
SILENT: Final = 60


def a_poll(
    store: Store,
    network_id: NetworkId,
    asker: InclusionAsker,
    clocks: Clocks,
    blocks: BlockReader | None = None,
) -> InclusionPoll:
    term = Lease(store, "worker", "worker 1", timedelta(days=1), clocks.elapsed).acquire()
    assert term is not None
    own = NetworkStore(store, network_id, term)
    return InclusionPoll(asker, own, ReceiptQueue(FOLLOW_UP_CADENCE), clocks, uuid4, blocks)


def verdict_on(store: Store, tx_hash: TxHash) -> Verdict:
    with store.read() as connection:
        [found] = read_evidence(connection, None, tx_hash)
    return conclude(found)


class Nodes:
    """What the simulated nodes hand in goes straight to the store, and is tracked there."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self._store = store
        self._clock = clock

    async def report(self, report: RejectionReport) -> SaveStatus:
        tx_hash = report.transaction.tx_hash
        with self._store.write() as connection:
            track(connection, TrackRequest(tx_hash, (DEVNET_ID,)), self._clock())
            return save_report(connection, report, DEVNET_ID, self._clock())


class DevnetAsker:
    """Asks a devnet of this process."""

    endpoint = Endpoint("devnet node", Secret("http://127.0.0.1:1"))

    def __init__(self, devnet: Devnet) -> None:
        self._devnet = devnet
        self.asked = Counter[str]()

    async def post_json(self, body: bytes, limit: int, charge: Charge | None = None) -> bytes:
        if charge is not None:
            self.asked[charge.operation] += charge.calls
        answer = self._devnet.body(body)
        assert answer is not None
        assert len(answer) <= limit
        return answer


def a_hand_clock(clock: ManualClock) -> Clocks:
    began = clock()
    return Clocks(clock, lambda: clock() - began)


async def test_every_ending_of_a_devnet_story_is_found_with_few_receipts(store: Store) -> None:
    devnet = Devnet()
    clock, began = devnet.clock, devnet.clock()
    nodes = Nodes(store, clock)
    traffic_runner = TrafficRunner(devnet.chain, nodes, lambda *_: None, clock)
    asker = DevnetAsker(devnet)
    client = InclusionClient(NodeClient(asker), DEVNET_ID)
    blocks = BlockStream([NodeClient(asker)], DEVNET_ID)
    poll = a_poll(store, DEVNET_ID, client, a_hand_clock(clock), blocks)
    with store.write() as connection:
        for number in range(SILENT):
            track(connection, TrackRequest(a_hash(number), (DEVNET_ID,)), clock())
    for _ in range(PLAYED + 240):
        clock.pass_by(1)
        await traffic_runner.step()
        await poll.tick()

    expected = dict(endings(devnet, began, began + timedelta(seconds=PLAYED)))
    found = {tx_hash: verdict_on(store, tx_hash).kind for tx_hash in expected}
    assert found == expected
    assert set(expected.values()) == {
        VerdictKind.REJECTED,
        VerdictKind.REJECTED_THEN_INCLUDED,
        VerdictKind.REPLACED,
    }
    silent = {verdict_on(store, a_hash(number)).kind for number in range(SILENT)}
    assert silent == {VerdictKind.NOT_CHECKED_YET}
    checks = calls_between(timedelta(), clock() - began, FOLLOW_UP_CADENCE)
    receipts = asker.asked["eth_getTransactionReceipt"] - asker.asked["eth_getTransactionCount"]
    assert receipts < SILENT * checks / 2


def endings(
    devnet: Devnet, since: datetime, until: datetime
) -> Iterator[tuple[TxHash, VerdictKind]]:
    """Tell from the scripts how each rejection that was reported in that time ends."""
    traffic = Traffic(devnet.chain)
    kinds = {
        FinalOutcome.STUCK: VerdictKind.REJECTED,
        FinalOutcome.INCLUDED: VerdictKind.REJECTED_THEN_INCLUDED,
        FinalOutcome.REPLACED: VerdictKind.REPLACED,
    }
    first, last = (int(each.timestamp()) // REJECTION_SECONDS for each in (since, until))
    for number in range(first + 1, last):
        story = traffic.rejection(number)
        if story.reports[0].at <= until:
            script = SCRIPTS[number % len(SCRIPTS)]
            yield story.transaction.tx_hash, kinds[script.outcome]


@pytest.fixture
def anvil() -> Iterator[Anvil]:
    with running_anvil() as node:
        yield node


@asynccontextmanager
async def following(
    store: Store, node: Anvil, fake_clock: FakeClock
) -> AsyncIterator[InclusionPoll]:
    endpoint = Endpoint("anvil node", Secret(node.url))
    async with open_client() as http:
        client = NodeClient(HttpAsker(http, endpoint, RetryPolicy()))
        asker = InclusionClient(client, ANVIL_NETWORK)
        yield a_poll(store, ANVIL_NETWORK, asker, fake_clock.clocks)


def send(node: Anvil, fee: int = GENEROUS) -> TxHash:
    """Hand in the sender's first transaction, which waits until something is mined."""
    transaction = {
        "chainId": CHAIN_ID,
        "nonce": 0,
        "to": "0x" + "22" * 20,
        "value": 1,
        "gas": 100_000,
        "maxFeePerGas": fee,
        "maxPriorityFeePerGas": 10**9,
    }
    signed = Account.sign_transaction(transaction, KEY)
    return TxHash.parse(node.ask("eth_sendRawTransaction", f"0x{signed.raw_transaction.hex()}"))


def reject(store: Store, tx_hash: TxHash, fake_clock: FakeClock) -> None:
    """Track a transaction and keep a rejection of it."""
    record = a_record(tx_hash=tx_hash, sender=Address.parse(SENDER), nonce=0)
    with store.write() as connection:
        track(connection, TrackRequest(tx_hash, (ANVIL_NETWORK,)), fake_clock.now())
        save_record(connection, ANVIL_NETWORK, record, fake_clock.now())


async def look_again(
    poll: InclusionPoll, fake_clock: FakeClock, after: timedelta = A_MINUTE
) -> None:
    fake_clock.wait(after)
    await poll.tick()


async def test_real_node_tells_of_a_transaction_that_waits_and_is_included(
    store: Store, anvil: Anvil
) -> None:
    fake_clock = FakeClock()
    tx_hash = send(anvil)
    reject(store, tx_hash, fake_clock)
    async with following(store, anvil, fake_clock) as poll:
        await poll.tick()
        assert verdict_on(store, tx_hash).kind is VerdictKind.REJECTED

        anvil.mine()
        await look_again(poll, fake_clock)
        await look_again(poll, fake_clock, SETTLES_AFTER)

    verdict = verdict_on(store, tx_hash)
    assert verdict.kind is VerdictKind.REJECTED_THEN_INCLUDED
    assert "Its receipt names block 1" in verdict.rests_on
    assert verdict.follows.endswith("Nothing is left to do.")


async def test_real_node_tells_of_an_execution_that_was_reverted(
    store: Store, anvil: Anvil
) -> None:
    fake_clock = FakeClock()
    anvil.ask("anvil_setCode", "0x" + "22" * 20, "0xfe")
    tx_hash = send(anvil)
    reject(store, tx_hash, fake_clock)
    anvil.mine()
    async with following(store, anvil, fake_clock) as poll:
        await poll.tick()

    assert "Its execution was reverted" in verdict_on(store, tx_hash).follows


async def test_real_node_tells_of_a_nonce_that_another_transaction_used(
    store: Store, anvil: Anvil
) -> None:
    fake_clock = FakeClock()
    tx_hash = send(anvil)
    reject(store, tx_hash, fake_clock)
    anvil.ask("anvil_dropTransaction", str(tx_hash))
    other = send(anvil, 2 * GENEROUS)
    anvil.mine()
    async with following(store, anvil, fake_clock) as poll:
        await poll.tick()
        await look_again(poll, fake_clock)

    assert other != tx_hash
    assert verdict_on(store, tx_hash).kind is VerdictKind.REPLACED


async def test_receipt_that_a_reorganisation_took_away_is_not_held_on_to(
    store: Store, anvil: Anvil
) -> None:
    fake_clock = FakeClock()
    before = anvil.ask("evm_snapshot")
    tx_hash = send(anvil)
    reject(store, tx_hash, fake_clock)
    anvil.mine()
    async with following(store, anvil, fake_clock) as poll:
        await poll.tick()
        assert verdict_on(store, tx_hash).kind is VerdictKind.REJECTED_THEN_INCLUDED

        anvil.ask("evm_revert", before)
        await look_again(poll, fake_clock, SETTLES_AFTER)

    assert verdict_on(store, tx_hash).kind is VerdictKind.REJECTED
