"""`linewatch up` is killed, alone or with its roles: nothing is left behind, nothing lost."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.tracking.transactions import track
from dashboard.wiring.clock import utc_now
from tests.builders import A_NETWORK
from tests.faults.delivery_promises import check_whole, stored_deliveries
from tests.faults.faulty_mail_server import hashes_in
from tests.faults.reporters import ACKNOWLEDGED, SentReport, a_sent_report
from tests.faults.rows import Chance, Row, playing
from tests.faults.serve_processes import SAVE, a_call, connected, post
from tests.faults.worker_process import group_briefly
from tests.installation import Installation, command, listens, new_installation
from tests.processes import Launcher, Process, ProcessOptions, launching
from tests.received_mail import mails_of
from tests.waiting import eventually, pause

_LIVES: Final = 2
_LEASE: Final = "3s"


@dataclass
class _RunningUp:
    """One installation whose roles are started and killed together."""

    installation: Installation
    launcher: Launcher
    store: Store
    nonces: Iterator[int] = field(default_factory=lambda: count(1))
    acknowledged: list[SentReport] = field(default_factory=list)

    def start(self) -> Process:
        """Start all roles but the pages, without waiting.

        Not forked by the launcher: only a program that is executed shows its variables, by which
        `Installation.processes` knows it and what it forks.
        """
        log = self.installation.home / "up.log"
        process_options = ProcessOptions(self.installation.environment(), log)
        return self.launcher.program(command("up", "--no-pages"), process_options)

    def is_serving(self) -> bool:
        return listens(self.installation.serve_port)

    def report(self) -> None:
        """Let somebody track a transaction and a node report it; note it where acknowledged."""
        handed = a_sent_report(next(self.nonces))
        with self.store.write() as connection:
            tx_hash = TxHash(bytes.fromhex(handed.tx_hash[2:]))
            track(connection, TrackRequest(tx_hash, (A_NETWORK,)), utc_now())
        with suppress(OSError, HTTPException), connected(self.installation.serve_port) as line:
            result = post(line, a_call(SAVE, handed.params, 1)).get("result") or {}
            if result.get("status") in ACKNOWLEDGED:
                self.acknowledged.append(handed)

    def end_with_all(self, process: Process, chance: Random) -> None:
        """Kill (-9) the supervisor, and all roles with it or none; see that nobody is left."""
        roles = self.installation.processes() if chance.random() < 0.5 else []
        process.kill()
        for each in chance.sample(roles, len(roles)):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        eventually(lambda: not self.installation.processes(), what="the end of every role")

    def check(self) -> None:
        """See that the store is whole and holds what was acknowledged, each once."""
        check_whole(self.store)
        stored = [str(each.tx_hash) for each in stored_deliveries(self.store).rejections]
        lost = [each for each in self.acknowledged if stored.count(each.tx_hash) != 1]
        assert not lost, f"{len(lost)} acknowledged reports are lost or doubled"

    def untold(self) -> set[str]:
        """Return which acknowledged reports are in no message that was sent."""
        found = stored_deliveries(self.store)
        mailed = {tx_hash for message_id in found.sent for tx_hash in found.told[message_id]}
        return {each.tx_hash for each in self.acknowledged} - mailed


def _kill_in_the_middle(running_up: _RunningUp, chance: Chance) -> None:
    """Kill everything while it starts, or a moment after a report was acknowledged."""
    process = running_up.start()
    if chance.random() < 0.3:
        pause(chance.uniform(0, 3))
    else:
        eventually(running_up.is_serving, what=f"the start of serve ({process.last_lines()})")
        for _ in range(chance.randrange(1, 4)):
            running_up.report()
        pause(chance.uniform(0, 2))
    running_up.end_with_all(process, chance)
    running_up.check()


def _live_to_the_end(running_up: _RunningUp) -> None:
    """Start once more: whatever was pending is mailed, each message in one file."""
    process = running_up.start()
    eventually(running_up.is_serving, what=f"the start of serve ({process.last_lines()})")
    running_up.report()
    eventually(lambda: not running_up.untold(), what=f"the messages ({process.last_lines()})")
    assert process.terminate() == 0, process.last_lines()
    assert not running_up.installation.processes(), "a role outlives `up`"
    running_up.check()
    found = stored_deliveries(running_up.store)
    mails = mails_of(running_up.installation.home / "mail")
    assert Counter(mail["Message-ID"] for mail in mails) == Counter(found.sent), (
        "messages are lost or doubled"
    )
    for mail in mails:
        told = found.told.get(mail["Message-ID"], frozenset())
        assert hashes_in(mail) == told, "a mail names others than it was to name"


@contextmanager
def _dying_up(home: Path) -> Iterator[_RunningUp]:
    """Yield an installation that is killed; at the end it lives to do what is left."""
    installation = new_installation(
        home, LINEWATCH_WORKER_LEASE=_LEASE, LINEWATCH_ALERTS_LARGEST_HOURLY="1000"
    )
    url = f"sqlite:///{home}/linewatch.sqlite"
    migrate(url)
    with launching() as launcher, open_store(url) as store:
        group_briefly(store)
        running_up = _RunningUp(installation, launcher, store)
        yield running_up
        _live_to_the_end(running_up)


KILLED_UP = Row(
    name="killed-up",
    promise=(
        "`up` is killed, alone or with all its roles, at its start or at work: nothing is left "
        "running; what was acknowledged is stored once and mailed after the next start"
    ),
    short=1,
    full=60,
    stage=playing(_dying_up, _kill_in_the_middle, _LIVES),
)
