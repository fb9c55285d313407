"""Reporters as nodes run them: they hand in side by side and note each acknowledgement."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPException
from itertools import islice
from random import Random
from typing import Any, Final

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from dashboard.devnet.chain import SeededRandom
from dashboard.devnet.own_transactions import Payment, SimulatedAccount
from dashboard.domain.quantity import Address, Wei
from tests.faults.serve_processes import KEY, SAVE, a_call, connected, post
from tests.waiting import PATIENCE, eventually

_ACCOUNT: Final = SimulatedAccount(SeededRandom(1), "faults", 1)
_RECIPIENT: Final = Address(b"\x42" * Address.LENGTH)
ACKNOWLEDGED: Final = frozenset({"SAVED", "DUPLICATE_ALREADY_SAVED_BEFORE"})


@dataclass(frozen=True, slots=True)
class SentReport:
    """One report: the params of its call, and what it is known by."""

    tx_hash: str
    reason: str
    params: dict[str, Any] = field(compare=False)


@dataclass
class Acknowledgements:
    """What a group of reporters handed in, and what came of it.

    `broken` says why connections ended, by the way over which they reported.
    """

    sent: set[SentReport] = field(default_factory=set)
    acknowledged: set[SentReport] = field(default_factory=set)
    refused: list[dict[str, Any]] = field(default_factory=list)
    denied: set[SentReport] = field(default_factory=set)
    broken: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    first: threading.Event = field(default_factory=threading.Event)
    enough: threading.Event = field(default_factory=threading.Event)

    def wait_for_the_first(self) -> None:
        """Return as soon as something is acknowledged."""
        assert self.first.wait(PATIENCE), f"nothing was acknowledged: {self.refused[:1]}"

    def wait_for_another(self) -> None:
        """Return as soon as something more is acknowledged."""
        before = len(self.acknowledged)
        eventually(lambda: len(self.acknowledged) > before, what="a save afterwards")

    def take_in(self, reports: Sequence[SentReport], replies: Sequence[dict[str, Any]]) -> None:
        """Note the replies to reports that were sent together."""
        for reply in replies:
            status = (reply.get("result") or {}).get("status")
            if status in ACKNOWLEDGED:
                self.acknowledged.add(reports[reply["id"]])
                self.first.set()
            else:
                self.refused.append(reply)
                self.denied.add(reports[reply["id"]])


class Reports:
    """An endless supply of reports, a few of them about the same transaction or quite the same."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nonce = 0
        self._last: SentReport | None = None

    def take(self, chance: Random) -> SentReport:
        with self._lock:
            lot = chance.random()
            if self._last is not None and lot < 0.1:
                return self._last
            reason = f"TX_MODULE_LINE_COUNT_OVERFLOW({chance.choice(('HUB', 'EXP', 'MMU'))})"
            self._nonce += 1
            self._last = a_sent_report(self._nonce, reason)
            return self._last


def a_sent_report(nonce: int, reason: str = "TX_MODULE_LINE_COUNT_OVERFLOW(HUB)") -> SentReport:
    """Return the report of a sequencer about the transaction with this nonce, just now."""
    payment = Payment(nonce, _RECIPIENT, Wei(1), b"", 21_000, Wei(10**9), Wei(10**9))
    signed = _ACCOUNT.sign(payment)
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    params = {
        "txRejectionStage": "SEQUENCER",
        "timestamp": now,
        "blockNumber": nonce,
        "transactionRLP": f"0x{signed.raw.hex()}",
        "reasonMessage": reason,
        "overflows": [{"module": "HUB", "count": 402, "limit": 70}],
    }
    return SentReport(f"0x{signed.tx_hash.hex()}", reason, params)


@contextmanager
def reporting(
    ports: Sequence[int],
    reports: Reports,
    chance: Random,
    *,
    comes_back: bool = False,
) -> Iterator[Acknowledgements]:
    """Report at every port over two HTTP connections and two WebSockets, until this ends.

    Those whose server ends before end with it, unless they come back.
    """
    acknowledgements = Acknowledgements()
    threads = [
        threading.Thread(
            target=_until_it_ends,
            args=(way, port, reports, Random(chance.random()), acknowledgements, comes_back),  # noqa: S311 - no secret
        )
        for port in ports
        for way in (_over_http, _over_websocket) * 2
    ]
    for thread in threads:
        thread.start()
    try:
        yield acknowledgements
    finally:
        acknowledgements.enough.set()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a reporter waits though its server has ended"


Way = Callable[[int, Iterator[list[SentReport]], Acknowledgements], None]


def _until_it_ends(
    way: Way,
    port: int,
    reports: Reports,
    chance: Random,
    acknowledgements: Acknowledgements,
    comes_back: bool,  # noqa: FBT001 - an argument of a thread
) -> None:
    goes_on = True
    while goes_on:
        try:
            way(port, _groups(reports, chance, acknowledgements), acknowledgements)
        except (OSError, HTTPException, WebSocketException, ValueError) as error:
            # The server has gone, perhaps in the middle of a reply.
            acknowledgements.broken[way.__name__].append(repr(error))
        goes_on = comes_back and not acknowledgements.enough.is_set()


def _groups(
    reports: Reports, chance: Random, acknowledgements: Acknowledgements
) -> Iterator[list[SentReport]]:
    """Yield what is sent together: mostly one report, now and then a handful."""
    while not acknowledgements.enough.is_set():
        size = chance.choice((1, 1, 1, 2, 5))
        group = list(islice(iter(lambda: reports.take(chance), None), size))
        acknowledgements.sent.update(group)
        yield group


def _over_http(
    port: int, groups: Iterator[list[SentReport]], acknowledgements: Acknowledgements
) -> None:
    with connected(port) as connection:
        for group in groups:
            calls = [a_call(SAVE, each.params, i) for i, each in enumerate(group)]
            if len(calls) > 1:
                acknowledgements.take_in(group, post(connection, calls))
            else:
                acknowledgements.take_in(group, [post(connection, calls[0])])


def _over_websocket(
    port: int, groups: Iterator[list[SentReport]], acknowledgements: Acknowledgements
) -> None:
    """Send a group as single messages, one after the other, before any reply is read."""
    with connect(f"ws://127.0.0.1:{port}/ws/v3/{KEY}", proxy=None, compression=None) as socket:
        for group in groups:
            for i, each in enumerate(group):
                socket.send(json.dumps(a_call(SAVE, each.params, i)))
            for _ in group:
                acknowledgements.take_in(group, [json.loads(socket.recv(timeout=PATIENCE))])
