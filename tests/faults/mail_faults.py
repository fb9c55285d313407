"""Mail servers fail in every way, or swallow some addresses: all arrives, others hardly wait."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from sqlalchemy import func, select

from dashboard.domain.alerts.kinds.kind import Dimension
from dashboard.domain.alerts.notification import DeliveryResult, NotificationState, Recipient
from dashboard.store.engine.engine import Store
from dashboard.store.schema import deliveries, notifications, transitions
from tests.certificate import make_certificate
from tests.faults.delivery_promises import check_deliveries, check_sent_once
from tests.faults.faulty_mail_server import FAULTS, FaultyMailServer, TakenMail
from tests.faults.rows import Chance, Row, playing
from tests.faults.worker_process import Mailing, WorkerSite, worker_site
from tests.waiting import eventually, pause

_TIMEOUT: Final = 6.0
"""Seconds that a mail may take: time for six bytes that drip."""

_MANY: Final = tuple(Recipient("mail", f"oncall{number}@example.org") for number in range(1, 11))
_MOST_HOLES: Final = 8
_BEFORE: Final = 10
_BESIDE: Final = 20
"""Transactions that are rejected before and while addresses are silent."""

_LONGEST_DELAY: Final = 1.0
_FOR_EVER: Final = 3600.0
"""Seconds after which a silent address costs nothing any more: longer than any play."""


@contextmanager
def _mailed_with_faults(home: Path) -> Iterator[WorkerSite]:
    """Yield a worker that mails as many recipients as there are faults."""
    certificate = make_certificate(home, days=60)  # one that ends soon is reported
    other = make_certificate(home, "other.example.org")
    server = FaultyMailServer(certificate.for_server(), other.for_server())
    recipients = [Recipient("mail", f"oncall{each}@example.org") for each in range(len(FAULTS))]
    mailing = Mailing(recipients, server, certificate, _TIMEOUT)
    with worker_site(home, mailing=mailing) as site:
        yield site


def _fail_in_every_way(site: WorkerSite, chance: Chance) -> None:
    """Fail a first attempt of each recipient in another way, and see that the second arrives."""
    server = site.post
    assert isinstance(server, FaultyMailServer)
    process = site.start()
    faults = [FAULTS[each].at_one_stage(chance) for each in chance.cases(len(FAULTS))]
    chance.shuffle(faults)
    server.happened.clear()
    server.faults.extend(faults)
    site.reject(chance, 1)
    site.wait_until_quiet(process)
    assert process.terminate() == 0, process.last_lines()
    assert Counter(server.happened) == Counter(faults), f"other faults: {server.happened}"
    found, mails = site.found(), set(server.taken)
    check_deliveries(found, site.records, site.mailing.recipients, list(mails))
    check_sent_once(found, list(mails))
    assert set(server.unanswered) <= mails, "a message that came again was another one"
    copies = Counter(each.message_id for each in (*server.taken, *server.unanswered))
    excess = copies - Counter(each.message_id for each in mails) - _unanswered(site.store)
    assert not excess, f"{excess.total()} messages came again though they were answered"


def _unanswered(store: Store) -> Counter[str]:
    """Count the attempts of each Message-ID that ended without an answer to the message."""
    query = (
        select(notifications.c.message_id, func.count())
        .join(deliveries, deliveries.c.notification_id == notifications.c.notification_id)
        .where(deliveries.c.result == DeliveryResult.DEFERRED)
        .where(deliveries.c.outcome.not_like("the mail server refused%"))
        .group_by(notifications.c.message_id)
    )
    with store.read() as connection:
        return Counter({row[0]: row[1] for row in connection.execute(query)})


def _swallow_some(home: Path, chance: Chance, *, is_timed: bool = True) -> None:
    """Compare how long mails take while all recipients are well and while some are not.

    If attempts outlast the play, all mails to the others arrive before any of these ends.
    """
    timeout = chance.choice((2.0, 20.0)) if is_timed else _FOR_EVER
    longest = _LONGEST_DELAY if is_timed else _FOR_EVER
    mailing = Mailing(_MANY, timeout=timeout, group_by=(Dimension.LABEL,))
    with worker_site(home, mailing=mailing) as site:
        process = site.start()
        _mail(site, chance, range(1))  # a worker that starts takes its time
        usual = _p99(_mail(site, chance, range(_BEFORE if is_timed else 1)))
        holes = {each.address for each in chance.sample(_MANY, chance.randint(1, _MOST_HOLES))}
        site.post.holes |= holes
        beside = _p99(_mail(site, chance, chance.cases(_BESIDE)))
        process.kill()
        found = site.found()
    assert beside <= usual + longest, (
        f"beside {len(holes)} silent addresses mails took {beside:.2f} s, else {usual:.2f} s"
    )
    expected = Counter((change, each.address) for change in found.news for each in _MANY)
    assert Counter(found.members) == expected, "a change reached nobody, or somebody twice"
    states = {each.state for each in found.messages if each.address in holes}
    assert NotificationState.DEAD not in states, "what a silent address was to get is dead"


def _mail(site: WorkerSite, chance: Random, rejections: Iterable[int]) -> list[float]:
    """Return how long each mail took, in seconds, to recipients that are not swallowed."""
    before = len(site.records)
    for _ in rejections:
        site.reject(chance, 1)
        pause(chance.uniform(0, 0.2))
    hashes = {str(each.tx_hash) for each in site.records[before:]}
    expected = len(hashes) * (len(_MANY) - len(site.post.holes))

    def arrived() -> list[TakenMail]:
        healthy = (each for each in list(site.post.taken) if each.to not in site.post.holes)
        return [each for each in healthy if each.hashes and each.hashes <= hashes]

    eventually(lambda: len(arrived()) >= expected, what=f"{expected} mails")
    column = transitions.c
    with site.store.read() as connection:
        rows = connection.execute(select(column.tx_hash, column.at)).all()
    known = {str(row.tx_hash): row.at for row in rows}
    mails = arrived()
    assert len({(each.hashes, each.to) for each in mails}) == len(mails), "a mail came twice"
    return [(each.at - known[min(each.hashes)]).total_seconds() for each in mails]


def _p99(delays: list[float]) -> float:
    return sorted(delays)[math.ceil(0.99 * len(delays)) - 1]


FAULTY_MAIL = Row(
    name="faulty-mail",
    promise=(
        "the mail server refuses, is silent, sends a byte per second, hangs up or sends nonsense "
        "at any stage, or shows another certificate: `worker` mails everything to everybody, "
        "*twice* only as below"
    ),
    short=len(FAULTS),
    full=100 * len(FAULTS),
    stage=playing(_mailed_with_faults, _fail_in_every_way),
    cases_per_play=len(FAULTS),
)

SILENT_ADDRESSES = Row(
    name="silent-addresses",
    promise=(
        "the mail server never answers for one to eight of ten recipients: mails to the others "
        "take at most 1 s longer (p99 of each run), and nothing is lost"
    ),
    short=_BESIDE,
    full=100 * _BESIDE,
    stage=playing(nullcontext, _swallow_some),
    cases_per_play=_BESIDE,
    short_stage=playing(nullcontext, partial(_swallow_some, is_timed=False)),
)
