"""What is wrong with Linewatch itself, each trouble with its remedy: found only here.

Overview, Health and `linewatch doctor` show the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Final

from dashboard.application.attention import Attention, Remedy, most_urgent_first
from dashboard.application.context import ApplicationContext
from dashboard.application.deliveries import notifications_are
from dashboard.application.failing_sources import failing_in_words, failing_of_health
from dashboard.application.health import (
    FREE_SPACE_ADVICE,
    SOURCES,
    STORAGE,
    WORKER,
    Health,
    NotificationHealth,
    StorageHealth,
    WorkerHealth,
    is_disk_short,
    is_mail_late,
)
from dashboard.application.network_status import NetworkProfile
from dashboard.application.recipient_words import unreached_words
from dashboard.application.source_health import (
    OPERATION_NAMES,
    REMEDIES,
    NetworkHealth,
    OperationHealth,
    plan_in_words,
)
from dashboard.application.text import age, moment_near, sentence
from dashboard.domain.alerts.notification import DeliveryResult
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.formatting import (
    capitalized,
    counted,
    listed,
    moment,
    size,
    span,
    uncapitalized,
)
from dashboard.domain.health.observation import VERDICT_OPERATIONS
from dashboard.domain.health.retention import CONFIRMED_BY
from dashboard.domain.markup import visible
from dashboard.domain.quantity import NetworkId
from dashboard.errors import StoreError
from dashboard.store.engine.engine import prove_writing
from dashboard.store.health import MailState

_LONGEST_TITLE: Final = 120
_LONGEST_FAILURE: Final = 160
_SEVERAL: Final = 3
"""From this many stale networks on, one line counts them."""

_MOST_NAMED: Final = 5
"""If there are no more than this many, the line names them too."""


def unwritable_store(context: ApplicationContext) -> list[Attention]:
    """Return a problem if the store refuses a transaction that changes nothing."""
    try:
        prove_writing(context.store)
    except StoreError as error:
        headline = "The store cannot be written."
        return [Attention(headline, f"{error}.", Remedy.STORAGE, severity=Severity.CRITICAL)]
    return []


def health_troubles(
    health: Health, now: datetime, fresh: Collection[NetworkId] = ()
) -> list[Attention]:
    """Return what is wrong with Linewatch itself, the worst first; empty if all is well.

    `fresh` are the networks whose verdict, read at another moment than `health`, is not stale.
    """
    networks = health.networks or ()
    found = [
        *_worker_and_disk(health),
        *_failing_roles(health, now),
        *_unread(health),
        *(each for network in networks for each in _failing(network, now)),
        *_stale(health, networks, now, fresh),
        *_over_plan(networks),
        *(Attention(*each, Remedy.SOURCES) for each in health.shortages(now)),
        *([] if health.worker is None else _heartbeat(health.worker)),
        *([] if health.notifications is None else _notifications(health.notifications, now)),
        *([] if health.storage is None else _storage(health.storage)),
    ]
    return most_urgent_first(found)


def absent_worker(health: Health) -> Attention | None:
    """Return a problem if no worker is running, or if that is unknown; None if one is."""
    if health.worker is None or health.worker.holders:
        return None
    if health.storage is not None and health.storage.is_space_low:
        return Attention(
            "Worker status unknown: the disk may be too full to record it.",
            "",
            Remedy.WORKER,
            severity=Severity.CRITICAL,
        )
    return Attention(
        "Monitoring stopped: the worker is not running.",
        "Nothing is polled and nothing is sent.",
        Remedy.WORKER,
        advice="Start `linewatch worker`, or `linewatch up` for everything, and look at its "
        "log if it ends.",
        severity=Severity.CRITICAL,
    )


def _worker_and_disk(health: Health) -> Iterator[Attention]:
    if health.storage is not None and health.storage.is_space_low:
        free = size(health.storage.space.free_on_disk or 0)
        yield Attention(
            f"Low disk space: {free} free on the disk of the store.",
            "",
            Remedy.STORAGE,
            advice=FREE_SPACE_ADVICE,
            severity=Severity.CRITICAL,
        )
    absent = absent_worker(health)
    if absent is not None:
        yield absent


def _failing_roles(health: Health, now: datetime) -> Iterator[Attention]:
    for each in health.failing_roles:
        many = counted(each.deaths, "time", "times")
        last = visible(each.why, _LONGEST_FAILURE)
        again = "starts" if each.again_at > now else "was started"
        yield Attention(
            f"The role {each.name} keeps dying.",
            f"It died {many} since {moment_near(each.since, now)} (last: {last}), and {again} "
            f"again at {moment_near(each.again_at, now)}.",
            Remedy.WORKER,
            advice="Look at the output of `linewatch up`. The other roles go on.",
            severity=Severity.CRITICAL,
        )


def _unread(health: Health) -> Iterator[Attention]:
    """Yield each part that cannot be read: nobody knows whether it is well."""
    remedies = {SOURCES: Remedy.SOURCES, WORKER: Remedy.WORKER, STORAGE: Remedy.STORAGE}
    for name, error in health.unread.items():
        yield Attention(
            f"{name} cannot be read from the store.",
            sentence(visible(str(error), _LONGEST_FAILURE)),
            remedies.get(name, Remedy.PENDING),
            advice="It is read again automatically. If this lasts, run `linewatch verify`, which "
            "says what is damaged, and check the disk.",
            severity=Severity.CRITICAL,
        )


def _over_plan(networks: Sequence[NetworkHealth]) -> Iterator[Attention]:
    """Yield the networks whose fees took more credits today than are planned for a day."""
    for each in networks:
        if each.is_over_plan:
            yield Attention(
                f"{each.profile.name} spends more credits than planned.",
                plan_in_words(each.fee_credits, each.profile.cost.gas_credits),
                Remedy.SOURCES,
                each.profile,
                advice="Lengthen periods under [poll] (`linewatch config try` tells their costs).",
            )


def _failing(health: NetworkHealth, now: datetime) -> Iterator[Attention]:
    """Yield each source of a network that does not answer, with its longest failure."""
    profile = health.profile
    for source in failing_of_health(health):
        failing = [
            each
            for each in health.operations
            if each.failure is not None and profile.source_of(each.operation) == source.name
        ]
        failure = source.failure.failure
        advice = REMEDIES[failure.kind]
        instead = [each.operation for each in failing if each.is_from_node]
        if instead:
            names = ", ".join(OPERATION_NAMES[each] for each in instead)
            what = "" if len(instead) == len(failing) else f": {names}"
            advice += f" Meanwhile the network's node answers instead{what}."
        said = failing_in_words(profile.name, [source], now)
        yield Attention(
            f"{said}, since {moment_near(source.since, now)}.",
            sentence(visible(failure.message, _LONGEST_FAILURE)),
            Remedy.SOURCES,
            profile,
            advice=advice,
        )
    for headline, why, advice in health.left_endpoints(now):
        said = sentence(visible(why, _LONGEST_FAILURE))
        yield Attention(headline, said, Remedy.SOURCES, health.profile, advice=advice)


def _stale(
    health: Health, networks: Sequence[NetworkHealth], now: datetime, fresh: Collection[NetworkId]
) -> Iterator[Attention]:
    """Yield networks of which something is old though nothing failed, many of them in one line.

    Only a network whose verdict is stale is called stale; otherwise the headline names the answer.
    """
    advice = "The log of the worker says why no answer arrived."
    if absent_worker(health) is not None:
        advice = "Polling resumes as soon as a worker runs."
    alike: defaultdict[str, list[tuple[NetworkProfile, OperationHealth]]] = defaultdict(list)
    for each in networks:
        known = VERDICT_OPERATIONS if each.profile.network_id in fresh else frozenset()
        old = next((one for one in each.stale(now) if one.operation not in known), None)
        if old is not None:
            is_whole = old.operation in VERDICT_OPERATIONS or not each.profile.has_gas
            name = uncapitalized(OPERATION_NAMES[old.operation])
            alike["" if is_whole else f": {name}"].append((each.profile, old))
    for what, stale in alike.items():
        if len(stale) < _SEVERAL:
            for profile, old in stale:
                text, headline = _last_answer(old, now), f"{profile.name}{what or ' is'} stale."
                yield Attention(headline, text, Remedy.SOURCES, profile, advice=advice)
            continue
        is_all, are = len(stale) == len(networks), what or " are"
        who = f"All {len(stale)}" if is_all else f"{len(stale)} of {len(networks)}"
        is_short = not is_all and len(stale) <= _MOST_NAMED
        text = f"{listed([profile.name for profile, _ in stale])}." if is_short else ""
        yield Attention(f"{who} networks{are} stale.", text, Remedy.SOURCES, advice=advice)


def _last_answer(old: OperationHealth, now: datetime) -> str:
    last = "never" if old.answered_at is None else age(old.answered_at, now)
    why = (
        "more than two polling periods"
        if old.no_worker_since is None
        else f"no worker has asked since {moment_near(old.no_worker_since, now)}"
    )
    return f"{OPERATION_NAMES[old.operation]}: last answered {last}, {why}."


def _heartbeat(worker: WorkerHealth) -> Iterator[Attention]:
    if worker.heartbeat is not None and worker.heartbeat.trouble:
        trouble = visible(worker.heartbeat.trouble, _LONGEST_FAILURE)
        advice = (
            "If it is withheld, mend the source that it names. Otherwise check heartbeat_url under "
            "[alerts], and the service behind it."
        )
        yield Attention("The heartbeat fails.", sentence(trouble), Remedy.WORKER, advice=advice)


def _advice_on(failing: Sequence[str]) -> str:
    """Say what to do about failing channels, or about mail if none has failed yet."""
    tables = [f"[{each}]" if each == MAIL else f"[channels.{each}]" for each in failing or (MAIL,)]
    servers = "the mail server" if {*failing} <= {MAIL} else "what answers there"
    return (
        f"Each is tried again for seven days, and nothing is lost. Check {' and '.join(tables)} in "
        f"the configuration, and {servers}."
    )


def _notifications(health: NotificationHealth, now: datetime) -> Iterator[Attention]:
    mail = health.mail
    for each in health.unreached:
        words = sentence(capitalized(unreached_words(each)))
        advice = "Verify or turn on a recipient, or give the rule another one."
        yield Attention(words, "", Remedy.RECIPIENTS, advice=advice)
    for suspect in health.suspects:
        yield Attention(
            f"A message to {visible(suspect.recipient.address, _LONGEST_TITLE)} came back.",
            sentence(visible(suspect.note, _LONGEST_FAILURE)) if suspect.note else "",
            Remedy.RECIPIENTS,
            advice="Contact its owner another way. If another message comes back, the address is "
            "turned off; `linewatch recipients on` clears the suspicion.",
        )
    yield from _pending(mail, now)
    if mail.counts.held:
        yield Attention(
            f"{notifications_are(mail.counts.held)} held since a backup was restored.",
            "",
            Remedy.HELD,
            advice="Look at them, then send or discard them with `linewatch release`.",
        )
    if mail.counts.dead:
        yield Attention(
            f"{notifications_are(mail.counts.dead)} dead.",
            "Linewatch does not try again.",
            Remedy.DEAD,
            advice="Alerts shows each cause: correct it, then send again.",
        )


def _pending(mail: MailState, now: datetime) -> Iterator[Attention]:
    """Yield the notifications that are due but not sent."""
    last = mail.last_attempt
    oldest = mail.counts.in_delivery_since
    if oldest is not None and is_mail_late(mail.counts, now):
        failed = last is not None and last.result is not DeliveryResult.SENT
        said = sentence(visible(last.outcome, _LONGEST_FAILURE)) if last and failed else ""
        tried, pending = mail.counts.in_delivery, mail.counts.pending
        many = f"{notifications_are(pending)} pending"
        if tried < pending:
            be = "is" if tried == 1 else "are"
            many = f"{tried:,} of {pending:,} pending notifications {be} in delivery"
        yield Attention(
            f"{many}, the oldest for {span(now - oldest)}.",
            capitalized(said),
            Remedy.PENDING,
            advice=_advice_on(mail.failing),
        )
    if mail.counts.capped and mail.counts.capped_since is not None:
        many = counted(mail.counts.capped, "notification waits", "notifications wait")
        since = moment_near(mail.counts.capped_since, now)
        yield Attention(
            f"{many} for the hourly cap, the oldest since {since}.",
            "The cap spreads all but the first messages of a recipient over the hour.",
            Remedy.PENDING,
            advice="Alerts says when each will go. Narrow the rules, or raise `largest_hourly`.",
            severity=Severity.INFO,
        )


def _storage(storage: StorageHealth) -> Iterator[Attention]:
    measured, leap = storage.space.measured, storage.space.clock_jump
    if measured is not None and measured.full_in is not None and is_disk_short(measured):
        yield Attention(
            f"The disk of the store is full in {span(measured.full_in)}.",
            "",
            Remedy.STORAGE,
            advice="Free some room, move the store to a larger disk, or keep less under [store].",
        )
    if leap is not None:
        yield Attention(
            f"The clock jumped ahead by {span(leap.after - leap.before)}.",
            f"It went from {moment(leap.before)} to {moment(leap.after)} at once.",
            Remedy.STORAGE,
            advice="Set the clock. Data that only seems old is kept until then, or "
            f"until the store has been measured on {CONFIRMED_BY} more days.",
        )
    if (replica := storage.replica) is not None and not replica.is_used:
        words = sentence(visible(replica.trouble, _LONGEST_FAILURE))
        advice = "Check the replica, and read_url and read_lag under [store]."
        headline = "The replica is not used: the primary answers."
        yield Attention(headline, words, Remedy.STORAGE, advice=advice)
