"""A worker that sees rejections and mails them into a Maildir until it is killed.

Run as `python -m tests.faults.mailing_worker STORE_URL MAILDIR FIRST`; it tells
each number that is stored.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from dashboard.alert.channels.maildir import MaildirChannel
from dashboard.alert.deliver import Deliverer, Sending
from dashboard.alert.message import always
from dashboard.alert.notify import Notifier
from dashboard.logs import configure_logs
from dashboard.store.engine.engine import Store, open_store
from dashboard.wiring.clock import elapsed
from tests.delivery_checks import reject, take_worker_lease
from tests.recording_channel import ONCALL, SENDER, message_about


def utc_now() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)


def deliver(store: Store, maildir: Path, holder: str) -> None:
    """Do one round of delivery."""
    sending = Sending({"mail": MaildirChannel(maildir, SENDER)}, message_about)
    deliverer = Deliverer(store, sending, utc_now, elapsed)
    Notifier(store, [ONCALL], deliverer, utc_now).run(take_worker_lease(store, holder), always)


def main(url: str, maildir: str, first: str) -> None:
    """Work until the end."""
    configure_logs("drill")  # on standard error
    with open_store(url) as store:
        for number in count(int(first)):
            reject(store, number)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()
            if number % 3:  # some news waits in the outbox, some is on its way
                deliver(store, Path(maildir), "worker")


if __name__ == "__main__":
    main(*sys.argv[1:])
