"""What a store holds of rejections and their delivery after a fault, and what it must hold."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, func, select, text

from dashboard.domain.alerts.notification import DeliveryResult, NotificationState, Recipient
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.verify import verify
from dashboard.store.schema import (
    conditions,
    deliveries,
    fee_percentiles,
    notification_members,
    notifications,
    outbox,
    rejections,
    suggested_gas_fees,
    transitions,
)
from tests.faults.faulty_mail_server import TakenMail
from tests.faults.reporters import SentReport

_TWICE: Final = """
    SELECT count(*) FROM (
        SELECT 1 FROM rejections WHERE reported_reason_digest IS NOT NULL
        GROUP BY tx_hash, network_id, reported_reason_digest HAVING count(*) > 1
        UNION ALL
        SELECT 1 FROM rejections GROUP BY tx_hash, network_id, version_digest HAVING count(*) > 1
    ) AS twice
"""
_IN_PART: Final = """
    SELECT count(*) FROM rejections LEFT JOIN signed_transactions USING (tx_hash)
    WHERE reported_at IS NOT NULL
      AND (raw IS NULL OR reported_reason_digest IS NULL OR overflows IS NULL)
"""
_MARKS = {Operation.BASE_FEE_PERCENTILE, Operation.BUSY_THRESHOLD}


@dataclass(frozen=True, slots=True)
class Version:
    """One stored version of a rejection."""

    rejection_id: int
    tx_hash: TxHash
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Message:
    """One notification as it is stored."""

    message_id: str
    transition_id: UUID
    address: str
    state: str


@dataclass(frozen=True, slots=True)
class StoredDeliveries:
    """All that a store holds of rejections, of transitions to report and of their delivery."""

    rejections: tuple[Version, ...]
    news: dict[UUID, int]
    """The rejection that each transition to "rejected" names."""
    outbox: tuple[tuple[UUID, bool], ...]
    """Each transition that is pending to somebody, and whether it was turned into notifications."""
    messages: tuple[Message, ...]
    members: tuple[tuple[UUID, str], ...]
    """Each transition that was notified, with the address."""
    told: dict[str, frozenset[str]]
    """The transactions that each message is to name, by its Message-ID."""
    deliveries: Counter[str]
    """How often each notification, by its Message-ID, was marked as sent."""

    @property
    def sent(self) -> set[str]:
        """The Message-IDs of what was marked as sent."""
        return {each.message_id for each in self.messages if each.state == NotificationState.SENT}

    @property
    def is_settled(self) -> bool:
        """Whether nothing waits to become a notification, and no notification to be sent."""
        is_expanded = all(is_done for _, is_done in self.outbox)
        return is_expanded and all(each.state == NotificationState.SENT for each in self.messages)


def stored_deliveries(store: Store) -> StoredDeliveries:
    """Read it all in one transaction."""
    with store.read() as connection:
        return StoredDeliveries(
            tuple(_versions(connection)),
            dict(
                _pairs(
                    connection,
                    select(transitions.c.transition_id, transitions.c.rejection_id).where(
                        transitions.c.rejection_id.is_not(None)
                    ),
                )
            ),
            tuple(
                (entry, expanded_at is not None)
                for entry, expanded_at in _pairs(
                    connection, select(outbox.c.transition_id, outbox.c.expanded_at)
                )
            ),
            tuple(_messages(connection)),
            tuple(_pairs(connection, _members())),
            _told(connection),
            Counter(dict(_pairs(connection, _marks_of_sending()))),
        )


def check_reports(
    url: str,
    acknowledged: Iterable[SentReport],
    sent: Iterable[SentReport],
    refused: Iterable[SentReport] = (),
) -> None:
    """Raise AssertionError unless a store holds what was acknowledged, once and whole.

    It may hold other reports that were `sent`, but none that was `refused` and not sent again.
    """
    with open_store(url) as store:
        check_whole(store)
        with store.read() as connection:
            assert connection.scalar(text(_TWICE)) == 0, "a report is stored twice"
            assert connection.scalar(text(_IN_PART)) == 0, "a report is stored in part"
            stored = {(str(each.tx_hash), each.reason) for each in _versions(connection)}
    known = {(each.tx_hash, each.reason) for each in acknowledged}
    lost = known - stored
    assert not lost, f"{len(lost)} acknowledged reports are lost, such as {min(lost)}"
    strange = stored - {(each.tx_hash, each.reason) for each in sent}
    assert not strange, f"{len(strange)} stored reports are not to be, such as {min(strange)}"
    kept = stored & {(each.tx_hash, each.reason) for each in refused} - known
    assert not kept, f"{len(kept)} reports were refused and are stored"


def check_deliveries(
    found: StoredDeliveries,
    records: Sequence[RejectedTransaction],
    recipients: Sequence[Recipient],
    taken: Sequence[TakenMail],
    others: Sequence[UUID] = (),
) -> None:
    """Raise AssertionError unless each record is stored once and sent to every recipient.

    So are `others`, transitions that are not about rejections.
    """
    stored = [(each.tx_hash, each.reason) for each in found.rejections]
    served = [(each.tx_hash, each.reason_message) for each in records]
    assert Counter(stored) == Counter(served), "rejections are lost, doubled or made up"
    assert Counter(found.news.values()) == Counter(each.rejection_id for each in found.rejections)
    pending = Counter(entry for entry, _ in found.outbox)
    assert set(found.news) <= set(pending), "news is pending to nobody"
    assert set(pending.values()) <= {1}, "news is pending twice"
    changes = (*found.news, *others)
    expected = Counter((change, each.address) for change in changes for each in recipients)
    assert Counter(found.members) == expected, "a change reached nobody, or somebody twice"
    assert found.is_settled, "a notification is still pending"
    assert found.deliveries == Counter(each.message_id for each in found.messages)
    check_mails_arrived(found, taken)


def check_mails_arrived(found: StoredDeliveries, taken: Sequence[TakenMail]) -> None:
    """Raise AssertionError unless every message that is marked as sent arrived, once in a life."""
    arrived = {(each.message_id, each.to) for each in taken}
    marked = {
        (each.message_id, each.address) for each in found.messages if each.message_id in found.sent
    }
    assert marked <= arrived, f"{len(marked - arrived)} messages are marked as sent and never came"
    for each in taken:
        if each.message_id in found.sent:
            told = found.told.get(each.message_id, frozenset())
            assert told == each.hashes, f"{each.message_id} names others than it was to name"
    unknown = arrived - {(each.message_id, each.address) for each in found.messages}
    assert not unknown, f"{len(unknown)} messages came that nobody pending"
    lives = Counter(taken)
    assert not lives or max(lives.values()) == 1, "a worker sent a message twice"


def check_sent_once(found: StoredDeliveries, taken: Sequence[TakenMail]) -> None:
    """Raise AssertionError where a message came twice, or a change stands in two messages."""
    came = Counter((each.message_id, each.to) for each in taken)
    assert max(came.values(), default=1) == 1, "a message came twice"
    assert len(came) == len(found.messages), "another number of messages came than was marked"


def check_ticks(store: Store) -> None:
    """Raise AssertionError where a part of what one tick saw is stored without the rest."""
    with store.read() as connection:
        fees = set(connection.scalars(select(suggested_gas_fees.c.asked_at)))
        marks: dict[datetime, set[str]] = {}
        for at, operation in _pairs(
            connection, select(fee_percentiles.c.asked_at, fee_percentiles.c.operation)
        ):
            marks.setdefault(at, set()).add(operation)
        half = [at for at, operations in marks.items() if operations != _MARKS or at not in fees]
        lone = connection.scalar(
            select(func.count())
            .select_from(
                conditions.outerjoin(transitions, conditions.c.subject == transitions.c.subject)
            )
            .where(transitions.c.transition_id.is_(None))
        )
    assert not half, f"{len(half)} ticks are stored in part"
    assert lone == 0, f"{lone} conditions changed without news"


def check_whole(store: Store) -> None:
    """Raise AssertionError where pages, references, the outbox or derived data are wrong."""
    with store.read() as connection:
        wrong = [each.what for each in verify(connection)]
    assert not wrong, f"the store is not whole: {wrong}"


def _versions(connection: Connection) -> list[Version]:
    column = rejections.c
    query = select(column.rejection_id, column.tx_hash, column.reason_message, column.first_seen_at)
    return [Version(*row) for row in connection.execute(query)]


def _messages(connection: Connection) -> list[Message]:
    column = notifications.c
    query = select(column.message_id, column.transition_id, column.address, column.state)
    return [Message(*row) for row in connection.execute(query)]


def _members() -> Any:  # noqa: ANN401 - a query
    member = notification_members.c
    return select(member.transition_id, member.address).where(member.notification_id.is_not(None))


def _told(connection: Connection) -> dict[str, frozenset[str]]:
    member = notification_members.c
    query = (
        select(notifications.c.message_id, transitions.c.tx_hash)
        .join(notification_members, member.notification_id == notifications.c.notification_id)
        .join(transitions, transitions.c.transition_id == member.transition_id)
        .where(transitions.c.tx_hash.is_not(None))
    )
    found: defaultdict[str, set[str]] = defaultdict(set)
    for message_id, tx_hash in _pairs(connection, query):
        found[message_id].add(str(tx_hash))
    return {message_id: frozenset(hashes) for message_id, hashes in found.items()}


def _marks_of_sending() -> Any:  # noqa: ANN401 - a query
    return (
        select(notifications.c.message_id, func.count())
        .join(deliveries, deliveries.c.notification_id == notifications.c.notification_id)
        .where(deliveries.c.result == DeliveryResult.SENT)
        .group_by(notifications.c.message_id)
    )


def _pairs(connection: Connection, query: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - any query of two columns
    return [(row[0], row[1]) for row in connection.execute(query)]
