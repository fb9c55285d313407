"""The store under a benchmark of pages: a year of twelve networks, made once a day."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import UUID

from dashboard.application.network_status import NetworkProfile
from dashboard.domain.alerts.condition import State, Subject, Transition
from dashboard.domain.alerts.incident import (
    Incident,
    IncidentEvent,
    IncidentEventKind,
    IncidentState,
)
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.fees.gas import FeeSeries
from dashboard.domain.health.observation import AnswerCounts, ExclusionAnswer, Operation, times_of
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction, RejectionStage
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.incidents import add_events, insert_incident
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.fees.rollups import last_before
from dashboard.store.fees.stored_fees import SeriesKey
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.monitoring.answer_counts import QUARTER, record_answer_counts
from dashboard.store.rejections.counts import rebuild_counters
from dashboard.store.rejections.save import row_of_record
from dashboard.store.schema import (
    REVISION,
    conditions,
    deliveries,
    notification_incidents,
    notifications,
    outbox,
    rejections,
    transitions,
)
from dashboard.store.schema.columns import moment_of
from dashboard.store.tracking.transactions import track_all
from tests.bench.expected_replies import NETWORK
from tests.bench.year_of_fees import copy_fees, insert_all, keep_year_of_fees

FILE: Final = "linewatch.sqlite"
YEAR: Final = timedelta(days=371)
CARDS: Final = tuple(
    NetworkProfile(
        network_id, name, is_simulated=False, gas_period=period, threshold_period=period * 75
    )
    for network_id, name, period in (
        (NETWORK, "Linea", timedelta(seconds=12)),
        (NetworkId(1), "Ethereum", timedelta(seconds=12)),
        (NetworkId(59141), "Linea Sepolia", timedelta(seconds=12)),
    )
)
TWELVE: Final = (
    *CARDS,
    *(
        replace(CARDS[0], network_id=NetworkId(1000 + each), name=f"Chain {each}")
        for each in range(9)
    ),
)
"""The same, and nine networks more whose fees move as those of the first."""

_NETWORKS: Final = tuple(card.network_id for card in CARDS)
_MODULES: Final = tuple(f"MODULE_{number}" for number in range(45))
_SENDERS: Final = 50_000
_REST: Final = (
    "TX_MODULE_LINE_COUNT_OVERFLOW",
    "Internal Error: do not know what to do with result: INVALID_LINE_COUNT",
    "Gas price below configured minimum gas price",
    *(f"Strange reason number {number}" for number in range(40)),
)
_NOTIFICATIONS_IN: Final = 50
"""One rejection in so many was told somebody."""

_INCIDENTS_IN: Final = 100
"""There is an incident for so many rejections, over by now."""

_BUSY_FOR: Final = timedelta(minutes=20)


@dataclass(frozen=True, slots=True)
class PagedStore:
    """A store of `stored` rejections, and as many tracked hashes, whose last fee came at `until`.

    That is the end of its day, or later: the pages of S14 write more fees.
    """

    file: Path
    stored: int
    until: datetime


def made_paged_store(folder: Path, stored: int, day: datetime, fees_of: timedelta) -> PagedStore:
    """Make the store of that day, with fees of so long, unless `folder` holds it.

    Those of other days are deleted.
    """
    kind = f"paged-{fees_of.days}"
    file = folder / f"{kind}-{REVISION}-{stored}-{day:%Y%m%d}" / FILE
    if not file.exists():
        for older in folder.glob(f"{kind}-*"):
            shutil.rmtree(older)
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as fresh:
            url = f"sqlite:///{Path(fresh) / FILE}"
            migrate(url)
            with open_store(url) as store:
                _fill(store, stored, day, fees_of)
            file.parent.mkdir(exist_ok=True)
            (Path(fresh) / FILE).replace(file)
    return PagedStore(file, stored, _newest(file))


def _newest(file: Path) -> datetime:
    with open_store(f"sqlite:///{file}") as store, store.read() as connection:
        last = last_before(connection, SeriesKey(NETWORK, FeeSeries.ESTIMATED_BASE_FEE), 2**62)
    assert last is not None
    return moment_of(last.at)


def stored_hash(number: int) -> TxHash:
    """Return the hash of the rejection with this number, counted from zero."""
    return TxHash(sha256(b"paged %d" % number).digest())


def tracked_hash(number: int) -> TxHash:
    """Return the hash that was tracked with this number; one in a hundred is rejected."""
    if number % 100 == 0:
        return stored_hash(number)
    return TxHash(sha256(b"tracked %d" % number).digest())


def a_sender(number: int) -> Address:
    """Return one of those that send what is rejected; small numbers send more."""
    return Address(sha256(b"sender %d" % number).digest()[: Address.LENGTH])


def _fill(store: Store, stored: int, day: datetime, fees_of: timedelta) -> None:
    with store.write() as connection:
        insert_all(connection, rejections, _rejections(stored, day))
    with store.write() as connection:
        rebuild_counters(connection)
    for network_id in _NETWORKS:
        with store.write() as connection:
            keep_year_of_fees(connection, network_id, day - fees_of, day)
    with store.write() as connection:
        for each in TWELVE[len(CARDS) :]:
            copy_fees(connection, NETWORK, each.network_id)
    with store.write() as connection:
        _make_pending(connection, stored, day)
        _make_incidents(connection, stored, day)
        _answer_for_a_month(connection, day)
    for start in range(0, stored, 20_000):
        with store.write() as connection:
            at = day - YEAR * (1 - start / stored)
            requests = [_request(number) for number in range(start, min(start + 20_000, stored))]
            track_all(connection, requests, at)
            answers = [ExclusionAnswer(each.tx_hash) for each in requests]
            record_lookup(connection, NETWORK, at, answers)


def _answer_for_a_month(connection: Connection, day: datetime) -> None:
    """Count answers to every question as a worker does, as long as they are kept."""
    counts = AnswerCounts(75, times=tuple(75 * each for each in times_of(QUARTER / 9000)))
    asked = dict.fromkeys(Operation, counts)
    for back in range(31 * timedelta(days=1) // QUARTER):
        for network_id in _NETWORKS:
            record_answer_counts(connection, network_id, day - back * QUARTER, asked)


def _request(number: int) -> TrackRequest:
    label = f"team {number % 500}" if number % 10 == 0 else ""
    said = Remarks(
        label=label,
        case_id=f"case {number // 100}",
        owner=f"owner {number % 40}",
        tags=f"#tag{number % 60}",
    )
    return TrackRequest(tracked_hash(number), (NETWORK,), said)


def _rejections(stored: int, day: datetime) -> Iterator[dict[str, Any]]:
    """Yield rows, oldest first: few modules are common, and so are few senders."""
    chance = random.Random(11)  # noqa: S311 - chance for a benchmark, not a secret
    weights = [1 / (1 + place) for place in range(len(_MODULES))]
    modules = chance.choices(_MODULES, weights, k=stored)
    stages = list(RejectionStage)
    for number in range(stored):
        at = day - YEAR * (1 - number / stored)
        module = modules[number]
        lines = 600_000 + number % 999
        reason = f"Transaction line count for module {module}={lines} is above the limit 524288"
        if number % 30 == 0:
            reason = chance.choice(_REST)
        record = RejectedTransaction(
            tx_hash=stored_hash(number),
            sender=a_sender(int(_SENDERS ** chance.random())),
            nonce=number % 10_000,
            tx_rejection_stage=stages[number % 3],
            reason_message=reason,
            timestamp=at - timedelta(seconds=3),
            block_number=None,
        )
        yield row_of_record(record, _NETWORKS[number % 7 % 3], at)


def _make_pending(connection: Connection, stored: int, day: datetime) -> None:
    """Let every fiftieth rejection have been told somebody, the last ones a moment ago."""
    told = range(0, stored, _NOTIFICATIONS_IN)
    changes = [(number, _transition(number, stored, day)) for number in told]
    common = [(number, each, _common(each)) for number, each in changes]
    insert_all(
        connection,
        conditions,
        (
            row | {"state": "rejected", "since": each.at, "rejection_id": number + 1}
            for number, each, row in common
        ),
    )
    insert_all(
        connection,
        transitions,
        (
            row
            | {"transition_id": each.transition_id, "after": "rejected", "at": each.at}
            | {"rejection_id": number + 1}
            for number, each, row in common
        ),
    )
    insert_all(
        connection,
        outbox,
        ({"transition_id": each.transition_id, "expanded_at": each.at} for _, each in changes),
    )
    insert_all(connection, notifications, (_notification(each) for _, each in changes))
    insert_all(
        connection,
        deliveries,
        (
            {"notification_id": each.transition_id, "attempted_at": each.at}
            | {"result": "sent", "outcome": "250 ok"}
            for _, each in changes
        ),
    )


def an_incident_id(stored: int) -> UUID:
    """Return the id of the last incident."""
    return UUID(int=range(0, stored, _INCIDENTS_IN)[-1] + 1)


def _make_incidents(connection: Connection, stored: int, day: datetime) -> None:
    """Let Linea have been busy again and again, and tell somebody of each time."""
    ids = [UUID(int=number + 1) for number in range(0, stored, _INCIDENTS_IN)]
    events: list[tuple[UUID, IncidentEvent]] = []
    for each in ids:
        ended = day - YEAR * (1 - each.int / stored)
        insert_incident(connection, _incident(each, ended))
        events += [
            (each, IncidentEvent(ended - _BUSY_FOR, IncidentEventKind.OPENED, 1)),
            (each, IncidentEvent(ended, IncidentEventKind.RESOLVED, 1)),
        ]
    add_events(connection, events)
    pairs = ({"notification_id": each, "incident_id": each} for each in ids)
    insert_all(connection, notification_incidents, pairs)


def _incident(incident_id: UUID, ended: datetime) -> Incident:
    return Incident(
        incident_id,
        rule="busy",
        kind=RuleKind.BUSY,
        severity=Severity.WARNING,
        group=(("network", str(NETWORK)),),
        state=IncidentState.RESOLVED,
        opened_at=ended - _BUSY_FOR,
        changed_at=ended,
        transitions=2,
        resolved_at=ended,
    )


def _transition(number: int, stored: int, day: datetime) -> Transition:
    subject = Subject.transaction(NETWORK, stored_hash(number))
    at = day - YEAR * (1 - number / stored)
    return Transition(UUID(int=number + 1), subject, None, State.REJECTED, at)


def _common(each: Transition) -> dict[str, Any]:
    subject = each.subject
    return {
        "subject": subject.key(),
        "kind": subject.kind,
        "network_id": subject.network_id,
        "tx_hash": subject.tx_hash,
        "opening_id": each.transition_id,
        "opened_at": each.at,
    }


def _notification(each: Transition) -> dict[str, Any]:
    return {
        "notification_id": each.transition_id,
        "transition_id": each.transition_id,
        "channel": "mail",
        "address": f"ops{each.transition_id.int % 20}@example.org",
        "message_id": f"<{each.transition_id}@linewatch.invalid>",
        "position": each.transition_id.int,
        "created_at": each.at,
        "release_at": each.at,
        "state": NotificationState.SENT,
        "attempts": 1,
        "sent_at": each.at,
        "outcome": "250 ok",
    }
