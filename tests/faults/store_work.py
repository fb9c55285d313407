"""What an installation writes, a transaction's worth at a time, drawn by chance."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Final, TypeAlias

from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind
from dashboard.domain.people.access import KeyLimits
from dashboard.domain.quantity import TxHash, Wei
from dashboard.domain.rejections.exclusion import LocatedReport
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.access.api_keys import Credential, create_key, revoke_key
from dashboard.store.alerts.conditions import record_rejection
from dashboard.store.alerts.notification_claims import mark_sent, reschedule
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.leases import acquire
from dashboard.store.evidence.record_answers import record_lookup, save_reports
from dashboard.store.fees.save import save_gas
from dashboard.store.tracking.transactions import track_all, untrack
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    GWEI,
    a_record,
    a_report,
    an_id,
    suggested_gas_fees,
)
from tests.delivery_checks import claim_for_all
from tests.routes import expand_alone
from tests.saved_record import save_record

Work: TypeAlias = Callable[[Connection, Random, int], object]
"""Write something in a transaction; the number is another one each time."""

_NETWORKS: Final = (A_NETWORK, ANOTHER_NETWORK)
_RECIPIENTS: Final = [Recipient("mail", "ops@example.org"), Recipient("mail", "dev@example.org")]


def _at(number: int) -> datetime:
    return A_MOMENT + number * timedelta(minutes=7)


def _hash(chance: Random) -> TxHash:
    return TxHash(chance.randrange(200).to_bytes(2, "big") * 16)


def _report(connection: Connection, chance: Random, number: int) -> None:
    """Keep a group of reports, as `serve` commits them."""
    located = [
        LocatedReport(
            a_report(tx_hash=_hash(chance), reason_message="x" * chance.randrange(2000)),
            chance.choice(_NETWORKS),
        )
        for _ in range(chance.randrange(1, 20))
    ]
    save_reports(connection, located, _at(number))


def _poll(connection: Connection, chance: Random, number: int) -> None:
    """Keep what a tick brought, with the news of it."""
    network_id, at = chance.choice(_NETWORKS), _at(number)
    hashes = sorted({_hash(chance) for _ in range(10)})
    kinds = [chance.choice(("null", "record", "failure")) for _ in hashes]
    failure = Failure(FailureKind.UNAVAILABLE, "no route")
    answers = [
        ExclusionAnswer(
            each,
            record=a_record(tx_hash=each, block_number=number) if kind == "record" else None,
            failure=failure if kind == "failure" else None,
        )
        for each, kind in zip(hashes, kinds, strict=True)
    ]
    record_lookup(connection, network_id, at, answers)
    for place, answer in enumerate(answers):
        if answer.record is not None:
            rejection_id = save_record(connection, network_id, answer.record, at)
            new_id = an_id(1000 * number + place + 1)
            record_rejection(connection, rejection_id, network_id, answer.tx_hash, at, new_id)


def _tell(connection: Connection, chance: Random, number: int) -> None:
    """Turn news into notifications."""
    for entry in pending_expansion(connection, chance.randrange(1, 10)):
        expand_alone(connection, entry, _RECIPIENTS, _at(number))


def _deliver(connection: Connection, chance: Random, number: int) -> None:
    """Claim what is due, and mark it."""
    token = acquire(connection, "mail", "us", timedelta(hours=1))
    assert token is not None
    for notification in claim_for_all(connection, token, _at(number), chance.randrange(1, 10)):
        if chance.random() < 0.7:
            mark_sent(connection, notification.notification_id, "250 ok", _at(number))
        else:
            reschedule(connection, notification, "421 later", _at(number))


def _track(connection: Connection, chance: Random, number: int) -> None:
    """Track some, or many at once."""
    many = chance.choice((3, 3, 3, 1500))
    requests = [
        TrackRequest(TxHash(chance.randbytes(32)), _NETWORKS, Remarks(label=f"label {number}"))
        for _ in range(many)
    ]
    requests += [TrackRequest(_hash(chance), (A_NETWORK,), Remarks(_at(0))) for _ in range(3)]
    track_all(connection, requests, _at(number))
    untrack(connection, _hash(chance))


def _gas(connection: Connection, chance: Random, number: int) -> None:
    """Keep what a poll of gas saw, at times late."""
    observation = GasObservation(
        A_NETWORK,
        _at(number) - chance.choice((timedelta(), timedelta(hours=3))),
        suggested_gas_fees(estimated_base_fee=Wei(chance.randrange(90 * GWEI))),
        tuple(Wei(chance.randrange(90 * GWEI)) for _ in range(chance.randrange(500))),
        Wei(chance.randrange(GWEI)),
    )
    save_gas(connection, observation, timedelta(seconds=2))


def _keys(connection: Connection, chance: Random, number: int) -> None:
    """Make a key, and take it away again or not."""
    credential = Credential(chance.randbytes(32), chance.randbytes(32), _at(number))
    create_key(connection, "alice", KeyLimits(), credential)
    if chance.random() < 0.5:
        revoke_key(connection, "alice", _at(number))


WORKS: Final[tuple[Work, ...]] = (_report, _poll, _tell, _deliver, _track, _gas, _keys)
