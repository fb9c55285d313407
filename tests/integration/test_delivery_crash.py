"""A worker is killed at every point between the news and its mark: nothing pending is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from dashboard.alert.channels.maildir import MaildirChannel
from dashboard.alert.deliver import Deliverer, DeliveryPolicy
from dashboard.alert.delivery_attempt import Sending
from dashboard.alert.message import always
from dashboard.alert.notify import Notifier
from dashboard.domain.notification import NotificationState
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.lease_clock import BootMoment, boot_clock
from dashboard.wiring.clock import elapsed
from tests.databases import new_sqlite_store
from tests.delivery_checks import notifications, reject, take_worker_lease
from tests.killed_delivery import POINTS, utc_now
from tests.processes import PROJECT
from tests.received_mail import mails_of
from tests.recording_channel import ONCALL, SENDER, message_about

PATIENT = DeliveryPolicy(patience=timedelta(seconds=30))


def an_hour_later() -> BootMoment:
    """Tell a time at which the lease of the dead has run out."""
    now = boot_clock()
    return BootMoment(now.boot_id, now.nanoseconds + 3600 * 10**9)


def die_at(point: str, url: str, maildir: Path) -> None:
    worker = [sys.executable, "-m", "tests.killed_delivery", url, str(maildir), point]
    ended = subprocess.run(worker, cwd=PROJECT, timeout=50, check=False)
    assert ended.returncode == -signal.SIGKILL


def deliver_all(store: Store, maildir: Path) -> None:
    channels = {"mail": MaildirChannel(maildir, SENDER)}
    deliverer = Deliverer(store, Sending(channels, message_about), utc_now, elapsed, PATIENT)
    Notifier(store, [ONCALL], deliverer, utc_now).run(take_worker_lease(store, "successor"), always)


@pytest.mark.parametrize("point", POINTS)
def test_notification_survives_a_worker_that_is_killed(tmp_path: Path, point: str) -> None:
    url = new_sqlite_store(tmp_path / "linewatch.db")
    with open_store(url, an_hour_later) as store:
        reject(store)
        die_at(point, url, tmp_path / "mail")

        deliver_all(store, tmp_path / "mail")

        [notification] = notifications(store)
    ids = [mail["Message-ID"] for mail in mails_of(tmp_path / "mail")]
    assert ids == [notification.message_id]
    assert notification.state is NotificationState.SENT
