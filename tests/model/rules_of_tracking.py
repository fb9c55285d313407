"""What happens to hashes: people track them, nodes report them, upstream is asked about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import rule

from dashboard.domain.alerts.condition import State, Subject, Transition
from dashboard.domain.health.observation import ExclusionAnswer, Failure
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import LocatedReport, RejectedTransaction
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.poll.exclusion import save_rejections
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.record_answers import record_lookup, record_poll, save_reports
from dashboard.store.tracking.cohorts import KnownHashes, read_cohorts, watched_after
from dashboard.store.tracking.transactions import edit_tracked, track_all, untrack
from tests.model.machine import Memory, StoreMachine, same
from tests.model.world import (
    NETWORKS,
    answer_of,
    answers,
    dated,
    hashes,
    labels,
    lateness,
    networks,
    reports,
    said_of_one,
    some_networks,
)


class AskingMachine(StoreMachine):
    """Rules of tracked transactions and of the archive."""

    @rule(
        wishes=st.lists(
            st.tuples(hashes, some_networks, st.none() | lateness, labels, labels),
            min_size=1,
            max_size=3,
        )
    )
    def people_track(self, wishes: list[tuple[Any, ...]]) -> None:
        now = self.now
        requests = [
            TrackRequest(tx_hash, where, Remarks(None if late is None else now - late, label, note))
            for tx_hash, where, late, label, note in wishes
        ]
        self.change(
            lambda connection: track_all(connection, requests, now),
            lambda held, said: same(said, [held.tracking.track(each, now) for each in requests]),
        )

    @rule(tx_hash=hashes, late=st.none() | lateness, label=labels, note=labels)
    def people_amend(self, tx_hash: TxHash, late: timedelta | None, label: str, note: str) -> None:
        now = self.now
        remarks = Remarks(None if late is None else now - late, label, note)
        self.change(
            lambda connection: edit_tracked(connection, tx_hash, remarks, now),
            lambda held, said: same(said, held.tracking.amend(tx_hash, remarks)),
        )

    @rule(tx_hash=hashes)
    def people_untrack(self, tx_hash: TxHash) -> None:
        self.change(
            lambda connection: untrack(connection, tx_hash),
            lambda held, said: same(said, held.tracking.untrack(tx_hash)),
        )

    @rule()
    def pollers_take_up(self) -> None:
        tracking = self.held.tracking
        after = tracking.taken_up
        with self.store.read() as connection:
            for network_id in NETWORKS:
                found = watched_after(connection, network_id, after)
                ids = [each.cohort_id for each in found]
                taken = read_cohorts(connection, network_id, ids, KnownHashes())
                hashes = {(each, network_id) for cohort in taken for each in cohort.hashes}
                assert {each for each in tracking.fresh if each[1] == network_id} <= hashes
                tracking.taken_up = max([tracking.taken_up, *ids])
        tracking.fresh.clear()

    @rule(network_id=networks, what=st.data(), number=st.integers(1, 3))
    def poller_asks_cohorts(self, network_id: NetworkId, what: st.DataObject, number: int) -> None:
        """Ask as the poll does: whole cohorts, of which some may be gone when it writes."""
        self.now += timedelta(seconds=1)
        now = self.now
        with self.store.read() as connection:
            ids = [each.cohort_id for each in watched_after(connection, network_id, 0)]
            due = read_cohorts(connection, network_id, ids[:number], KnownHashes())
        hashes = [each for cohort in due for each in cohort.hashes]
        answers = [answer_of((each, what.draw(said_of_one())), now) for each in hashes]
        told = [(each, self.new_id()) for each in answers if each.record is not None]
        if due:
            self._keep(
                network_id,
                told,
                lambda connection: record_poll(connection, network_id, now, due, answers),
                lambda held: held.tracking.asked(network_id, now, answers, is_polled=True),
            )

    @rule(group=st.lists(reports(), min_size=1, max_size=4))
    def nodes_report(self, group: list[tuple[LocatedReport, timedelta]]) -> None:
        now = self.now
        located = [dated(each, now) for each in group]
        self.change(
            lambda connection: save_reports(connection, located, now),
            lambda held, said: same(said, [held.archive.report(each, now) for each in located]),
        )

    @rule(
        network_id=networks,
        said=answers(),
        is_polled=st.booleans(),
        elapsed=st.sampled_from([timedelta(0), timedelta(seconds=3)]),
    )
    def upstream_answers(
        self,
        network_id: NetworkId,
        said: list[tuple[TxHash, RejectedTransaction | Failure | None]],
        elapsed: timedelta,
        *,
        is_polled: bool,
    ) -> None:
        self.now += elapsed
        now = self.now
        told = [(answer_of(each, now), self.new_id()) for each in said]
        plain = [each for each, _ in told]

        self._keep(
            network_id,
            told,
            lambda connection: record_lookup(
                connection, network_id, now, plain, is_polled=is_polled
            ),
            lambda held: held.tracking.asked(network_id, now, plain, is_polled=is_polled),
        )

    def _keep(
        self,
        network_id: NetworkId,
        told: Sequence[tuple[ExclusionAnswer, UUID]],
        record: Callable[[Connection], object],
        expected: Callable[[Memory], None],
    ) -> None:
        """Write down what was asked, and the news of it, in one transaction."""
        now = self.now

        def act(connection: Connection) -> None:
            record(connection)
            found = [(each.record, new_id) for each, new_id in told if each.record is not None]
            new_ids = iter([new_id for _, new_id in found])
            rejected = [rejection for rejection, _ in found]
            save_rejections(connection, network_id, rejected, now, partial(next, new_ids))

        def expect(held: Memory, _: object) -> None:
            expected(held)
            for answer, new_id in told:
                if answer.record is None:
                    continue
                subject = Subject.transaction(network_id, answer.tx_hash)
                place = held.archive.poll(network_id, answer.record, now)
                before = held.conditions.state(subject)
                transition = Transition(new_id, subject, before, State.REJECTED, now)
                held.conditions.change(transition, place)

        self.change(act, expect)
