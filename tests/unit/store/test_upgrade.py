"""A store of an older version is brought to ours with everything that it holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import create_engine, text

from dashboard.domain.api_key import KeyLimits
from dashboard.domain.audit import Action, Doer
from dashboard.domain.condition import Incident, State, Subject, SubjectKind
from dashboard.domain.coverage import Watched
from dashboard.domain.exclusion import RejectionSource
from dashboard.domain.notification import Recipient
from dashboard.domain.quantity import NetworkId
from dashboard.store.access.api_keys import Credential, create_key, keys_version
from dashboard.store.access.audit_log import (
    AuditFilter,
    audit_entries,
    forget_let_go,
    let_go_before,
    note_action,
)
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.outbox import expand, pending_expansion, recent_notifications
from dashboard.store.engine.engine import installation_id, open_store
from dashboard.store.maintenance.migrate import configuration, migrate
from dashboard.store.monitoring.coverage import watched_from
from dashboard.store.rejections.read import versions
from dashboard.store.rejections.unparsed_reasons import unparsed_reasons
from dashboard.store.schema import REVISION
from dashboard.store.schema.columns import milliseconds_of
from tests.builders import A_MOMENT, a_hash, a_transition, an_id, seconds

OLD_ROW = """
INSERT INTO rejections (network_id, tx_hash, sender, nonce, tx_rejection_stage, reason_message,
                        timestamp, first_seen_at, version_digest)
VALUES (1, :tx_hash, zeroblob(20), zeroblob(8), 'RPC', :reason, :at, :at, :digest)
"""

SUBJECT = Subject(SubjectKind.TRANSACTION, NetworkId(1), a_hash())
OLD_INCIDENT = (
    (
        "INSERT INTO transitions (transition_id, subject, kind, network_id, after, at) "
        "VALUES (:id, :subject, 'transaction', 1, 'rejected', 1795176000000)"
    ),
    (
        "INSERT INTO conditions (subject, kind, network_id, state, since) "
        "VALUES (:subject, 'transaction', 1, 'rejected', 1795176000000)"
    ),
)


OLD_COVERAGE = (
    "INSERT INTO coverage (network_id, watched, since, until) VALUES (1, 'fees', 900, 950)",
    "INSERT INTO coverage (network_id, watched, since, until) VALUES (2, 'fees', 800, 950)",
    (
        "INSERT INTO coverage_gaps (network_id, watched, begins_at, ends_at, cause, reason) "
        "VALUES (1, 'fees', 700, 900, 'not watched', '')"
    ),
)


def a_store_of_the_first_schema(folder: Path, *reasons: str) -> str:
    """Make a store as the first version left it, with one rejection for each reason."""
    url = f"sqlite:///{folder}/linewatch.db"
    engine = create_engine(url)
    with engine.begin() as connection:
        command.upgrade(configuration(connection), "0001")
        for number, reason in enumerate(reasons, start=1):
            row = {
                "tx_hash": bytes(a_hash(number)),
                "reason": reason,
                "at": int(A_MOMENT.timestamp() * 1000),
                "digest": bytes(a_hash(number)),
            }
            connection.execute(text(OLD_ROW), row)
    engine.dispose()
    return url


def test_store_of_the_first_schema_keeps_its_rejections(tmp_path: Path) -> None:
    url = a_store_of_the_first_schema(tmp_path, "TX_MODULE_LINE_COUNT_OVERFLOW(MMU)")

    assert migrate(url) == REVISION

    with open_store(url) as store, store.read() as connection:
        [stored] = versions(connection, a_hash(1))
    assert stored.record.reason_message == "TX_MODULE_LINE_COUNT_OVERFLOW(MMU)"


def test_reasons_of_the_first_schema_are_read_on_the_way(tmp_path: Path) -> None:
    strange = ["back\\slash"] * 1002
    url = a_store_of_the_first_schema(
        tmp_path, *strange, "Module X does not exist in the limits file."
    )

    migrate(url)

    engine = create_engine(url)
    with engine.connect() as connection:
        rows = connection.execute(
            text("SELECT reason_kind, module, count(*) FROM rejections GROUP BY 1, 2 ORDER BY 3")
        ).all()
    engine.dispose()
    assert [tuple(row) for row in rows] == [("module_undefined", "X", 1), ("unparsed", None, 1002)]


@pytest.mark.parametrize("count", [0, 3])
def test_unparsed_reasons_of_the_first_schema_are_counted(tmp_path: Path, count: int) -> None:
    url = a_store_of_the_first_schema(tmp_path, *["<b>who knows</b>"] * count)

    migrate(url)

    with open_store(url) as store, store.read() as connection:
        assert sum(each.count for each in unparsed_reasons(connection, 5)) == count


def test_rejections_of_the_third_schema_become_incidents(tmp_path: Path) -> None:
    url = a_store_of_the_first_schema(tmp_path, "MMU")
    engine = create_engine(url)
    with engine.begin() as connection:
        command.upgrade(configuration(connection), "0003")
        for statement in OLD_INCIDENT:
            connection.execute(text(statement), {"id": an_id(7).hex, "subject": SUBJECT.key()})
    engine.dispose()

    migrate(url)

    with open_store(url) as store, store.write() as connection:
        again = a_transition(transition_id=an_id(8), subject=SUBJECT, before=State.REJECTED)
        assert record_transition(connection, again, 1)
        [entry] = pending_expansion(connection, 10)
        expand(connection, entry, [Recipient("mail", "ops@example.org")], A_MOMENT)
        [notification] = recent_notifications(connection, 10)
    assert notification.incident == Incident(an_id(7), A_MOMENT)


def test_condition_rejected_twice_belongs_to_its_first_rejection(tmp_path: Path) -> None:
    url = a_store_of_the_first_schema(tmp_path)
    engine = create_engine(url)
    later, condition = OLD_INCIDENT[0].replace("1795176000000", "1795176009000"), OLD_INCIDENT[1]
    with engine.begin() as connection:
        command.upgrade(configuration(connection), "0003")
        for number, statement in enumerate((later, OLD_INCIDENT[0], condition), start=7):
            row = {"id": an_id(number).hex, "subject": SUBJECT.key()}
            connection.execute(text(statement), row)
    engine.dispose()

    migrate(url)

    with open_store(url) as store, store.read() as connection:
        held_id = connection.scalar(text("SELECT incident_id FROM conditions"))
    assert held_id == an_id(8).hex


def test_store_of_the_fifth_schema_takes_keys(tmp_path: Path) -> None:
    url = a_store_of_the_first_schema(tmp_path, "MMU")
    engine = create_engine(url)
    with engine.begin() as connection:
        command.upgrade(configuration(connection), "0005")
        connection.execute(
            text("INSERT INTO installation (installation_id, last_token) VALUES (:id, 5)"),
            {"id": an_id(9).hex},
        )
    engine.dispose()

    migrate(url)

    with open_store(url) as store, store.write() as connection:
        assert (installation_id(connection), keys_version(connection)) == (an_id(9), 0)
        assert create_key(
            connection, "wallet", KeyLimits(), Credential(b"k" * 32, b"s" * 32, A_MOMENT)
        )
        assert keys_version(connection) == 1
        [stored] = versions(connection, a_hash(1))
    assert stored.record.reason_message == "MMU"


def test_rejection_of_the_ninth_schema_was_seen_once_and_by_poll(tmp_path: Path) -> None:
    url = a_store_of_the_first_schema(tmp_path, "MMU")
    engine = create_engine(url)
    with engine.begin() as connection:
        command.upgrade(configuration(connection), "0009")
    engine.dispose()

    migrate(url)

    with open_store(url) as store, store.read() as connection:
        [stored] = versions(connection, a_hash(1))
    assert (stored.source, stored.last_seen_at) == (RejectionSource.POLLED, A_MOMENT)


def test_store_of_the_eighth_schema_gets_a_log_that_only_grows(tmp_path: Path) -> None:
    url = a_store_of_the_first_schema(tmp_path, "MMU")
    engine = create_engine(url)
    with engine.begin() as connection:
        command.upgrade(configuration(connection), "0008")
        connection.execute(
            text("INSERT INTO installation (installation_id, last_token) VALUES (:id, 5)"),
            {"id": an_id(9).hex},
        )
    engine.dispose()

    assert migrate(url, by=Doer("ann", A_MOMENT)) == migrate(url, by=Doer("bob", A_MOMENT))

    with open_store(url) as store, store.write() as connection:
        [migrated] = audit_entries(connection, AuditFilter())
        assert (migrated.actor, migrated.action) == ("ann", Action.MIGRATE)
        assert migrated.details == {"from": "0008", "to": REVISION}
        note_action(connection, A_MOMENT, "ann", Action.TRACK, "it")
        assert let_go_before(connection, A_MOMENT + seconds(1))
        assert forget_let_go(connection, 10) == 2
        [stored] = versions(connection, a_hash(1))
    assert stored.record.reason_message == "MMU"


def test_watching_began_before_the_first_gap_that_is_known(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/linewatch.db"
    engine = create_engine(url)
    with engine.begin() as connection:
        command.upgrade(configuration(connection), "0020")
        for statement in OLD_COVERAGE:
            connection.execute(text(statement))
    engine.dispose()

    migrate(url)

    with open_store(url) as store, store.read() as connection:
        began = watched_from(connection, [NetworkId(1), NetworkId(2)], Watched.FEES)
    assert [milliseconds_of(began[NetworkId(each)]) for each in (1, 2)] == [700, 800]
