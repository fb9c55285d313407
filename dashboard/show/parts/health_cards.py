"""The cards of the page Health about this installation: worker, notifications, storage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from dashboard.application.deliveries import pending_changes_words
from dashboard.application.health import (
    NotificationHealth,
    StorageHealth,
    WorkerHealth,
    growth,
    is_disk_short,
    is_mail_late,
    until_full,
)
from dashboard.application.text import age, moment_near, sentence
from dashboard.domain.alerts.notification import DeliveryResult
from dashboard.domain.formatting import counted, size, span
from dashboard.domain.health.mail_outages_and_failing_roles import MailTrouble
from dashboard.domain.health.retention import StoreSize
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.people.recipients import RecipientStatus
from dashboard.show.parts.badges import badge
from dashboard.show.parts.table import time_ago
from dashboard.store.engine.replica import ReplicaState
from dashboard.store.health import MailState, StoreContents
from dashboard.store.monitoring.upkeep import LastHeartbeat

_OUTCOME_LENGTH: Final = 300
_PARTS_OF_HOLDER: Final = 3


def worker_part(
    health: WorkerHealth, version: str, now: datetime, *, is_space_low: bool = False
) -> Markup:
    """Show the process that polls and delivers, this version, and what it did last.

    While space on the disk of the store is low, an expired lease proves nothing.
    """
    purged, backed_up = health.upkeep.purged_at, health.upkeep.backed_up_at
    facts: list[tuple[str, str]] = [("Version", version), ("Schema", health.schema)]
    for name, holder in health.holders.items():
        job = f"Lease of {name} held by" if len(health.holders) > 1 else "Lease held by"
        facts.append((job, f"{_holder_name(holder.name)} (term {holder.token})"))
    facts += [
        ("Last purge of old data", time_ago(purged, now) if purged else "not yet"),
        ("Last backup", time_ago(backed_up, now) if backed_up else "none yet"),
    ]
    state = _worker_badge(health, is_space_low=is_space_low)
    return _part("Worker", state, _facts(facts), *_heartbeat(health.heartbeat, now))


def _worker_badge(health: WorkerHealth, *, is_space_low: bool) -> Markup:
    if health.holders:
        return badge("calm", "●", "Running")
    if is_space_low:
        return badge("busy", "?", "Not known")
    return badge("bad", "✕", "Not running")


def _heartbeat(heartbeat: LastHeartbeat | None, now: datetime) -> list[Markup]:
    """Say when the heartbeat was last accepted, and what is wrong with it."""
    if heartbeat is None:
        return []
    at = heartbeat.accepted_at
    taken = "was never accepted" if at is None else f"was accepted {age(at, now)}"
    said = [_paragraph(f"The heartbeat {taken}.")]
    if heartbeat.trouble:
        trouble = visible(heartbeat.trouble, _OUTCOME_LENGTH)
        said.append(_paragraph(sentence(f"The latest was {trouble}")))
    return said


def mail_part(health: NotificationHealth, now: datetime) -> Markup:
    """Say what is pending, sent and dead, and the last answer of the mail server."""
    mail, counts = health.mail, health.mail.counts
    figures = element(
        "dl",
        _figure("Pending", counts.pending, counts.oldest_pending, "oldest", now),
        _figure("Sent", counts.sent, counts.last_sent, "last", now),
        _figure("Dead", counts.dead, None, "", now),
        class_="lw-figures lw-counts",
    )
    since = _paragraph("Sent and dead: last 30 days.")
    pending = pending_changes_words(counts)
    waiting = [_paragraph(pending)] if pending else []
    said = (since, *waiting, *_recipients(health), *_mail_advice(mail, now))
    return _part("Notifications", _mail_badge(mail, now), figures, *said)


def _recipients(health: NotificationHealth) -> list[Markup]:
    """Say how many recipients get messages, for whom that is uncertain, and how many do not."""
    counts, suspects = health.recipients, len(health.suspects)
    if not counts:
        return []
    lacking = [
        f"{counts[status]:,} {words}"
        for status, words in (
            (RecipientStatus.NOT_VERIFIED, "not verified"),
            (RecipientStatus.OFF, "off"),
        )
        if counts[status]
    ]
    lacking += [f"{suspects:,} suspect"] if suspects else []
    reached = counts[RecipientStatus.TRUSTED] + counts[RecipientStatus.VERIFIED]
    get = counted(reached, "recipient gets", "recipients get")
    words = _paragraph(f"{', '.join([f'{get} messages', *lacking])}.")
    if not lacking:
        return [words]
    return [words, _alerts_link("Recipients", "section=Recipients")]


def _mail_badge(mail: MailState, now: datetime) -> Markup:
    if mail.counts.dead:
        return badge("bad", "✕", "Some dead")
    if is_mail_late(mail.counts, now):
        return badge("busy", "!", "Late")
    if mail.counts.held:
        return badge("busy", "!", "Some held")
    if mail.counts.is_any_pending:
        return badge("mute", "…", "Pending")
    return badge("calm", "●", "Nothing pending")


def _mail_advice(mail: MailState, now: datetime) -> list[Markup]:
    advice = []
    trouble, last = mail.trouble, mail.last_attempt
    if trouble is not None and trouble.pending:
        advice.append(_paragraph(_trouble_words(mail, trouble, now)))
    if last is not None and last.result is not DeliveryResult.SENT:
        outcome = visible(last.outcome, _OUTCOME_LENGTH)
        advice.append(_paragraph(f"Last attempt, {age(last.attempted_at, now)}: {outcome}"))
    if mail.counts.pending:
        advice.append(_alerts_link("Pending", "section=Deliveries&state=Pending"))
    if mail.counts.dead:
        advice.append(_alerts_link("Dead", "section=Deliveries&state=Dead"))
    return advice


def _trouble_words(mail: MailState, trouble: MailTrouble, now: datetime) -> str:
    """Say since when no mail is accepted, when the next is tried, and who else was notified."""
    since = f"No mail has been accepted since {moment_near(trouble.since, now)}."
    following = mail.next_attempt_at
    when = "now" if following is None or following <= now else f"in {span(following - now)}"
    reported = None if mail.outage is None else mail.outage.reported_at
    words = f"{since} The next attempt is {when}."
    if reported is None:
        return words
    return f"{words} The fallback was used at {moment_near(reported, now)}."


def _alerts_link(what: str, parameters: str) -> Markup:
    link = element("a", f"{what} on Alerts", href=f"alerts?{parameters}", target="_self")
    return element("p", link, class_="lw-link")


def store_part(health: StorageHealth, contents: StoreContents | None, name: str) -> Markup:
    """Say where the store is, how large, and how long its disk will last.

    `contents` is None if the store did not say what it contains.
    """
    space = health.space
    facts: list[tuple[str, str]] = [] if contents is None else [("Size", size(contents.size))]
    facts += [] if space.measured is None else _growth_facts(space.measured)
    if space.free_on_disk is not None:
        facts.append(("Free on its disk", size(space.free_on_disk)))
    if contents is not None:
        facts += [
            ("Rejections", f"{contents.rejections:,}"),
            ("Tracked", f"{contents.tracked:,}"),
        ]
    if health.replica is not None:
        facts.append(("Replica", _replica_words(health.replica)))
    where = element("p", name.removeprefix("The store "), class_="lw-quiet lw-mono lw-path")
    return _part("Storage", _store_badge(health), _facts(facts), where)


def _replica_words(replica: ReplicaState) -> str:
    """Say how old the data on pages may be, or that none of it comes from the replica."""
    if not replica.is_used:
        return "not used; the primary answers"
    return f"answers, at most {span(replica.largest)} behind"


def _store_badge(health: StorageHealth) -> Markup:
    space, measured = health.space, health.space.measured
    if health.is_space_low:
        return badge("bad", "!", "Little space")
    if space.clock_jump is not None:
        return badge("busy", "!", "Clock ahead")
    if measured is not None and is_disk_short(measured):
        return badge("busy", "!", "Disk short")
    return badge("calm", "●", "Readable")


def _growth_facts(measured: StoreSize) -> Iterator[tuple[str, str]]:
    if measured.growth is not None:
        yield "Grows by", growth(measured.growth)
    if measured.full_in is not None:
        yield "Full in", until_full(measured.full_in)


def _part(name: str, state: Markup, *content: Markup) -> Markup:
    head = element("header", element("h2", name), state, class_="lw-card-head")
    return join(head, *content)


def _paragraph(text: str) -> Markup:
    return element("p", text, class_="lw-quiet lw-spaced")


def _facts(facts: list[tuple[str, str]]) -> Markup:
    pairs = (element("div", element("dt", name), element("dd", value)) for name, value in facts)
    return element("dl", *pairs, class_="lw-facts")


def _figure(name: str, count: int, at: datetime | None, which: str, now: datetime) -> Markup:
    note = (
        Markup() if at is None else element("dd", f"{which} ", time_ago(at, now), class_="lw-note")
    )
    return element("div", element("dt", name), element("dd", f"{count:,}"), note)


def _holder_name(name: str) -> str:
    """Name a process in words that help to find it; workers call themselves host/process/id."""
    parts = name.split("/")
    return f"process {parts[1]} on {parts[0]}" if len(parts) == _PARTS_OF_HOLDER else name
