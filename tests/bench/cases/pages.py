"""Pages: how long each question to the store takes that a page asks, while a worker writes."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from dashboard.application.application import Application
from dashboard.application.network_status import NetworkStatus
from dashboard.application.rejection_timeline import PERIODS, Period, SplitBy
from dashboard.application.time_ranges import TIME_RANGES, TimeRange
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.search import HashRange, RejectionFilter
from dashboard.show.streamlit_runtime import warm_up
from dashboard.store.alerts.incident_list import FinishedFilter
from dashboard.store.alerts.notification_search import NotificationFilter
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.rejections.counts import Grouping
from dashboard.store.tracking.groups import GroupedBy
from dashboard.store.tracking.search import RecordStatus, TrackedFilter
from tests.bench.pages_store import (
    CARDS,
    TWELVE,
    PagedStore,
    a_sender,
    an_incident_id,
    made_paged_store,
    stored_hash,
)
from tests.bench.processes import cores
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, number

_LONGEST: Final = 50.0
_LONGEST_OF_A_YEAR: Final = 150.0
"""Milliseconds that the promise leaves for p95: of any question, and of a year of rejections."""

_HOUR: Final = next(each for each in TIME_RANGES if each.length == timedelta(hours=1))
_LAST: Final = 0.95
_ROWS: Final = 25

Ask = Callable[[Application], object]


class Timed(NamedTuple):
    """Milliseconds of a question: the usual, and what one in twenty takes longer than."""

    page: str
    question: str
    p50: float
    p95: float


def run(scene: Scene) -> Result:
    """Ask each question again and again, with nothing kept from the one before."""
    paged = made_paged_store(scene.folder, scene.stored, scene.day, timedelta(days=scene.days))
    rounds = max(20, round(scene.rounds * scene.seconds * 5))
    with (
        _collecting_as_pages_do(),
        scene.peer("worker", "writer", cores()[0], paged.file),
        closing(open_store(f"sqlite:///{paged.file}")) as store,
    ):
        statuses = Application(store, TWELVE, None, lambda: paged.until).network_statuses()
        timed = [
            _time(store, paged.until, page, question, ask, rounds)
            for page, question, ask in _questions(paged, statuses)
        ]
    of_a_year = [each for each in timed if each.page == "Rejections" and "1 y" in each.question]
    others = [each for each in timed if each not in of_a_year]
    lines = [
        [each.page, each.question, f"{number(each.p50)} ms", f"{number(each.p95)} ms"]
        for each in timed
    ]
    return Result(
        title=(
            f"S18: page questions, a year of twelve networks, {paged.stored:,} rejections, "
            f"{paged.stored:,} tracked, while a worker writes"
        ),
        promises=[_promise(others, _LONGEST), _promise(of_a_year, _LONGEST_OF_A_YEAR)],
        heads=("page", "question", "p50", "p95"),
        lines=lines,
        remarks=[
            (
                "No answer comes from a cache; one process reads them all, and collects garbage as "
                "the process of the pages does."
            )
        ],
    )


@contextmanager
def _collecting_as_pages_do() -> Iterator[None]:
    before = gc.get_threshold()
    warm_up()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def _promise(several: Sequence[Timed], longest: float) -> Promise:
    slowest = max(several, key=lambda each: each.p95)
    about = f"p95 of the slowest page question ({slowest.page}: {slowest.question})"
    return Promise("S18", about, longest, slowest.p95, "ms", is_floor=False)


def _time(store: Store, now: datetime, page: str, question: str, ask: Ask, rounds: int) -> Timed:
    took = []
    for _ in range(rounds):
        queries = Application(store, TWELVE, None, lambda: now)
        begun = time.perf_counter()
        ask(queries)
        took.append(1000 * (time.perf_counter() - begun))
    took.sort()
    return Timed(page, question, took[len(took) // 2], took[int(_LAST * (len(took) - 1))])


def _questions(
    paged: PagedStore, statuses: Sequence[NetworkStatus]
) -> Iterator[tuple[str, str, Ask]]:
    yield "Overview", "states of twelve networks", Application.network_statuses
    yield (
        "Overview",
        "charts of an hour, of three networks",
        lambda queries: [queries.fees.view(each, _HOUR) for each in statuses[:3]],
    )
    yield "Overview", "newest rejections", lambda queries: queries.overview.newest(8)
    yield "Overview", "what is usual now", lambda queries: queries.overview.usual(statuses[0])
    yield "Overview", "the day as a line", lambda queries: queries.overview.day_line(statuses[0])
    yield "Overview", "rejections of an hour", lambda queries: queries.overview.hourly()
    for span in TIME_RANGES:
        yield "Fees", f"chart of {span.name}", _fee_view(statuses[0], span)
    for span in TIME_RANGES:
        yield "Fees", f"twelve networks side by side, {span.name}", _fee_lines(statuses, span)
    yield "Fees", "ranges", lambda queries: queries.fees.time_ranges(CARDS)
    yield from _rejection_questions(paged)
    yield from _tracked_questions(paged)
    hashes = [stored_hash(paged.stored // 3), stored_hash(paged.stored // 100 * 100 - 100)]
    yield "Lookup", "summaries of two hashes", lambda queries: queries.summaries(hashes)
    yield from _alert_questions(paged)
    yield "Health", "everything", lambda queries: queries.health.health()
    yield "Health", "answers of a day", lambda queries: queries.health.source_records()
    yield "Health", "gaps of 30 days", lambda queries: queries.health.coverage()


def _alert_questions(paged: PagedStore) -> Iterator[tuple[str, str, Ask]]:
    yield "Alerts", "pending and sent", lambda queries: queries.alerts.counts()
    yield "Alerts", "open incidents", lambda queries: queries.alerts.open()
    for words, wanted in (
        ("all", NotificationFilter()),
        ("dead", NotificationFilter(state=NotificationState.DEAD)),
        ("of a network", NotificationFilter(CARDS[0].network_id)),
        ("of a hash", NotificationFilter(tx_hashes=HashRange.of(stored_hash(0)))),
        ("to an address", NotificationFilter(search="ops7@")),
    ):
        yield "Alerts", f"count, {words}", _asking_alerts_count(wanted)
        yield "Alerts", f"first page, {words}", _asking_alerts_leaf(wanted)
    lately = FinishedFilter(paged.until - timedelta(days=30))
    yield "Alerts", "resolved incidents, count", _asking_finished_count(lately)
    yield "Alerts", "resolved incidents, first page", _asking_finished(lately)
    yield (
        "Alerts",
        "an incident",
        lambda queries: queries.incidents.story(an_incident_id(paged.stored)),
    )


def _rejection_questions(paged: PagedStore) -> Iterator[tuple[str, str, Ask]]:
    anything = RejectionFilter()
    year = PERIODS["1 y"]
    for name, period in PERIODS.items():
        yield "Rejections", f"counts of {name}", _summary(anything, period)
        for split in SplitBy:
            yield "Rejections", f"{name} by {split.lower()}", _timeline(anything, period, split)
    some_hash = str(stored_hash(paged.stored // 2)).removeprefix("0x")
    filters: Sequence[tuple[str, RejectionFilter]] = (
        ("all", anything),
        ("of a network", RejectionFilter(CARDS[1].network_id)),
        ("of a stage", RejectionFilter(tx_rejection_stage=RejectionStage.P2P)),
        ("of a common module", RejectionFilter(module="MODULE_0")),
        ("of a rare module", RejectionFilter(module="MODULE_44")),
        ("of a rare module and network", RejectionFilter(CARDS[1].network_id, module="MODULE_44")),
        ("of a common sender", RejectionFilter(sender=a_sender(1))),
        ("of a rare sender", RejectionFilter(sender=a_sender(40_000))),
        ("of a hash", RejectionFilter(tx_hash=stored_hash(7))),
        ("of a hash prefix", RejectionFilter(tx_hashes=HashRange.beginning_with(some_hash[:8]))),
    )
    for words, wanted in filters:
        yield "Rejections", f"counts of 1 y, {words}", _summary(wanted, year)
        yield "Rejections", f"first page of 1 y, {words}", _leaf(wanted, year, 1)
    yield "Rejections", "last page of 1 y, all", _leaf(anything, year, paged.stored // _ROWS)
    middle = _leaf(RejectionFilter(module="MODULE_0"), year, paged.stored // _ROWS // 10)
    yield "Rejections", "middle page of 1 y, of a common module", middle
    for name, period in PERIODS.items():
        yield "Rejections", f"senders of {name}", _senders(anything, period)
        yield "Rejections", f"stages of {name}", _stages(anything, period)
        yield "Rejections", f"overruns of {name}", _overruns(anything, period)
    yield "Rejections", "unknown reasons", lambda queries: queries.rejections.unknown_reasons(None)


def _tracked_questions(paged: PagedStore) -> Iterator[tuple[str, str, Ask]]:
    network_id = CARDS[0].network_id
    yield "Tracked", "counts", lambda queries: queries.tracked.counts(None)
    yield "Tracked", "counts of a network", lambda queries: queries.tracked.counts(network_id)
    for words, wanted in (
        ("all", TrackedFilter()),
        ("rejected", TrackedFilter(record_status=RecordStatus.REJECTED)),
        ("unanswered", TrackedFilter(record_status=RecordStatus.UNANSWERED)),
        ("unreported", TrackedFilter(record_status=RecordStatus.UNREPORTED)),
        ("of a hash", TrackedFilter(tx_hashes=HashRange.of(stored_hash(100)))),
        ("by words", TrackedFilter(search="team 7")),
        ("of a label", TrackedFilter(label="team 7")),
        ("of an owner", TrackedFilter(owner="owner 7")),
        ("of a case", TrackedFilter(case_id="case 700")),
        ("of a tag", TrackedFilter(tag="tag7")),
        ("rejected ones of an owner", TrackedFilter(None, RecordStatus.REJECTED, owner="owner 7")),
        ("rejected ones of a tag", TrackedFilter(None, RecordStatus.REJECTED, tag="tag7")),
    ):
        yield "Tracked", f"count, {words}", _asking_how_many(wanted)
        yield "Tracked", f"first page, {words}", _asking_tracked(wanted)
    yield "Tracked", "page in the middle", _asking_tracked(TrackedFilter(), paged.stored // 2)
    yield "Tracked", "what needs attention", lambda queries: queries.tracked.needs(None)
    yield "Tracked", "the most urgent", lambda queries: queries.tracked.needed(None, 5)
    for by in GroupedBy:
        yield "Tracked", f"groups by {by}", _asking_groups(by)


def _fee_view(status: NetworkStatus, span: TimeRange) -> Ask:
    return lambda queries: queries.fees.view(status, span)


def _fee_lines(statuses: Sequence[NetworkStatus], span: TimeRange) -> Ask:
    return lambda queries: queries.fees.lines(statuses, range(len(statuses)), span)


def _summary(wanted: RejectionFilter, period: Period) -> Ask:
    return lambda queries: queries.rejections.summary(wanted, period)


def _timeline(wanted: RejectionFilter, period: Period, split: SplitBy) -> Ask:
    return lambda queries: queries.rejections.timeline(wanted, period, split)


def _stages(wanted: RejectionFilter, period: Period) -> Ask:
    return lambda queries: queries.rejections.groups(wanted, period, Grouping.STAGE)


def _overruns(wanted: RejectionFilter, period: Period) -> Ask:
    return lambda queries: queries.rejections.overruns(wanted, period)


def _leaf(wanted: RejectionFilter, period: Period, number: int) -> Ask:
    return lambda queries: queries.rejections.page(wanted, period, number, _ROWS)


def _senders(wanted: RejectionFilter, period: Period) -> Ask:
    return lambda queries: queries.rejections.senders(replace(wanted), period)


def _asking_how_many(wanted: TrackedFilter) -> Ask:
    return lambda queries: queries.tracked.count(wanted)


def _asking_tracked(wanted: TrackedFilter, before: int | None = None) -> Ask:
    return lambda queries: queries.tracked.page(wanted, _ROWS, before)


def _asking_groups(by: GroupedBy) -> Ask:
    return lambda queries: queries.tracked.groups(by, "", _ROWS)


def _asking_alerts_count(wanted: NotificationFilter) -> Ask:
    return lambda queries: queries.alerts.count(wanted)


def _asking_alerts_leaf(wanted: NotificationFilter) -> Ask:
    return lambda queries: queries.alerts.page(wanted, 1, _ROWS)


def _asking_finished_count(wanted: FinishedFilter) -> Ask:
    return lambda queries: queries.incidents.count_finished(None, wanted)


def _asking_finished(wanted: FinishedFilter) -> Ask:
    return lambda queries: queries.incidents.finished(None, wanted=wanted)
