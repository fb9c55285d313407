"""Nothing fails: every change reaches every recipient, in one mail that comes once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from dashboard.domain.alerts.kinds.kind import Dimension
from dashboard.domain.alerts.notification import Recipient
from tests.databases import new_store
from tests.faults.delivery_promises import check_deliveries, check_sent_once
from tests.faults.killed_worker import check_life
from tests.faults.rows import Chance, Play, Row
from tests.faults.worker_process import Mailing, WorkerSite, worker_site
from tests.processes import launching
from tests.waiting import eventually

_RECIPIENTS: Final = tuple(
    Recipient("mail", f"oncall{number}@example.org") for number in range(1, 11)
)
_REJECTED: Final = 20
_AGAIN: Final = 5
_NOTIFICATIONS: Final = (_REJECTED + _AGAIN) * len(_RECIPIENTS)


@contextmanager
def _undisturbed(folder: Path) -> Iterator[Play]:
    """Let a worker mail each change by itself, since each transaction has a label of its own."""
    numbers = count()
    with launching() as launcher:

        def play(chance: Chance) -> None:
            home = folder / str(next(numbers))
            home.mkdir()
            mailing = Mailing(_RECIPIENTS, group_by=(Dimension.LABEL,))
            with (
                new_store("sqlite", home) as url,
                worker_site(home, url, launcher, mailing) as place,
            ):
                _mail_all(place, chance)

        yield play


def _mail_all(place: WorkerSite, chance: Chance) -> None:
    process = place.start()
    place.reject(chance, _REJECTED)
    eventually(lambda: len(place.found().rejections) >= _AGAIN, what="a rejection that is stored")
    place.reject_again(chance, _AGAIN)
    place.wait_until_quiet(process)
    assert process.terminate() == 0, process.last_lines()
    found = place.found()
    check_deliveries(found, place.records, _RECIPIENTS, place.post.taken)
    check_sent_once(found, place.post.taken)
    check_life(place, frozenset())
    assert len(found.messages) == _NOTIFICATIONS, f"{len(found.messages)} notifications"


EVERY_NOTIFICATION = Row(
    name="every-notification",
    promise=(
        "nothing fails; `worker` mails each rejection and each change separately to ten "
        "recipients (the cap is raised): no notification is lost, none comes twice"
    ),
    short=_NOTIFICATIONS,
    full=100_000,
    stage=_undisturbed,
    cases_per_play=_NOTIFICATIONS,
)
