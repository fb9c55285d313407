"""The cards of the page Health: worker, mail, store, the operations of each network, gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from dashboard.domain.clock_jump import CONFIRMED_BY
from dashboard.domain.coverage import Gap, GapCause, Watched
from dashboard.domain.foreign_text import visible
from dashboard.domain.mail_outage import MailTrouble
from dashboard.domain.notification import DeliveryResult
from dashboard.domain.recipients import RecipientStatus
from dashboard.domain.store_size import KindSize, StoreSize
from dashboard.show.parts.badges import badge, simulated_badge
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.parts.table import table
from dashboard.show.queries.context import QueryContext
from dashboard.show.queries.health import (
    FREE_SPACE_ADVICE,
    OPERATION_NAMES,
    REMEDIES,
    WORKER_UNKNOWN,
    NetworkHealth,
    OperationHealth,
    OperationState,
    is_disk_short,
    is_mail_late,
    spending_in_words,
)
from dashboard.show.text import age, moment, moment_near, period, sentence, size, span
from dashboard.store.engine.leases import Holder
from dashboard.store.health import MailState, StoreState
from dashboard.store.monitoring.heartbeats import LastHeartbeat
from dashboard.store.monitoring.upstream_failures import StandingFailure

_BADGES: Final = {
    OperationState.ANSWERED: ("calm", "●", "Answered"),
    OperationState.STALE: ("stale", "◌", "Stale"),
    OperationState.FAILING: ("busy", "!", "Failing"),
    OperationState.NOT_ASKED: ("mute", "…", "Not asked yet"),
}
_OPERATION_COLUMNS: Final = ("Operation", "Last answer", "Asked", "State")
_KIND_COLUMNS: Final = ("Kind", "Size", "Growth")
_TEN_YEARS: Final = timedelta(days=3650)
_OUTCOME_LENGTH: Final = 300
_PARTS_OF_HOLDER: Final = 3


def worker_part(
    holders: Mapping[str, Holder],
    heartbeat: LastHeartbeat | None,
    now: datetime,
    *,
    is_space_low: bool = False,
) -> Markup:
    """Name the process that polls and delivers, or say what to do where none does.

    `heartbeat` is None where none is to be sent.
    """
    if not holders and is_space_low:
        state = badge("busy", "?", "Not known")
        return _part(
            "Worker",
            state,
            _paragraph(f"{sentence(WORKER_UNKNOWN.capitalize())} {FREE_SPACE_ADVICE}"),
        )
    if not holders:
        state = badge("bad", "✕", "Not running")
        what = (
            "Nothing is asked and no mail is sent; what is shown grows old. Start `linewatch "
            "worker`, or `linewatch up` for everything, and look at its log if it ends."
        )
        return _part("Worker", state, _paragraph(what))
    state = badge("calm", "●", "Running")
    facts = [("Job", name) for name in holders] if len(holders) > 1 else []
    for holder in holders.values():
        facts += [("Lease held by", _holder_name(holder.name)), ("Term", f"number {holder.token}")]
    return _part("Worker", state, _facts(facts), *_heartbeat(heartbeat, now))


def _heartbeat(heartbeat: LastHeartbeat | None, now: datetime) -> list[Markup]:
    """Say when the heartbeat was taken last, and what is wrong with it."""
    if heartbeat is None:
        return []
    at = heartbeat.taken_at
    taken = "was never taken yet" if at is None else f"was taken {age(at, now)}"
    said = [_paragraph(f"The heartbeat {taken}.")]
    if heartbeat.trouble:
        trouble = visible(heartbeat.trouble, _OUTCOME_LENGTH)
        said.append(_paragraph(sentence(f"The latest was {trouble}")))
    return said


def mail_part(mail: MailState, recipients: Counter[RecipientStatus], now: datetime) -> Markup:
    """Say what is pending, sent and dead, and the last answer of the mail server."""
    counts = mail.counts
    figures = element(
        "dl",
        _figure(
            "Pending", counts.pending + mail.pending_expansion, counts.oldest_pending, "oldest", now
        ),
        _figure("Sent", counts.sent, counts.last_sent, "last", now),
        _figure("Dead", counts.dead, None, "", now),
        class_="lw-figures lw-counts",
    )
    counted = element("p", "Sent and dead: of the last 30 days.", class_="lw-quiet")
    said = (counted, *_recipients(recipients), *_mail_advice(mail, now))
    return _part("Mail", _mail_badge(mail, now), figures, *said)


def _recipients(counts: Counter[RecipientStatus]) -> list[Markup]:
    """Say how many recipients get messages, and how many do not."""
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
    reached = counts[RecipientStatus.TRUSTED] + counts[RecipientStatus.VERIFIED]
    get = "1 recipient gets" if reached == 1 else f"{reached:,} recipients get"
    words = _paragraph(f"{', '.join([f'{get} messages', *lacking])}.")
    if not lacking:
        return [words]
    link = element("a", "Recipients on Alerts", href="alerts?section=Recipients", target="_self")
    return [words, element("p", link, class_="lw-link")]


def _mail_badge(mail: MailState, now: datetime) -> Markup:
    if mail.counts.dead:
        return badge("bad", "✕", "Some dead")
    if is_mail_late(mail, now):
        return badge("busy", "!", "Late")
    if mail.counts.pending or mail.pending_expansion:
        return badge("calm", "…", "On its way")
    return badge("calm", "●", "Nothing pending")


def _mail_advice(mail: MailState, now: datetime) -> list[Markup]:
    advice = []
    trouble, last = mail.trouble, mail.last_attempt
    if trouble is not None and trouble.pending:
        advice.append(_paragraph(_trouble_words(mail, trouble, now)))
    if last is not None and last.result is not DeliveryResult.SENT:
        outcome = visible(last.outcome, _OUTCOME_LENGTH)
        advice.append(_paragraph(f"Last attempt, {age(last.attempted_at, now)}: {outcome}"))
    if is_mail_late(mail, now):
        advice.append(
            _paragraph(
                "They are tried again by themselves for seven days, and nothing is lost. Look at "
                "[mail] in the configuration and at the mail server."
            )
        )
    if mail.counts.dead:
        advice.append(
            _paragraph("Dead means that the server refused for good: Alerts shows each answer.")
        )
    if mail.counts.pending:
        advice.append(_deliveries_link("Pending"))
    if mail.counts.dead:
        advice.append(_deliveries_link("Dead"))
    return advice


def _trouble_words(mail: MailState, trouble: MailTrouble, now: datetime) -> str:
    """Say since when no mail is taken, when the next is tried, and who was notified otherwise."""
    since = f"No mail was taken since {moment_near(trouble.since, now)}."
    following = mail.next_attempt_at
    when = "now" if following is None or following <= now else f"in {span(following - now)}"
    reported = None if mail.outage is None else mail.outage.reported_at
    words = f"{since} The next attempt is {when}."
    if reported is None:
        return words
    return f"{words} The fallback was used at {moment_near(reported, now)}."


def _deliveries_link(state: str) -> Markup:
    """Link to the notifications of a state on the page Alerts."""
    address = f"alerts?section=Deliveries&state={state}"
    words = f"{state} on Alerts"
    return element("p", element("a", words, href=address, target="_self"), class_="lw-link")


def store_part(store: StoreState, name: str, *, is_space_low: bool = False) -> Markup:
    """Say how large the store is and what it holds."""
    facts = [
        ("Size", size(store.size)),
        ("Schema", store.schema),
        ("Tracked", f"{store.tracked:,}"),
        ("Rejections", f"{store.rejections:,}"),
    ]
    measured = store.measured
    facts += [] if measured is None else _growth_facts(measured)
    if store.free_on_disk is not None:
        facts.append(("Free on its disk", size(store.free_on_disk)))
    advice = [_paragraph(FREE_SPACE_ADVICE)] if is_space_low else []
    where = element("p", name.removeprefix("The store "), class_="lw-quiet lw-mono lw-path")
    return _part(
        "Store",
        _store_badge(store, is_space_low=is_space_low),
        _facts(facts),
        where,
        *advice,
        *_clock_advice(store),
    )


def _store_badge(store: StoreState, *, is_space_low: bool) -> Markup:
    measured = store.measured
    if is_space_low:
        return badge("bad", "!", "Little space")
    if store.clock_jump is not None:
        return badge("busy", "!", "Clock ahead")
    if measured is not None and is_disk_short(measured):
        return badge("busy", "!", "Disk short")
    return badge("calm", "●", "Readable")


def _clock_advice(store: StoreState) -> list[Markup]:
    leap = store.clock_jump
    if leap is None:
        return []
    what = (
        f"The clock went from {moment(leap.before)} to {moment(leap.after)} at once. What became "
        "old by that is kept, until the clock is set right or the store was measured on "
        f"{CONFIRMED_BY} days after."
    )
    return [_paragraph(what)]


def _growth_facts(measured: StoreSize) -> Iterator[tuple[str, str]]:
    if measured.growth is not None:
        yield "Grows by", growth(measured.growth)
    if measured.full_in is not None:
        yield "Full in", until_full(measured.full_in)


def until_full(length: timedelta) -> str:
    """Say how long the disk suffices, as far as that can be known."""
    return "over ten years" if length > _TEN_YEARS else span(length)


def kinds_part(measured: StoreSize) -> Markup:
    """Show what takes space, kind by kind.

    Counts of rows are left out: they are a day old at most, and live ones stand above.
    """
    head = element("header", element("h2", "Storage by kind of data"), class_="lw-card-head")
    rows = [[each.kind.capitalize(), _size_of(each), _growth_of(each)] for each in measured.kinds]
    kinds = element(
        "div", table(_KIND_COLUMNS, rows, "Kinds of data in the store"), class_="lw-spaced"
    )
    how = (
        f"Measured once a day, last {moment(measured.measured_at)}; "
        f"{size(measured.bytes)} together then."
    )
    if measured.growth is None:
        how += " Growth is known after two days."
    return join(head, kinds, element("p", how, class_="lw-quiet"))


def _size_of(each: KindSize) -> str:
    return f"about {size(each.bytes)}" if each.is_estimated else size(each.bytes)


def _growth_of(each: KindSize) -> str:
    return "" if each.growth is None else growth(each.growth)


def growth(of_day: float) -> str:
    """Say how many bytes a day something grows."""
    sign = "-" if of_day < 0 else "+"
    return f"{sign}{size(round(abs(of_day)))} a day"


def network_part(health: NetworkHealth, now: datetime) -> Markup:
    """Show every operation on a network, when it was answered, and why it is not."""
    profile = health.profile
    head = element(
        "header",
        element("h2", profile.name),
        badge(*_BADGES[health.state(now)]),
        simulated_badge() if profile.is_simulated else Markup(),
        class_="lw-card-head",
    )
    if not health.operations:
        what = "It has no gas, node or exclusion endpoint, so nothing is asked: add one to it."
        return join(head, element("p", what, class_="lw-lede"))
    rows = [_operation_row(operation, now) for operation in health.operations]
    failures = (_trouble(each, now) for each in health.operations)
    operations = element(
        "div", table(_OPERATION_COLUMNS, rows, f"Operations of {profile.name}"), class_="lw-spaced"
    )
    costs = Markup()
    if health.spending.this_month.calls:
        costs = _paragraph(spending_in_words(health.spending, profile.planned_credits))
    return join(head, *failures, operations, costs)


def _operation_row(operation: OperationHealth, now: datetime) -> list[str]:
    answered = operation.answered_at
    last = (
        element("time", age(answered, now), title=moment(answered)) if answered else Markup("never")
    )
    asked = (
        "as each hash needs it" if operation.period is None else f"every {period(operation.period)}"
    )
    return [
        join(
            element("div", OPERATION_NAMES[operation.operation]),
            element("div", str(operation.operation), class_="lw-mono lw-quiet"),
        ),
        last,
        asked,
        badge(*_BADGES[operation.state(now)]),
    ]


def _trouble(operation: OperationHealth, now: datetime) -> Markup:
    failure: StandingFailure | None = operation.failure
    if failure is None:
        return Markup()
    since = moment_near(failure.failing_since, now)
    headline = (
        f"{operation.operation}: no answer since {since} ({age(failure.failing_since, now)})."
    )
    text = f" {sentence(failure.failure.message)} {REMEDIES[failure.failure.kind]}"
    if operation.is_from_node:
        text += " Meanwhile the network's node answers instead."
    return element("p", element("strong", headline), text, class_="lw-notice busy lw-spaced")


def _part(name: str, state: Markup, *content: Markup) -> Markup:
    head = element("header", element("h2", name), state, class_="lw-card-head")
    return join(head, *content)


def _paragraph(text: str) -> Markup:
    return element("p", text, class_="lw-quiet lw-spaced")


def _facts(facts: list[tuple[str, str]]) -> Markup:
    pairs = (element("div", element("dt", name), element("dd", value)) for name, value in facts)
    return element("dl", *pairs, class_="lw-facts")


def _figure(name: str, count: int, at: datetime | None, which: str, now: datetime) -> Markup:
    note = Markup() if at is None else element("dd", f"{which} {age(at, now)}", class_="lw-note")
    return element("div", element("dt", name), element("dd", f"{count:,}"), note)


def _holder_name(name: str) -> str:
    """Name a process by what a person can find it by; workers call themselves host/process/id."""
    parts = name.split("/")
    return f"process {parts[1]} on {parts[0]}" if len(parts) == _PARTS_OF_HOLDER else name


_GAP_COLUMNS: Final = ("Network", "What", "From (UTC)", "Until", "Length", "Why")
_REASON_LENGTH: Final = 200
_WATCHED_NAMES: Final = {Watched.FEES: "Fees", Watched.REJECTIONS: "Rejections"}
_NO_WORKER: Final = "No worker ran"


def gap_table(gaps: Sequence[Gap], context: QueryContext, now: datetime) -> Markup:
    """Build the table."""
    return table(
        _GAP_COLUMNS, [_gap_row(gap, context, now) for gap in gaps], "Gaps in what was watched"
    )


def _gap_row(gap: Gap, context: QueryContext, now: datetime) -> tuple[Markup | str, ...]:
    ends = badge("busy", "!", "Lasts") if gap.ends_at is None else _gap_time(gap.ends_at)
    return (
        context.network_name(gap.network_id),
        _WATCHED_NAMES[gap.watched],
        _gap_time(gap.begins_at),
        ends,
        span(gap.length(now)),
        _NO_WORKER if gap.cause is GapCause.NOT_WATCHED else visible(gap.reason, _REASON_LENGTH),
    )


def _gap_time(at: datetime) -> Markup:
    return element("time", f"{at:%d %b %H:%M:%S}", title=moment(at))
