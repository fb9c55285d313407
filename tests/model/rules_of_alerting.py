"""What is pending and delivered: conditions change, workers take the lease, claim and send."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from dashboard.domain.alerts.condition import State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.grounds import Signal
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.alerts.notification import DeliveryResult, Notification, Recipient
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.alerts.conditions import record_transition, set_turning_since
from dashboard.store.alerts.notification_claims import (
    ClaimRequest,
    claim,
    mark_dead,
    mark_sent,
    release_claims,
    reschedule,
)
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.leases import acquire, release, renew
from tests.model.access import JOBS
from tests.model.alerting import OPPOSITES, SUBJECTS
from tests.model.machine import Memory, Part, StoreMachine
from tests.model.world import networks
from tests.routes import closings_for, expand_alone

_RECIPIENTS: Final = (
    Recipient("mail", "ops@example.org"),
    Recipient("mail", "dev@example.org"),
    Recipient("webhook", "https://example.org/\0?ops@"),
)
_GROUNDS: Final = FeeGrounds(Signal.BASE_FEE, Wei(2 * 10**9), Wei(10**9))
pauses = st.sampled_from([timedelta(seconds=1), timedelta(hours=1), timedelta(days=3)])
picks = st.integers(0, 10)


class TellingMachine(StoreMachine):
    """Rules of conditions, the outbox, leases and deliveries."""

    @rule(network_id=networks, guess=st.sampled_from([*OPPOSITES]), is_right=st.booleans())
    def network_turns(self, network_id: NetworkId, guess: State | None, *, is_right: bool) -> None:
        subject = Subject(SubjectKind.BUSYNESS, network_id)
        before = self.held.alerting.state(subject) if is_right else guess
        after = OPPOSITES[before]
        changed = Transition(self.new_id(), subject, before, after, self.now, _GROUNDS)
        self.change(
            lambda connection: record_transition(connection, changed, None),
            lambda held, said: _same(said, held.alerting.change(changed, None)),
            Part.ALERTING,
        )

    @rule(pick=picks, is_turning=st.booleans())
    def condition_seems_to_turn(self, pick: int, *, is_turning: bool) -> None:
        subject = SUBJECTS[pick % len(SUBJECTS)]
        since = self.now if is_turning else None
        self.change(
            lambda connection: set_turning_since(connection, subject, since),
            lambda held, _: held.alerting.turn(subject, since),
            Part.ALERTING,
        )

    @rule(
        limit=st.integers(1, 5),
        recipients=st.lists(st.sampled_from(_RECIPIENTS), unique=True, min_size=1),
    )
    def news_becomes_notifications(self, limit: int, recipients: list[Recipient]) -> None:
        now = self.now
        with self.lives.store.read() as connection:
            entries = pending_expansion(connection, limit)
        self.change(
            lambda connection: [
                expand_alone(connection, each, recipients, now) for each in entries
            ],
            lambda held, said: _same(
                said,
                [
                    held.alerting.expand(each.transition.transition_id, recipients, now)
                    for each in entries
                ],
            ),
            Part.ALERTING,
        )

    @rule(
        job=st.sampled_from(JOBS),
        who=st.sampled_from(["us", "them"]),
        term=st.sampled_from([timedelta(seconds=20), timedelta(hours=2)]),
    )
    def worker_takes_office(self, job: str, who: str, term: timedelta) -> None:
        clock = self.machine.clock
        self.change(
            lambda connection: acquire(connection, job, who, term),
            lambda held, token: held.leases.acquire(job, who, term, clock(), token),
            Part.OFFICE,
        )

    @rule(job=st.sampled_from(JOBS), is_stale=st.booleans(), is_prolonged=st.booleans())
    def worker_stays_or_leaves(self, job: str, *, is_stale: bool, is_prolonged: bool) -> None:
        grant = self.held.leases.grants.get(job)
        token = -1 if grant is None or is_stale else grant.holder.token
        term, clock = timedelta(minutes=1), self.machine.clock
        if is_prolonged:
            self.change(
                lambda connection: renew(connection, job, token, term),
                lambda held, said: _same(said, held.leases.renew(job, token, term, clock())),
                Part.OFFICE,
            )
        else:
            self.change(
                lambda connection: release(connection, job, token),
                lambda held, _: held.leases.release(job, token),
                Part.OFFICE,
            )

    @rule()
    def machine_boots(self) -> None:
        self.machine.boot()

    @rule(job=st.sampled_from(JOBS), is_stale=st.booleans(), limit=st.integers(1, 3))
    def worker_claims(self, job: str, limit: int, *, is_stale: bool) -> None:
        grant = self.held.leases.grants.get(job)
        token = -1 if grant is None or is_stale else grant.holder.token
        now, clock = self.now, self.machine.clock

        def expect(held: Memory, claimed: list[Notification]) -> None:
            alive = held.leases.tokens(clock())
            if token in alive:
                for recipient in _RECIPIENTS:
                    held.alerting.close(recipient, token, now)
            ids = [
                each.notification_id
                for recipient in _RECIPIENTS
                for each in held.alerting.due(recipient, tuple(alive - {token}))[:limit]
                if token in alive
            ]
            assert [each.notification_id for each in claimed] == ids
            held.alerting.claim(ids, token, now)
            self.hands += claimed

        def close_and_claim(connection: Connection) -> list[Notification]:
            wanted = [
                ClaimRequest(each, limit, closings=closings_for(connection, each))
                for each in _RECIPIENTS
            ]
            return claim(connection, token, wanted, now)

        self.change(close_and_claim, expect, Part.ALERTING)

    @rule(network_id=networks, limit=st.integers(1, 3))
    def postman_does_a_round(self, network_id: NetworkId, limit: int) -> None:
        job = JOBS[1]
        self.network_turns(network_id, None, is_right=True)
        self.news_becomes_notifications(5, list(_RECIPIENTS))
        self.worker_takes_office(job, "us", timedelta(hours=2))
        self.worker_claims(job, limit, is_stale=False)

    @precondition(lambda self: self.hands)
    @rule(pick=picks, outcome=st.sampled_from(["250 ok", "421 \0 later"]))
    def worker_has_sent(self, pick: int, outcome: str) -> None:
        notification, now = self._picked(pick), self.now
        self.change(
            lambda connection: mark_sent(connection, notification.notification_id, outcome, now),
            lambda held, _: held.alerting.finish(
                notification.notification_id, DeliveryResult.SENT, outcome, now
            ),
            Part.ALERTING,
        )

    @precondition(lambda self: self.hands)
    @rule(
        pick=picks,
        result=st.sampled_from([DeliveryResult.DEFERRED, DeliveryResult.REFUSED]),
        pause=pauses,
    )
    def worker_has_not_sent(self, pick: int, result: DeliveryResult, pause: timedelta) -> None:
        notification, at = self._picked(pick), self.now + pause
        write = reschedule if result is DeliveryResult.DEFERRED else mark_dead

        def expect(held: Memory, said: object) -> None:
            assert said is held.alerting.is_claimed_as(notification)
            if said:
                held.alerting.finish(notification.notification_id, result, "no", at)

        self.change(
            lambda connection: write(connection, notification, "no", at), expect, Part.ALERTING
        )

    @precondition(lambda self: self.hands)
    @rule(pick=picks)
    def worker_frees(self, pick: int) -> None:
        notification = self._picked(pick)
        token = notification.claimed_by
        assert token is not None
        self.change(
            lambda connection: release_claims(connection, token, notification.recipient),
            lambda held, _: held.alerting.free(token, notification.recipient),
            Part.ALERTING,
        )

    def _picked(self, pick: int) -> Notification:
        return self.hands[pick % len(self.hands)]


def _same(said: object, expected: object) -> None:
    assert said == expected
