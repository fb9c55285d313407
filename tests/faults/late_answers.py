"""Rejections that come late, change, vanish and are disputed, beside what must be made of them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import anyio
from sqlalchemy import select

from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.fees.gas import GasPeriods
from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction, RejectionStage
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import Evidence, conclude
from dashboard.poll.exclusion import ExclusionAsker
from dashboard.poll.jobs import Periods, WatchedNetwork
from dashboard.store.alerts.rules import save_rules
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.evidence.evidence import read_evidence_of_many
from dashboard.store.schema import outbox, rejections, transitions
from dashboard.store.tracking.transactions import track_all
from dashboard.upstream.exclusion_endpoints import ExclusionEndpoints
from tests.builders import A_NETWORK, an_address
from tests.databases import DATABASES, new_store
from tests.fake_clock import FakeClock
from tests.faults.alerting_lives import RECIPIENTS
from tests.faults.delivery_promises import stored_deliveries
from tests.faults.rows import Chance, Row, playing
from tests.faults.simulated_worker import SimulatedWorker
from tests.model.answers import ASKED_FOR, RENEWED_FOR, ExpectedAnswers, says_all_of
from tests.model.tracking import verdict_of
from tests.scripted_upstreams import SILENCE

_SECOND: Final = timedelta(seconds=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_PERIODS: Final = Periods(_SECOND, _HOUR, _SECOND, 10 * timedelta(minutes=1), 30 * _DAY)
_GAS_PERIODS: Final = GasPeriods(_HOUR, _HOUR, _HOUR)
_RULES: Final = (Rule("rejections", RuleKind.REJECTED), Rule("changed", RuleKind.CHANGED))
_HASHES: Final = 100
_TRACKED_AT: Final = (timedelta(), timedelta(minutes=7), 26 * _HOUR)
_SENT_AGAIN_AT: Final = (timedelta(minutes=40), 50 * _HOUR)
_GROWTH: Final = 0.2
"""Time passes in steps of so much of the time since something happened last."""

_LONGEST_STEP: Final = 3 * _HOUR
_BACK: Final = 4 * _LONGEST_STEP
"""How long it takes at most until an endpoint that failed is asked as if it had not."""

_ROOT: Final = 0.13
"""By how much the fourth root of the age grows from one question to the next, at most."""

_SELDOM: Final = 8
"""How much more it may grow once a rejection is known."""

Between: TypeAlias = Callable[[ExclusionAsker], ExclusionAsker]
"""What stands between the poll and its endpoints: nothing, but in tests of this row."""


class _Shown(NamedTuple):
    """What an endpoint shows of a transaction from a moment on."""

    since: datetime
    record: RejectedTransaction | None


Life: TypeAlias = Sequence[_Shown]
"""What an endpoint shows of a transaction, in order of time; before the first it is null."""


@dataclass
class _Endpoint:
    """An exclusion endpoint: it shows what the lives of transactions say, and fails at times."""

    name: str
    clock: FakeClock
    downs: Sequence[tuple[datetime, datetime]]
    lives: dict[TxHash, Life] = field(default_factory=dict)

    async def ask(self, hashes: Sequence[TxHash]) -> list[ExclusionAnswer]:
        """Answer for each hash in order."""
        return [self.answer(each) for each in hashes]

    def fails(self, since: datetime, until: datetime) -> bool:
        """Whether it answers nothing at some moment of a time."""
        return any(begin <= until and since <= end for begin, end in self.downs)

    def answer(self, tx_hash: TxHash) -> ExclusionAnswer:
        """Return what it answers about a transaction now."""
        now = self.clock.now()
        if self.fails(now, now):
            return ExclusionAnswer(tx_hash, failure=SILENCE)
        shown = [each.record for each in self.lives.get(tx_hash, ()) if each.since <= now]
        return ExclusionAnswer(tx_hash, shown[-1] if shown else None)


class _Lives:
    """Makes up what endpoints show of transactions."""

    def __init__(self, chance: Chance) -> None:
        """Begin with reasons of which no two are alike."""
        self._chance = chance
        self._lines = 1000

    def life(self, tx_hash: TxHash, since: datetime) -> Life:
        """Return a life: silent, late, changed, gone, back as before or otherwise, to and fro."""
        kind = self._chance.choices(range(6), (35, 25, 15, 10, 8, 7))[0]
        if not kind:
            return ()
        at = self._after(since)
        first = self._record(tx_hash, at)
        shown: list[_Shown] = [_Shown(at, first)]
        for turn in range({1: 0, 2: self._chance.randrange(1, 4), 3: 1, 4: 2, 5: 2}[kind]):
            at = self._after(at)
            other = self._changed(tx_hash, shown[-1].record or first, at)
            gone = (None, self._chance.choice((first, other)))[turn % 2]
            back = (other, first)[turn % 2]
            shown.append(_Shown(at, {2: other, 3: None, 4: gone, 5: back}[kind]))
        return shown

    def beside(self, tx_hash: TxHash, first: Life, since: datetime) -> Life:
        """Return what another endpoint shows: nothing, the same later or in fewer words, other."""
        kind = self._chance.randrange(4)
        if kind == 0 or (not first and self._chance.random() < 0.9):
            return ()
        if kind == 1 or not first:
            return self.life(tx_hash, since)
        late = self._after(since) - since
        lives = [_Shown(each.since + late, each.record) for each in first]
        return lives if kind == 2 else [each._replace(record=_short(each.record)) for each in lives]

    def _after(self, since: datetime) -> datetime:
        """Return a moment after another: any length of time from a second on is as likely."""
        longest = 6.5 * 86_400
        seconds = float(longest ** self._chance.random())
        return since + timedelta(milliseconds=int(1000 * seconds))

    def _record(self, tx_hash: TxHash, at: datetime) -> RejectedTransaction:
        self._lines += 1
        number = self._chance.randrange(1, 2**63)
        stage = self._chance.choice((RejectionStage.RPC, RejectionStage.P2P))
        reason = f"Transaction line count for module HUB={self._lines} is above the limit 70"
        sender = an_address(number)
        return RejectedTransaction(tx_hash, sender, number % 900, stage, reason, at - _SECOND)

    def _changed(
        self, tx_hash: TxHash, record: RejectedTransaction, at: datetime
    ) -> RejectedTransaction:
        """Change one member of a record, or all."""
        other = self._record(tx_hash, at)
        changes: tuple[dict[str, Any], ...] = (
            {"reason_message": other.reason_message},
            {"timestamp": other.timestamp},
            {"nonce": (record.nonce or 0) + 1},
            {"tx_rejection_stage": RejectionStage.SEQUENCER, "block_number": self._lines},
        )
        return self._chance.choice((other, replace(record, **self._chance.choice(changes))))


def _short(record: RejectedTransaction | None) -> RejectedTransaction | None:
    """Leave out of a record what the other shape of answers does not say."""
    if record is None:
        return None
    unstaged = replace(record, tx_rejection_stage=RejectionStage.UNKNOWN, block_number=None)
    return replace(unstaged, nonce=None, timestamp=None)


class _Scene:
    """Transactions that one worker asks endpoints about, and what must come of it."""

    def __init__(self, store: Store, clock: FakeClock, chance: Chance, between: Between) -> None:
        self.store, self.clock, self.chance = store, clock, chance
        self.expected: dict[TxHash, ExpectedAnswers] = {}
        self.ticks: list[datetime] = []
        self._lives = _Lives(chance)
        mode = chance.number % 3
        names = ([""], ["first", "second"], ["first", "second"])[2 - mode]
        self.endpoints = [_Endpoint(each, clock, list(self._downs())) for each in names]
        self.asks_all = mode == 0
        clients = {each.name: each for each in self.endpoints}
        asker: ExclusionAsker = self.endpoints[0]
        if len(names) > 1:
            asker = ExclusionEndpoints(clients, elapsed=clock.elapsed, asks_all=self.asks_all)
        self._asker = between(asker)
        with store.write() as connection:
            save_rules(connection, _RULES, Actor("tests", clock.now()))
        watched = WatchedNetwork(A_NETWORK, _GAS_PERIODS, exclusion=self)
        self.worker = SimulatedWorker(store, clock, [watched], _PERIODS)

    async def ask(self, hashes: Sequence[TxHash]) -> Sequence[ExclusionAnswer]:
        """Ask as the product does, and expect what follows from what those say that it asked."""
        answers = await self._asker.ask(hashes)
        for each in answers:
            asked = {each.endpoint, *(other.endpoint for other in each.beside)}
            said = [(it.name, it.answer(each.tx_hash)) for it in self.endpoints if it.name in asked]
            self.expected[each.tx_hash].hear(self.clock.now(), said)
        return answers

    def track(self, count: int) -> None:
        """Track transactions: sent now, before, at an unknown time, or longer ago than is kept."""
        chance, now = self.chance, self.clock.now()
        attempts = (now, now, now - chance.randrange(1, 7200) * _SECOND, None, now - 8 * _DAY)
        requests = []
        for _ in range(count):
            tx_hash, at = TxHash(chance.randbytes(TxHash.LENGTH)), chance.choice(attempts)
            requests.append(TrackRequest(tx_hash, (A_NETWORK,), Remarks(at)))
            self.expected[tx_hash] = ExpectedAnswers(now, at, at or now)
            life = self._lives.life(tx_hash, now)
            for endpoint in self.endpoints:
                endpoint.lives[tx_hash] = life
                life = self._lives.beside(tx_hash, life, now)
        with self.store.write() as connection:
            track_all(connection, requests, now)

    def send_again(self) -> None:
        """Let people track transactions again, which are sent and perhaps rejected once more."""
        now, requests = self.clock.now(), []
        for tx_hash in self.chance.sample(sorted(self.expected), len(self.expected) // 20):
            self.expected[tx_hash].track_again(now)
            requests.append(TrackRequest(tx_hash, (A_NETWORK,)))
            for endpoint in self.endpoints:
                before = [each for each in endpoint.lives[tx_hash] if each.since <= now]
                endpoint.lives[tx_hash] = [*before, *self._lives.life(tx_hash, now)]
        with self.store.write() as connection:
            track_all(connection, requests, now)

    async def pass_until(self, until: datetime) -> None:
        """Let time pass, in steps that grow."""
        since = self.clock.now()
        while (now := self.clock.now()) < until:
            grown = _GROWTH * (now - since) // _SECOND * _SECOND
            step = min(max(grown, 2 * _SECOND), _LONGEST_STEP, until - now)
            await self.worker.work(step, step)
            self.ticks.append(self.clock.now())
            if self.chance.random() < 0.02:
                self.worker.restart()

    def _downs(self) -> Iterator[tuple[datetime, datetime]]:
        for _ in range(3):
            begin = self.clock.now() + self.chance.random() * 7 * _DAY
            yield begin, begin + self.chance.choice((60 * _SECOND, _HOUR, 6 * _HOUR))


def _check_evidence(scene: _Scene) -> None:
    """See that of each transaction is known what must be, and no more."""
    with scene.store.read() as connection:
        found = read_evidence_of_many(connection, list(scene.expected))
    for tx_hash, known in scene.expected.items():
        (evidence,), expected = found[tx_hash], known.evidence(tx_hash)
        assert Counter(evidence.records) == Counter(expected.records), f"versions of {tx_hash}"
        said = {(each.endpoint, each.said, each.said_at) for each in evidence.statements}
        wanted = {(each.endpoint, each.said, each.said_at) for each in expected.statements}
        assert said == wanted, f"who said what of {tx_hash}: {said}, not {wanted}"
        times, right = _times(evidence), _times(expected)
        assert times == right, f"times of {tx_hash}: {times}, not {right}"
        verdict = conclude(evidence).kind
        assert verdict is verdict_of(expected), f"{tx_hash} is {verdict}"


def _times(evidence: Evidence) -> tuple[datetime | None, ...]:
    return (
        *(evidence.attempted_at, evidence.tracked_at, evidence.first_answered_at),
        *(evidence.last_answered_at, evidence.failing_since),
    )


def _check_updates(scene: _Scene) -> None:
    """See that each version is one update, in its order, and reached everybody once."""
    column = transitions.c
    query = (
        select(column.tx_hash, column.before, column.after, rejections.c.reason_message)
        .join(outbox, outbox.c.transition_id == column.transition_id)
        .join(rejections, rejections.c.rejection_id == column.rejection_id)
        .order_by(outbox.c.outbox_id)
    )
    found = defaultdict(list)
    with scene.store.read() as connection:
        for tx_hash, *change in connection.execute(query):
            found[tx_hash].append(tuple(change))
    for tx_hash, known in scene.expected.items():
        states = [None, *(State.REJECTED for _ in known.versions)]
        expected = [
            (before, State.REJECTED, each.reason_message)
            for before, each in zip(states, known.versions, strict=False)
        ]
        assert found[tx_hash] == expected, f"updates of {tx_hash}: {found[tx_hash]}"
    delivered = scene.worker.delivered()
    everybody = {(each, to.address) for each in delivered.news for to in RECIPIENTS}
    assert set(delivered.members) == everybody, "a change reached others than all"


def _check_in_time(scene: _Scene, tx_hash: TxHash) -> None:
    """See that what an endpoint showed for long enough was seen, and soon enough.

    How long that is, follows from the age alone: its fourth root grows by equal steps.
    """
    known = scene.expected[tx_hash]
    for place, endpoint in enumerate(scene.endpoints[: 1 + scene.asks_all]):
        life = [*endpoint.lives[tx_hash], _Shown(scene.clock.now(), None)]
        for (since, record), (until, _) in pairwise(life):
            if record is None:
                continue
            seen = [at for each, at in known.versions.items() if place or says_all_of(each, record)]
            is_rejected = any(at < since for at in known.versions.values())
            visible = max(since, known.tracked_at, known.born_at)
            deadline = _deadline(scene, visible, known.born_at, is_rejected)
            for again in [each for each in known.renewed_at if each <= since][-1:]:
                sooner = _deadline(scene, since, again, is_rejected)
                deadline = sooner if sooner < again + RENEWED_FOR else deadline
            is_asked = since < known.born_at + ASKED_FOR
            if is_asked and deadline < until and not endpoint.fails(since - _BACK, deadline):
                age, later = since - known.born_at, deadline - since
                assert any(at <= deadline for at in seen), (
                    f"{tx_hash} was rejected at the age of {age}, which was not seen {later} later"
                )


def _deadline(scene: _Scene, since: datetime, born_at: datetime, is_rejected: bool) -> datetime:  # noqa: FBT001 - read beside its fellows
    """Return by when the next question about a transaction must have been asked and answered."""
    age = (since - born_at).total_seconds() + 5
    wait = (age**0.25 + _ROOT * (_SELDOM if is_rejected else 1)) ** 4 - age
    planned = since + 1.5 * timedelta(seconds=wait) + 35 * _SECOND
    place = bisect_right(scene.ticks, planned) + 1
    return scene.ticks[min(place, len(scene.ticks) - 1)]


async def _play(store: Store, clock: FakeClock, chance: Chance, between: Between) -> None:
    scene = _Scene(store, clock, chance, between)
    began_at = clock.now()
    events: list[tuple[timedelta, Callable[[], None]]]
    events = [(each, partial(scene.track, -(-_HASHES // len(_TRACKED_AT)))) for each in _TRACKED_AT]
    events += [(each, scene.send_again) for each in _SENT_AGAIN_AT]
    for after, happen in sorted(events, key=lambda each: each[0]):
        await scene.pass_until(began_at + after)
        _check_evidence(scene)
        happen()
    await scene.pass_until(began_at + _SENT_AGAIN_AT[-1] + ASKED_FOR + 2 * _LONGEST_STEP)
    while not stored_deliveries(store).is_settled:
        await scene.worker.work(_HOUR)
    _check_evidence(scene)
    _check_updates(scene)
    hashes = list(scene.expected)
    for case in chance.cases(_HASHES):
        _check_in_time(scene, hashes[case])


def answer_late(folder: Path, chance: Chance, between: Between = lambda asker: asker) -> None:
    """Play all that becomes of some transactions, on either database in turn."""
    clock, database = FakeClock(), DATABASES[chance.number // 3 % len(DATABASES)]
    with new_store(database, folder) as url, open_store(url, clock.boot_clock) as store:
        anyio.run(partial(_play, store, clock, chance, between))


LATE_ANSWERS: Final = Row(
    name="late-answers",
    promise=(
        "rejections of 10,000 transactions come after seconds or days of null, change, vanish and"
        " return; transactions are tracked again; endpoints fail or disagree, on both databases, "
        "while workers restart: what was shown as long as an interval between questions is seen, "
        "each version is one update to everybody, every verdict is what a plain model concludes"
    ),
    short=_HASHES,
    full=10_000,
    stage=playing(nullcontext, answer_late),
    cases_per_play=_HASHES,
)
