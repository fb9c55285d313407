"""An installation whose store holds a story: rejections, one of them hostile, fees and a mail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import Wei
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notification_claims import mark_sent
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.fees.save import save_gas
from tests.builders import (
    A_NETWORK,
    a_hash,
    a_record,
    a_transition,
    an_address,
    suggested_gas_fees,
)
from tests.databases import new_sqlite_store
from tests.installation import Installation
from tests.one_by_one import recent_notifications
from tests.routes import expand_alone
from tests.saved_record import save_record

HOSTILE: Final = "\x1b[2J\u202egnp.exe\r\nBcc: x =1+1"
HUB: Final = "TX_MODULE_LINE_COUNT_OVERFLOW(HUB)"
LARGEST: Final = Wei(2**63 - 1)


def tell_story(installation: Installation) -> None:
    """Fill the store as if the devnet had been watched for an hour."""
    with store_of(installation) as store, store.write() as connection:
        _reject(connection)
        _tell(connection)
        _observe(connection)


@contextmanager
def store_of(installation: Installation) -> Iterator[Store]:
    """Yield the store of an installation, made where there is none."""
    file = installation.home / "linewatch.sqlite"
    file.parent.mkdir(exist_ok=True)
    url = f"sqlite:///{file}" if file.exists() else new_sqlite_store(file)
    with open_store(url) as store:
        yield store


def _now() -> datetime:
    return datetime.now(UTC)


def _reject(connection: Connection) -> None:
    """See the first hash rejected an hour ago, and the second just now, with hostile words."""
    hour_ago = _now() - timedelta(hours=1)
    sequencer = {"tx_rejection_stage": RejectionStage.SEQUENCER, "block_number": 26}
    first = a_record(reason_message=HUB, timestamp=hour_ago, **sequencer)
    second = a_record(
        tx_hash=a_hash(2), sender=an_address(9), reason_message=HOSTILE, timestamp=_now()
    )
    save_record(connection, A_NETWORK, first, hour_ago)
    save_record(connection, A_NETWORK, second, _now())
    record_lookup(connection, A_NETWORK, _now(), [ExclusionAnswer(a_hash(3))])


def _tell(connection: Connection) -> None:
    subject = Subject.transaction(A_NETWORK, a_hash(1))
    record_transition(connection, a_transition(subject=subject, after=State.REJECTED, at=_now()), 1)
    (entry,) = pending_expansion(connection, 1)
    expand_alone(connection, entry, [Recipient("mail", "ops@example.org")], _now())
    (notification,) = recent_notifications(connection, 1)
    mark_sent(connection, notification.notification_id, f"250 {HOSTILE}", _now())
    busyness = Subject(SubjectKind.BUSYNESS, A_NETWORK)
    record_transition(
        connection, a_transition(2, subject=busyness, after=State.BUSY, at=_now()), None
    )


def _observe(connection: Connection) -> None:
    fees = suggested_gas_fees(estimated_base_fee=LARGEST)
    seen = GasObservation(
        A_NETWORK, _now(), fees, base_fee_percentile=Wei(7), busy_threshold=Wei(8)
    )
    save_gas(connection, seen)
