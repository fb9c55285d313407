"""Reports of watched transactions: a notification is pending at once, where somebody watches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from dashboard.domain.alerts.condition import State, Subject
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.rule import Rule, RuleScope
from dashboard.domain.people.access import Actor, ApiKey
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.secret import Secret
from dashboard.domain.tracking.inclusion import Inclusion, InclusionAnswer, InclusionQuestion
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.serve.dependencies import ServeDependencies, ServedNetwork
from dashboard.serve.rpc.reports import ReportSaver
from dashboard.store.alerts import outbox
from dashboard.store.alerts.conditions import current_state
from dashboard.store.alerts.rules import save_rules
from dashboard.store.tracking.follow_ups import record_inclusion_answers
from dashboard.store.tracking.senders import WatchedSender, watch_sender
from dashboard.store.tracking.transactions import track
from tests.builders import an_address
from tests.integration.running_server import (
    NETWORK,
    OTHER_NETWORK,
    Signed,
    a_report_of,
    a_signed_transaction,
    a_store,
    services_of,
    utc_now,
)
from tests.one_by_one import newest_tracked

NODE = ApiKey.of("node", Secret("key"))


@pytest.fixture
def dependencies(tmp_path: Path) -> Iterator[ServeDependencies]:
    with a_store(tmp_path) as store:
        yield services_of(store, (ServedNetwork(NETWORK, "home"),))


def watch(
    dependencies: ServeDependencies, transaction: Signed, network_id: NetworkId = NETWORK
) -> None:
    tx_hash = TxHash.fromhex(transaction.tx_hash[2:])
    with dependencies.store.write() as connection:
        track(connection, TrackRequest(tx_hash, (network_id,), Remarks(label="mine")), utc_now())


async def report(dependencies: ServeDependencies, transaction: Signed, **changes: object) -> None:
    await ReportSaver(dependencies).save([a_report_of(transaction, **changes)], NODE)


def pending(dependencies: ServeDependencies) -> list[tuple[State | None, State]]:
    """Return what the outbox owes: states before and after."""
    with dependencies.store.read() as connection:
        entries = outbox.pending_expansion(connection, 100)
    return [(each.transition.before, each.transition.after) for each in entries]


async def test_report_of_a_watched_transaction_owes_news_with_its_save(
    dependencies: ServeDependencies,
) -> None:
    transaction = a_signed_transaction(1)
    watch(dependencies, transaction)

    await report(dependencies, transaction)

    subject = Subject.transaction(NETWORK, TxHash.fromhex(transaction.tx_hash[2:]))
    with dependencies.store.read() as connection:
        assert current_state(connection, subject) is State.REJECTED
    assert pending(dependencies) == [(None, State.REJECTED)]


async def test_report_that_is_handed_in_twice_owes_news_once(
    dependencies: ServeDependencies,
) -> None:
    transaction = a_signed_transaction(1)
    watch(dependencies, transaction)

    for _ in range(2):
        await report(dependencies, transaction)

    assert pending(dependencies) == [(None, State.REJECTED)]


async def test_newer_version_of_a_rejection_is_news_again(dependencies: ServeDependencies) -> None:
    transaction = a_signed_transaction(1)
    watch(dependencies, transaction)

    await report(dependencies, transaction)
    await report(dependencies, transaction, reasonMessage="TX_MODULE_LINE_COUNT_OVERFLOW(MMU)")

    assert pending(dependencies) == [(None, State.REJECTED), (State.REJECTED, State.REJECTED)]


async def test_version_that_a_reader_is_not_shown_is_no_news(
    dependencies: ServeDependencies,
) -> None:
    transaction = a_signed_transaction(1)
    watch(dependencies, transaction)
    await report(dependencies, transaction)

    older = (utc_now() - timedelta(hours=1)).isoformat()
    await report(dependencies, transaction, timestamp=older, reasonMessage="an earlier reason")

    assert pending(dependencies) == [(None, State.REJECTED)]


async def test_report_dated_before_the_seven_days_notifies_of_what_is_watched(
    dependencies: ServeDependencies,
) -> None:
    """Nodes are right and our own clock is a week ahead, or a node reports late."""
    transaction = a_signed_transaction(1)
    watch(dependencies, transaction)

    await report(dependencies, transaction, timestamp=(utc_now() - timedelta(days=8)).isoformat())

    assert pending(dependencies) == [(None, State.REJECTED)]


async def test_late_report_of_what_is_in_a_block_makes_news_of_that_too(
    dependencies: ServeDependencies,
) -> None:
    transaction = a_signed_transaction(1)
    watch(dependencies, transaction)
    tx_hash = TxHash.fromhex(transaction.tx_hash[2:])
    known = InclusionQuestion(tx_hash), InclusionAnswer(tx_hash, Inclusion(7, bytes(32)))
    with dependencies.store.write() as connection:
        record_inclusion_answers(connection, NETWORK, utc_now(), [known])

    await report(dependencies, transaction)

    assert pending(dependencies) == [(None, State.REJECTED), (None, State.INCLUDED)]


async def test_rule_for_all_reports_makes_news_of_what_nobody_watches(
    dependencies: ServeDependencies,
) -> None:
    scope = RuleScope(takes_all_reports=True)
    with dependencies.store.write() as connection:
        rule = Rule("all", RuleKind.REJECTED, scope=scope)
        save_rules(connection, [rule], Actor("ana", utc_now()))

    await report(dependencies, a_signed_transaction(1))

    assert pending(dependencies) == [(None, State.REJECTED)]


async def test_report_of_what_is_watched_elsewhere_is_no_news(
    dependencies: ServeDependencies,
) -> None:
    transaction = a_signed_transaction(1)
    watch(dependencies, transaction, OTHER_NETWORK)
    watch(dependencies, a_signed_transaction(2))

    await report(dependencies, transaction)

    assert pending(dependencies) == []


def watch_sender_of(dependencies: ServeDependencies, transaction: Signed, label: str = "") -> None:
    wish = WatchedSender(Address.parse(transaction.sender), (NETWORK,), utc_now(), label)
    with dependencies.store.write() as connection:
        watch_sender(connection, wish)


async def test_report_of_a_watched_sender_is_tracked_and_owes_news_with_its_save(
    dependencies: ServeDependencies,
) -> None:
    transaction = a_signed_transaction(1)
    watch_sender_of(dependencies, transaction, "payout bot")

    await report(dependencies, transaction)

    with dependencies.store.read() as connection:
        (found,) = newest_tracked(connection, 5)
    assert (str(found.tx_hash), found.remarks.label) == (transaction.tx_hash, "payout bot")
    assert pending(dependencies) == [(None, State.REJECTED)]


async def test_report_of_a_watched_sender_keeps_what_people_wrote_of_the_hash(
    dependencies: ServeDependencies,
) -> None:
    transaction = a_signed_transaction(1)
    watch(dependencies, transaction)
    watch_sender_of(dependencies, transaction)

    for reason in ("one reason", "another reason"):
        await report(dependencies, transaction, reasonMessage=reason)

    with dependencies.store.read() as connection:
        assert [each.remarks.label for each in newest_tracked(connection, 5)] == ["mine"]
    assert pending(dependencies) == [(None, State.REJECTED), (State.REJECTED, State.REJECTED)]


async def test_reports_of_others_are_not_tracked(dependencies: ServeDependencies) -> None:
    with dependencies.store.write() as connection:
        watch_sender(connection, WatchedSender(an_address(), (NETWORK,), utc_now()))

    await report(dependencies, a_signed_transaction(1))

    with dependencies.store.read() as connection:
        assert newest_tracked(connection, 5) == []
    assert pending(dependencies) == []
