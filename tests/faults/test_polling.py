"""Short runs: upstream is silent, answers late or otherwise; one of two workers is gone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy.engine import make_url

from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.poll.exclusion import ExclusionAsker
from dashboard.store.engine.engine import open_store
from dashboard.store.engine.leases import WORKER_LEASE, acquire, release
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, a_hash
from tests.databases import new_store
from tests.faults.late_answers import LATE_ANSWERS, answer_late
from tests.faults.noted_writes import NotedWrites
from tests.faults.rows import Chance, Row, play_short
from tests.faults.silent_upstream import SILENT_UPSTREAM, be_silent
from tests.faults.two_workers import TWO_WORKERS


@pytest.mark.parametrize(
    "row", [SILENT_UPSTREAM, LATE_ANSWERS, TWO_WORKERS], ids=lambda row: row.name
)
def test_no_rejection_is_missed_and_none_is_reported_twice(row: Row, tmp_path: Path) -> None:
    play_short(row, tmp_path)


class Deaf:
    """Takes silence for null, as a careless poll would."""

    def __init__(self, asker: ExclusionAsker) -> None:
        self._asker = asker

    async def ask(self, hashes: Sequence[TxHash]) -> list[ExclusionAnswer]:
        return [replace(each, failure=None) for each in await self._asker.ask(hashes)]


def test_poll_that_takes_silence_for_null_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="V1 is shown as answered"):
        be_silent(tmp_path, Chance(1, SILENT_UPSTREAM.name, 4), between=Deaf)


class Stubborn:
    """Believes the first record of a transaction for ever."""

    def __init__(self, asker: ExclusionAsker) -> None:
        self._asker = asker
        self._first: dict[TxHash, RejectedTransaction] = {}

    async def ask(self, hashes: Sequence[TxHash]) -> list[ExclusionAnswer]:
        answers = await self._asker.ask(hashes)
        return [
            each
            if each.record is None
            else replace(each, record=self._first.setdefault(each.tx_hash, each.record))
            for each in answers
        ]


def test_poll_that_sees_no_change_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="versions of 0x"):
        answer_late(tmp_path, Chance(1, LATE_ANSWERS.name, 0), between=Stubborn)


def test_worker_that_writes_after_its_lease_is_found_out(tmp_path: Path) -> None:
    with new_store("postgresql", tmp_path) as url:
        writes = NotedWrites(url)
        first, second = (
            make_url(url)
            .update_query_dict({"application_name": name})
            .render_as_string(hide_password=False)
            for name in ("first", "second")
        )
        with open_store(first) as stale, open_store(second) as other:
            with stale.write() as connection:
                token = acquire(connection, WORKER_LEASE, "first", timedelta(minutes=1))
                assert token is not None
            with stale.write() as connection:
                track(connection, TrackRequest(a_hash(1), (A_NETWORK,)), A_MOMENT)
            with other.write() as connection:
                release(connection, WORKER_LEASE, token)
                assert acquire(connection, WORKER_LEASE, "second", timedelta(minutes=1))
            assert [who for _, who in writes.check_fenced(["first", "second"])] == [
                *("first", "second")
            ]
            with stale.write() as connection:
                track(connection, TrackRequest(a_hash(2), (A_NETWORK,)), A_MOMENT)

        with pytest.raises(AssertionError, match="first, without the lease, wrote"):
            writes.check_fenced(["first", "second"])
