"""Sources on the page Health: how each question is answered, and the gaps in what was watched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

import streamlit as st
from msgspec import Struct

from dashboard.application.context import ApplicationContext
from dashboard.application.health import MOST_GAPS, QUARTERS, Coverage, SourceRecords
from dashboard.application.listing import Column, Listing
from dashboard.application.network_status import NetworkProfile
from dashboard.application.polling_plan import PlannedPolling, PollingPlan, in_seconds
from dashboard.application.source_health import (
    OPERATION_NAMES,
    NetworkHealth,
    OperationHealth,
    OperationState,
    Spending,
    endpoint_words,
    spending_in_words,
)
from dashboard.application.text import age
from dashboard.domain.formatting import counted, moment, name_order, period, span
from dashboard.domain.health.budgets import BudgetState, factor
from dashboard.domain.health.coverage import Gap, GapCause, Watched, WatchedTime
from dashboard.domain.health.observation import AnswerCounts
from dashboard.domain.markup import Markup, element, join, plain_label, visible
from dashboard.domain.quantity import NetworkId
from dashboard.show.parts.answer_strips import (
    CellState,
    answer_strip,
    cell_state,
    gap_strip,
    strip_legend,
)
from dashboard.show.parts.badges import badge, operation_badge, simulated_badge
from dashboard.show.parts.list_page import open_button
from dashboard.show.parts.table import NUMBER, list_table, row_cells, row_head, table, time_ago
from dashboard.store.monitoring.answer_counts import SourceRecord

_COLUMNS: Final = ("Question", "State", "Last 24 h", "Answered", "p50", "p95", "Last answer")
_NUMBERS: Final = frozenset({"Answered", "p50", "p95", "Credits today"})
_HEADS: Final = ("Network", "State", "Answered", "p50", "p95", "Last answer", "Credits today")
_STYLES: Final = tuple(NUMBER if each in _NUMBERS else None for each in _HEADS)
_NOTHING: Final = SourceRecord(AnswerCounts(), (None,) * QUARTERS)
_RANKS: Final = (
    OperationState.FAILING,
    OperationState.STALE,
    OperationState.NOT_ASKED,
    OperationState.ANSWERED,
    OperationState.NOT_AWAITED,
)
OVER_PLAN: Final = badge("busy", "▲", "Over plan")
_LONGEST_NAME: Final = 60
TIMES_NOTE: Final = (
    "p50 and p95: 50% and 95% of the answers came within this time. Hashes of one call count once."
)


def network_head(health: NetworkHealth, now: datetime) -> Markup:
    simulated = simulated_badge() if health.profile.is_simulated else Markup()
    head = element("h3", health.profile.name, class_="lw-subhead")
    state = operation_badge(health.state(now))
    return element("header", head, state, simulated, class_="lw-card-head")


class SourceHistory(Struct, frozen=True):
    """The results of all questions, and what they cost; None if the store did not say."""

    records: SourceRecords | None = None
    spending: Mapping[NetworkId, Spending] | None = None


def source_table(health: NetworkHealth, history: SourceHistory, now: datetime) -> Markup:
    """Show every question to a network, and what they cost."""
    records = history.records
    profile = health.profile
    if not health.operations:
        what = "This network has no gas, node or exclusion endpoint: add one."
        return element("p", what, class_="lw-lede")
    rows = [
        _row(each, None if records is None else _record(records, profile.network_id, each), now)
        for each in health.operations
    ]
    shown = table(_COLUMNS, rows, f"Questions to {profile.name}", _NUMBERS)
    spent = (history.spending or {}).get(profile.network_id)
    costs = Markup() if spent is None else _costs(spent, health)
    ways = [element("p", visible(each), class_="lw-quiet") for each in health.ways()]
    return join(element("div", shown, class_="lw-spaced lw-sources"), costs, *ways)


def budget_lines(budgets: Iterable[BudgetState], now: datetime) -> Markup:
    """Say what is spent of each budget, and what follows."""
    return join(
        *(
            element(
                "p",
                element("b", f"Budget {visible(each.budget.name, _LONGEST_NAME)}"),
                f": {' '.join(each.sentences(now))}",
                class_="lw-quiet lw-spaced",
            )
            for each in budgets
        )
    )


_PLAN_HEADS: Final = ("Calls per transaction", "Calls a day", "Credits a day", "Mean delay")


def plan_table(plan: PollingPlan) -> Markup:
    """Show the plan, small enough for a phone: for each network a head, then its settings."""
    head = element("tr", *(element("th", each, scope="col") for each in _PLAN_HEADS))
    rows = []
    for name, lines in groupby(plan.lines, lambda each: each.network):
        own = list(lines)
        title = element("th", *_plan_head(name, own[0]), colspan="4", scope="colgroup")
        rows.append(element("tr", title))
        rows += [_plan_row(each) for each in own if each.delay is not None]
    words = [element("p", visible(each), class_="lw-quiet") for each in plan.in_words()]
    body = element("thead", head), element("tbody", *rows)
    return join(element("table", *body, class_="lw-plan", aria_label="Plan"), *words)


def _plan_head(name: str, line: PlannedPolling) -> Iterator[Markup]:
    yield element("b", visible(name, _LONGEST_NAME))
    fees = line.fees
    asked = f"{counted(fees.calls, 'call')}, {counted(fees.credits, 'credit')}"
    about = [f"{line.tracked:,} tracked"] if line.delay is not None else []
    about += [f"fees {asked} a day"] if fees.calls else []
    yield element("small", f" {'; '.join(about)}")


def _plan_row(line: PlannedPolling) -> Markup:
    mark = element("small", " in force") if line.is_in_force else Markup()
    fewer = element("small", f" {factor(line.stretch)}× fewer") if line.stretch > 1 else Markup()
    late = Markup() if line.delay is None else element("span", in_seconds(line.delay.mean))
    p99 = Markup() if line.delay is None else element("small", f" p99 {in_seconds(line.delay.p99)}")
    cells = (
        join(f"{line.calls:,}", mark),
        join(f"{line.asked.calls:,}", fewer),
        f"{line.asked.credits:,}",
        join(late, p99),
    )
    class_ = "is-in-force" if line.is_in_force else None
    return element("tr", *(element("td", each) for each in cells), class_=class_)


def _costs(spent: Spending, health: NetworkHealth) -> Markup:
    words = spending_in_words(spent, health.fee_credits, health.profile.cost.gas_credits)
    mark = OVER_PLAN if health.is_over_plan else Markup()
    return element("p", mark, " ", words, class_="lw-quiet lw-spaced")


def legend_of(records: SourceRecords, networks: Iterable[NetworkId]) -> Markup:
    """Explain the shapes of these strips, and p50 and p95."""
    ids = set(networks)
    found = [each for (network_id, _), each in records.items() if network_id in ids]
    shown = {cell_state(quarter) for each in found for quarter in each.quarters} | {
        CellState.NOT_ASKED
    }
    return join(strip_legend(list(shown)), element("p", TIMES_NOTE, class_="lw-quiet"))


def _record(records: SourceRecords, network_id: NetworkId, each: OperationHealth) -> SourceRecord:
    return records.get((network_id, each.operation), _NOTHING)


def _row(operation: OperationHealth, record: SourceRecord | None, now: datetime) -> list[str]:
    name = OPERATION_NAMES[operation.operation]
    asked = endpoint_words(operation, now)
    lines = (element("div", visible(each), class_="lw-quiet") for each in asked)
    question = element("div", name, *lines, title=str(operation.operation))
    return [
        question,
        operation_badge(operation.state(now)),
        Markup() if record is None else answer_strip(record.quarters, name),
        *_figures(record),
        _answered(operation, now),
    ]


def _figures(record: SourceRecord | None) -> list[str]:
    """Return the share that was answered, and the p50 and p95 of the response times."""
    if record is None:
        return ["not known", "", ""]
    total = record.total
    return [share_words(total), *(time_words(total.percentile(each)) for each in (0.5, 0.95))]


def share_words(counts: AnswerCounts) -> str:
    """Say which share was answered: 100% only if it is all."""
    share = counts.share()
    if share is None:
        return "–"
    return "100%" if share == 1 else f"{min(share, 0.999) * 100:.1f}%"


def time_words(took: timedelta | None) -> str:
    """Format a response time in two significant digits."""
    if took is None:
        return "–"
    milliseconds = took / timedelta(milliseconds=1)
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"  # noqa: PLR2004 - a second


def _answered(operation: OperationHealth, now: datetime) -> Markup:
    at = operation.answered_at
    last = Markup("never") if at is None else time_ago(at, now)
    often, ended_at = operation.period, operation.not_awaited_since
    asked = "as needed" if often is None else f"every {period(often)}"
    if ended_at is not None:
        since = f"no line limits since {moment(ended_at)}: transactions first seen later are"
        asked = (
            f"{since} asked about once a day"
            if operation.is_asked_after
            else f"{since} not asked about"
        )
    return join(last, element("div", asked, class_="lw-quiet"))


def sorted_by_state(networks: Sequence[NetworkHealth], now: datetime) -> list[NetworkHealth]:
    def place(health: NetworkHealth) -> tuple[int, str]:
        return _RANKS.index(health.state(now)), name_order(health.profile.name)

    return sorted(networks, key=place)


def source_rows_head() -> None:
    st.html(row_head((*_HEADS, "Last 24 h"), "lw-net lw-src", _STYLES))


def source_row(
    health: NetworkHealth, history: SourceHistory, now: datetime, *, is_open: bool
) -> None:
    """Show the sources of a network in one row; a click, or Enter, opens or closes it."""
    profile, records = health.profile, history.records
    own = [_record(records or {}, profile.network_id, each) for each in health.operations]
    merged = _merged(own)
    spent = (history.spending or {}).get(profile.network_id, Spending())
    credits_today = None if history.spending is None else spent.today.credits
    with st.container(key=f"net-{profile.network_id}", gap=None):
        st.html(_cells(health, None if records is None else merged, credits_today, now))
        st.html(answer_strip(merged.quarters, "All questions"))
        name = plain_label(profile.name, _LONGEST_NAME)
        open_button(str(profile.network_id), f"the questions of {name}", is_open=is_open)


def _merged(records: Sequence[SourceRecord]) -> SourceRecord:
    """Add up the results of all questions of a network."""
    columns = zip(*(each.quarters for each in records), strict=True) if records else ()
    quarters = tuple(_added([each for each in column if each]) for column in columns)
    total = sum((each.total for each in records), AnswerCounts())
    return SourceRecord(total, quarters or _NOTHING.quarters)


def _added(asked: Sequence[AnswerCounts]) -> AnswerCounts | None:
    """Add up a quarter of an hour without its times, which no strip shows."""
    if not asked:
        return None
    return AnswerCounts(
        sum(each.answered for each in asked),
        sum(each.instead for each in asked),
        sum(each.failed for each in asked),
    )


def _cells(
    health: NetworkHealth, record: SourceRecord | None, credits_today: int | None, now: datetime
) -> Markup:
    times = [each.answered_at for each in health.operations if each.answered_at is not None]
    values = (
        element("b", visible(health.profile.name, _LONGEST_NAME)),
        operation_badge(health.state(now)),
        *_figures(record),
        age(max(times), now) if times else "never",
        _credits_cell(health, credits_today),
    )
    return row_cells(_HEADS, values, "lw-net lw-src", _STYLES)


def _credits_cell(health: NetworkHealth, credits_today: int | None) -> Markup:
    """Show all credits of today, and those for fees beside their plan."""
    planned = health.profile.cost.gas_credits
    if not (credits_today or planned):
        return Markup("–")
    total = "not known" if credits_today is None else f"{credits_today:,}"
    if not planned:
        return Markup(total)
    of_plan = element("small", f" fees {health.fee_credits:,} of {planned:,}")
    return join(total, of_plan, OVER_PLAN if health.is_over_plan else Markup())


SHOWN: Final = timedelta(days=7)
MOST_LISTED: Final = 20
_REASON_LENGTH: Final = 200
_WATCHED_NAMES: Final = {Watched.FEES: "Fees", Watched.REJECTIONS: "Rejections"}


def gap_timeline(coverage: Coverage, networks: Sequence[NetworkProfile], now: datetime) -> Markup:
    """Draw a strip for each part of a network that has gaps; name the networks without."""
    between = (now - SHOWN, now)
    rows: list[Markup] = []
    whole, never = [], []
    for profile in networks:
        began = coverage.began_at(profile.network_id)
        drawn = [_strip_row(coverage, profile, watched, between) for watched in Watched]
        rows += filter(None, drawn)
        if began is None:
            never.append(profile.name)
        elif not any(drawn):
            since = f" (watched since {moment(began)})" if began > between[0] else ""
            whole.append(f"{profile.name}{since}")
    said = {"No gaps": whole, "Never watched": never}
    rest = " ".join(f"{words}: {', '.join(names)}." for words, names in said.items() if names)
    if rows:
        empty = element("span")
        rows.append(element("div", empty, empty, _axis(now), class_="lw-gaps-row"))
    return join(
        element("div", *rows, class_="lw-gaps") if rows else Markup(),
        element("p", rest, class_="lw-quiet") if rest else Markup(),
    )


def _strip_row(
    coverage: Coverage,
    profile: NetworkProfile,
    watched: Watched,
    between: tuple[datetime, datetime],
) -> Markup | None:
    since, until = between
    gaps = [
        (each.begins_at, each.ends_at or until)
        for each in coverage.gaps
        if (each.network_id, each.watched) == (profile.network_id, watched)
    ]
    time = WatchedTime.of(since, until, gaps)
    if not time.missed:
        return None
    missed = time.length - time.watched
    more = " or more" if len(gaps) >= MOST_GAPS and gaps[-1][0] > since else ""
    many, length = f"{counted(len(time.missed), 'gap')}{more}", f"{span(missed)}{more}"
    what = f"{profile.name}, {_WATCHED_NAMES[watched].lower()}"
    words = f"{what}: {many} in 7 days, {length} in all."
    began = coverage.began[watched].get(profile.network_id)
    return element(
        "div",
        element("span", element("b", profile.name), " ", _WATCHED_NAMES[watched].lower()),
        element("span", f"{many}, {length}", class_="lw-quiet"),
        gap_strip(time.missed, between, began, words),
        class_="lw-gaps-row",
    )


def _axis(now: datetime) -> Markup:
    """Label the first day, the middle, and now."""
    days = (now - SHOWN, now - SHOWN / 2)
    marks = [element("span", f"{each:%d %b %H:%M}") for each in days]
    return element("span", *marks, element("span", "now"), class_="lw-axis")


def gap_table(gaps: Sequence[Gap], context: ApplicationContext, now: datetime) -> Markup:
    ongoing = badge("busy", "!", "Ongoing")
    listing: Listing[Gap] = Listing(
        "gaps",
        (
            Column("Network", lambda each: context.network_name(each.network_id)),
            Column("What", lambda each: _WATCHED_NAMES[each.watched]),
            Column("Began", lambda each: time_ago(each.begins_at, now)),
            Column("Ended", lambda each: time_ago(each.ends_at, now) if each.ends_at else ongoing),
            Column("Length", lambda each: span(each.length(now)), is_number=True),
            Column(
                "Why",
                lambda each: (
                    "No worker asked"
                    if each.cause is GapCause.NOT_WATCHED
                    else visible(each.reason, _REASON_LENGTH)
                ),
            ),
        ),
    )
    return list_table(listing, gaps, "Gaps")
