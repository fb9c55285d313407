"""A worker is killed at every point between a due incident and its mark: it fires, once.

What becomes of rejections then: `tests/faults/killed_at_points.py`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from dashboard.alert.channels.maildir import MaildirChannel
from dashboard.alert.deliver import Deliverer, Sending
from dashboard.alert.message import always
from dashboard.alert.notify import Notifier, expand_outbox
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.people.access import Actor
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.incident_list import open_incident_stories
from dashboard.store.alerts.rules import save_rules
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.lease_clock import BootMoment, boot_clock
from dashboard.wiring.clock import elapsed
from tests.builders import A_NETWORK, a_transition, seconds
from tests.databases import new_sqlite_store
from tests.delivery_checks import notifications, take_lease
from tests.killed_delivery import PATIENT, POINTS, utc_now
from tests.processes import PROJECT
from tests.received_mail import mails_of
from tests.recording_channel import ONCALL_ALONE, SENDER, message_about
from tests.waiting import PATIENCE

PENDING = seconds(20)


def an_hour_later() -> BootMoment:
    """Tell a time at which the lease of the dead has run out."""
    now = boot_clock()
    return BootMoment(now.boot_id, now.nanoseconds + 3600 * 10**9)


def die_at(point: str, url: str, maildir: Path) -> None:
    worker = [sys.executable, "-m", "tests.killed_delivery", url, str(maildir), point]
    ended = subprocess.run(worker, cwd=PROJECT, timeout=PATIENCE, check=False)
    assert ended.returncode == -signal.SIGKILL


def deliver_all(store: Store, maildir: Path) -> None:
    channels = {"mail": MaildirChannel(maildir, SENDER)}
    deliverer = Deliverer(store, Sending(channels, message_about), utc_now, elapsed, PATIENT)
    token = take_lease(store, "successor")
    Notifier(store, ONCALL_ALONE, deliverer, utc_now).run(token, always)


@pytest.mark.parametrize("point", POINTS)
def test_incident_that_was_pending_fires_although_its_worker_is_killed(
    tmp_path: Path, point: str
) -> None:
    url = new_sqlite_store(tmp_path / "linewatch.db")
    with open_store(url, an_hour_later) as store:
        become_busy(store, utc_now() - PENDING - seconds(5))
        assert notifications(store) == []
        die_at(point, url, tmp_path / "mail")

        deliver_all(store, tmp_path / "mail")

        [notification] = notifications(store)
        with store.read() as connection:
            [story] = open_incident_stories(connection, 9)
    assert [mail["Message-ID"] for mail in mails_of(tmp_path / "mail")] == [notification.message_id]
    assert notification.state is NotificationState.SENT
    assert story.state is IncidentState.FIRING
    assert [each.kind.value for each in story.events] == ["opened", "fired"]


def become_busy(store: Store, at: datetime) -> None:
    """Let a network be busy since then, of which an incident is pending."""
    with store.write() as connection:
        rule = Rule("busy", RuleKind.BUSY, pending=PENDING)
        save_rules(connection, [rule], Actor("tests", at))
        busy = a_transition(
            subject=Subject(SubjectKind.BUSYNESS, A_NETWORK), after=State.BUSY, at=at
        )
        assert record_transition(connection, busy, None)
    assert expand_outbox(store, ONCALL_ALONE, lambda: at) == 1
