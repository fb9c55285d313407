"""Upstream APIs that are silent for a day: what is shown, who hears of it, what is found later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import anyio
from sqlalchemy import select

from dashboard.application.context import ApplicationContext
from dashboard.application.health import InstallationHealth
from dashboard.application.network_status import (
    Activity,
    NetworkProfile,
    conclude_status,
    read_network_figures,
)
from dashboard.application.source_health import OperationState
from dashboard.domain.alerts.condition import State, SubjectKind, Transition
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.kinds.rejection_rate import RateMeasure
from dashboard.domain.alerts.notification import NotificationKind
from dashboard.domain.alerts.rule import DEFAULT_RULES, Rule
from dashboard.domain.fees.gas import GasPeriods
from dashboard.domain.health.coverage import GapCause, Watched
from dashboard.domain.health.observation import Failure, FailureKind, Operation
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import VerdictKind, conclude
from dashboard.errors import (
    UpstreamError,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from dashboard.poll.exclusion import ExclusionAsker
from dashboard.poll.jobs import Periods, WatchedNetwork
from dashboard.store.alerts.conditions import transition_of
from dashboard.store.alerts.rules import save_rules
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.monitoring.coverage import gaps
from dashboard.store.schema import notification_members, notifications, transitions
from dashboard.store.tracking.transactions import track_all
from tests.builders import A_NETWORK, ANOTHER_NETWORK, a_record
from tests.databases import DATABASES, new_store
from tests.fake_clock import FakeClock
from tests.faults.alerting_lives import RECIPIENTS
from tests.faults.delivery_promises import stored_deliveries
from tests.faults.rows import Chance, Row, playing
from tests.faults.simulated_worker import SimulatedWorker
from tests.one_by_one import read_evidence
from tests.scripted_upstreams import MovingGas, ScriptedExclusion

_SECOND: Final = timedelta(seconds=1)
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_PERIOD: Final = 2 * _MINUTE
_GAS_PERIODS: Final = GasPeriods(_PERIOD, 10 * _PERIOD, 5 * _PERIOD)
_PERIODS: Final = Periods(_PERIOD, _MINUTE, _PERIOD, _PERIOD, _HOUR)
_SOON: Final = 10 * _MINUTE
"""An outage is reported after two minutes without an answer, one of fewer questions later."""

_REMINDED_EVERY: Final = 12
"""Hours: the usual rule about outages repeats itself."""

_SILENT: Final = (
    (SubjectKind.GAS_API,),
    (SubjectKind.EXCLUSION_API,),
    (SubjectKind.GAS_API, SubjectKind.EXCLUSION_API),
)
_MUTED: Final = {
    SubjectKind.GAS_API: {SubjectKind.FEES, SubjectKind.BUSYNESS},
    SubjectKind.EXCLUSION_API: {SubjectKind.TRANSACTION, SubjectKind.REJECTION_RATE},
}
"""What nobody can judge while an API is silent."""

_PARTS: Final = {
    SubjectKind.GAS_API: Watched.FEES,
    SubjectKind.EXCLUSION_API: Watched.REJECTIONS,
}
_FAILURES: Final[tuple[tuple[type[UpstreamError], FailureKind], ...]] = (
    (UpstreamUnavailable, FailureKind.UNAVAILABLE),
    (UpstreamRefused, FailureKind.REFUSED),
    (UpstreamThrottled, FailureKind.THROTTLED),
    (UpstreamUnreadable, FailureKind.UNREADABLE),
)
_RULES: Final = (
    *DEFAULT_RULES,
    Rule("storm", RuleKind.REJECTION_RATE, measure=RateMeasure(5, _HOUR)),
)
_NETWORKS: Final = (A_NETWORK, ANOTHER_NETWORK)
_PROFILES: Final = tuple(
    NetworkProfile(each, f"network {each}", False, _PERIOD, _GAS_PERIODS.threshold_period)  # noqa: FBT003 - as the record has it
    for each in _NETWORKS
)

Between: TypeAlias = Callable[[ExclusionAsker], ExclusionAsker]
"""What stands between the poll and its API: nothing, but in tests of this row."""


class _Told(NamedTuple):
    """A message to one of the recipients: what it is, and the changes that it names."""

    kind: NotificationKind
    changes: Sequence[Transition]


class _Scene:
    """Two networks with both APIs; those of the first fall silent."""

    def __init__(self, store: Store, clock: FakeClock, chance: Chance, between: Between) -> None:
        """Watch both, with a few transactions rejected on each."""
        self.store, self.clock, self.chance = store, clock, chance
        self.gas = {each: MovingGas() for each in _NETWORKS}
        self.exclusion = {each: ScriptedExclusion() for each in _NETWORKS}
        self.rejected: list[tuple[NetworkId, TxHash]] = []
        with store.write() as connection:
            save_rules(connection, _RULES, Actor("tests", clock.now()))
        watched = [
            WatchedNetwork(
                each, _GAS_PERIODS, gas=self.gas[each], exclusion=between(self.exclusion[each])
            )
            for each in _NETWORKS
        ]
        self.worker = SimulatedWorker(store, clock, watched, _PERIODS)

    def track(self, count: int) -> list[TxHash]:
        """Track so many transactions on both networks."""
        hashes = [TxHash(self.chance.randbytes(TxHash.LENGTH)) for _ in range(count)]
        requests = [TrackRequest(each, _NETWORKS, Remarks(self.clock.now())) for each in hashes]
        with self.store.write() as connection:
            track_all(connection, requests, self.clock.now())
        return hashes

    def reject(self, hashes: Sequence[TxHash]) -> None:
        """Let transactions be rejected, each on one network."""
        for each in hashes:
            network_id, now = self.chance.choice(_NETWORKS), self.clock.now()
            lines = self.chance.randrange(100, 10**6)
            reason = f"Transaction line count for module ADD={lines} is above the limit 70"
            record = a_record(tx_hash=each, timestamp=now, reason_message=reason)
            self.exclusion[network_id].reject(record)
            self.rejected.append((network_id, each))

    def fall_silent(self, silent: Sequence[SubjectKind]) -> None:
        """Let APIs of the first network fail, always in one way."""
        error, kind = self.chance.choice(_FAILURES)
        if SubjectKind.GAS_API in silent:
            self.gas[A_NETWORK].errors = dict.fromkeys(Operation, error("the gas API is down"))
        if SubjectKind.EXCLUSION_API in silent:
            self.exclusion[A_NETWORK].silence = Failure(kind, "the exclusion API is down")
            self.exclusion[A_NETWORK].is_down = True

    def answer_again(self) -> None:
        """End what fails."""
        self.gas[A_NETWORK].errors = {}
        self.exclusion[A_NETWORK].is_down = False

    def check_shown(self, silent: Sequence[SubjectKind]) -> None:
        """See that what is too old is shown as that, and nothing else is."""
        now = self.clock.now()
        with self.store.read() as connection:
            figures = [read_network_figures(connection, each, now) for each in _PROFILES]
        are_stale = [conclude_status(each, now).activity is Activity.STALE for each in figures]
        assert are_stale == [SubjectKind.GAS_API in silent, False], "fees are not shown as stale"
        context = ApplicationContext(self.store, _PROFILES, self.clock.now)
        first, other = (
            {each.operation: each.state(now) for each in health.operations}
            for health in InstallationHealth(context).networks()
        )
        wrong = {
            SubjectKind.GAS_API: Operation.SUGGESTED_GAS_FEES,
            SubjectKind.EXCLUSION_API: Operation.EXCLUSION_STATUS,
        }
        for kind, operation in wrong.items():
            shown = first[operation] in {OperationState.FAILING, OperationState.STALE}
            assert shown is (kind in silent), f"{operation} is shown as {first[operation]}"
        assert set(other.values()) == {OperationState.ANSWERED}, "another network is not fresh"

    def check_nothing_known(self, tx_hash: TxHash) -> None:
        """See that a transaction of which nobody said anything is not called free of rejections.

        It was not asked about yet if it was tracked between two tries of what fails.
        """
        with self.store.read() as connection:
            (evidence,) = read_evidence(connection, A_NETWORK, tx_hash)
        found = conclude(evidence).kind
        unknown = {VerdictKind.CANNOT_CHECK, VerdictKind.NOT_CHECKED_YET}
        assert found in unknown, f"a verdict in silence: {found}"

    def changes(self, network_id: NetworkId, since: datetime, until: datetime) -> list[Transition]:
        """Return the changes of a network that somebody is notified of, oldest first."""
        column = transitions.c
        query = select(transitions).where(column.network_id == network_id, column.at >= since)
        query = query.where(column.at < until).order_by(column.at)
        with self.store.read() as connection:
            rows = connection.execute(query).mappings().all()
        return [each for each in map(transition_of, rows) if each.is_notifiable]

    def told(self, since: datetime, until: datetime) -> Iterator[_Told]:
        """Yield the messages that the first recipient got within a time."""
        taken = [
            each.headers.message_id
            for each in self.worker.post.taken
            if since <= each.at < until and each.headers.to == RECIPIENTS[0].address
        ]
        member = notification_members.c
        with self.store.read() as connection:
            for message_id in taken:
                query = (
                    select(notifications.c.kind, *transitions.c)
                    .outerjoin(
                        notification_members,
                        member.notification_id == notifications.c.notification_id,
                    )
                    .outerjoin(transitions, transitions.c.transition_id == member.transition_id)
                    .where(notifications.c.message_id == message_id)
                )
                rows = connection.execute(query).mappings().all()
                named = [each for each in rows if each[transitions.c.transition_id] is not None]
                yield _Told(
                    NotificationKind(rows[0][notifications.c.kind]), list(map(transition_of, named))
                )


class _Outage(NamedTuple):
    """Which APIs of the first network were silent, and from when to when."""

    silent: Sequence[SubjectKind]
    began_at: datetime
    ended_at: datetime


async def _live_through(scene: _Scene, hours: int) -> _Outage:
    """Let APIs be silent for so long, and check what is shown meanwhile."""
    chance, worker = scene.chance, scene.worker
    if chance.random() < 0.5:
        scene.gas[A_NETWORK].gwei = 25
    scene.reject(scene.track(30)[:20])
    await worker.work(15 * _MINUTE)
    scene.track(5)
    await worker.work(chance.random() * _PERIOD)
    silent, began_at = _SILENT[chance.number % len(_SILENT)], scene.clock.now()
    scene.fall_silent(silent)
    await worker.work(2 * _PERIOD + _SECOND)
    scene.check_shown(silent)
    await worker.work(_SOON)
    for _ in range(hours):
        hashes = scene.track(chance.randrange(1, 4))
        scene.reject(chance.sample(hashes, chance.randrange(len(hashes))))
        await worker.work(chance.random() * _HOUR)
        if chance.random() < 0.1:
            worker.restart()
        if SubjectKind.EXCLUSION_API in silent:
            scene.check_nothing_known(hashes[-1])
    outage = _Outage(silent, began_at, scene.clock.now())
    scene.check_shown(silent)
    _check_gaps(scene, outage, is_over=False)
    scene.answer_again()
    return outage


def _check_gaps(scene: _Scene, outage: _Outage, *, is_over: bool) -> None:
    """See that what was not watched has a beginning, and an end once it is over."""
    with scene.store.read() as connection:
        found = gaps(connection, _NETWORKS)
    expected = {(A_NETWORK, _PARTS[each]) for each in outage.silent}
    assert Counter((each.network_id, each.watched) for each in found) == Counter(expected)
    for gap in found:
        assert gap.cause is GapCause.NOT_ANSWERED
        assert gap.reason, "a gap says nothing of its cause"
        late = gap.begins_at - outage.began_at
        assert timedelta() <= late <= 3 * _PERIOD, f"a gap begins {late} after its outage"
        assert (gap.ends_at is not None) is is_over, f"a gap ends at {gap.ends_at}"
        if gap.ends_at is not None:
            late = gap.ends_at - outage.ended_at
            assert timedelta() <= late <= 3 * _PERIOD, f"a gap ends {late} after its outage"


def _check_alerts(scene: _Scene, outage: _Outage) -> None:
    """See that the silence of each API was one alert, and what rests on it was none."""
    began_at, ended_at = outage.began_at, outage.ended_at
    changes = scene.changes(A_NETWORK, began_at, ended_at)
    muted = set().union(*(_MUTED[each] for each in outage.silent))
    for kind in outage.silent:
        own = [each for each in changes if each.subject.kind is kind]
        assert [each.after for each in own] == [State.SILENT], f"{kind} changed {len(own)} times"
        assert own[0].at - began_at <= _SOON, f"the {kind} was reported late"
    for each in changes:
        is_end = each.before is State.BUSY and each.after is State.UNKNOWN
        late = each.at - began_at > _SOON or not is_end
        assert each.subject.kind not in muted or not late, f"reported in silence: {each}"
    told = list(scene.told(began_at, ended_at))
    alerts = [each for each in told if any(it.after is State.SILENT for it in each.changes)]
    assert 1 <= len(alerts) <= len(outage.silent), f"{len(alerts)} alerts"
    again = sum(each.kind is NotificationKind.REMINDER for each in told)
    hours = (ended_at - began_at) // _HOUR
    assert again == hours // _REMINDED_EVERY, f"{again} reminders in {hours} hours"


def _check_end(scene: _Scene, outage: _Outage) -> None:
    """See that the end was reported once, and that nothing was missed."""
    since, until = outage.ended_at, scene.clock.now()
    for kind in (SubjectKind.GAS_API, SubjectKind.EXCLUSION_API):
        ends = [
            each.after
            for each in scene.changes(A_NETWORK, since, until)
            if each.subject.kind is kind
        ]
        assert ends == [State.ANSWERING] * (kind in outage.silent), f"ends of the {kind}: {ends}"
    others = scene.changes(ANOTHER_NETWORK, outage.began_at, until)
    kinds = {each.subject.kind for each in others}
    assert kinds <= {SubjectKind.TRANSACTION, SubjectKind.REJECTION_RATE}, f"of another: {kinds}"
    begin = scene.clock.now() - timedelta(days=30)
    changes = [each for network in _NETWORKS for each in scene.changes(network, begin, until)]
    found = Counter(
        (each.subject.network_id, each.subject.tx_hash)
        for each in changes
        if each.subject.kind is SubjectKind.TRANSACTION
    )
    assert found == Counter(scene.rejected), "rejections were missed, or reported twice"
    expected = {(each.transition_id, to.address) for each in changes for to in RECIPIENTS}
    assert set(scene.worker.delivered().members) == expected, "changes reached others than all"


async def _play(store: Store, clock: FakeClock, chance: Chance, between: Between) -> None:
    scene = _Scene(store, clock, chance, between)
    outage = await _live_through(scene, 24 if chance.number >= len(DATABASES) else 1)
    await scene.worker.work(5 * _PERIOD)
    _check_gaps(scene, outage, is_over=True)
    scene.check_shown(())
    while not stored_deliveries(store).is_settled:
        await scene.worker.work(5 * _PERIOD)
    _check_alerts(scene, outage)
    _check_end(scene, outage)


def be_silent(folder: Path, chance: Chance, between: Between = lambda asker: asker) -> None:
    """Play one outage, on either database in turn."""
    clock, database = FakeClock(), DATABASES[chance.number % len(DATABASES)]
    with new_store(database, folder) as url, open_store(url, clock.boot_clock) as store:
        anyio.run(partial(_play, store, clock, chance, between))


SILENT_UPSTREAM: Final = Row(
    name="silent-upstream",
    promise=(
        "a network's fee source, exclusion API or both answer nothing for 24 hours, on both "
        "databases, while workers restart: that is shown within two poll periods, and one message"
        " says so of each, repeated every 12 hours; of what rests on it, only that a busy spell "
        "is unknown is reported; other networks are unaffected. In the end no rejection was "
        "missed, and the gap in coverage has a beginning and an end"
    ),
    short=len(DATABASES),
    full=20 + len(DATABASES),
    stage=playing(nullcontext, be_silent),
)
