"""Traffic: every reason and stage, reproducible, with a rejection soon after the start."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.devnet.rejection_scripts import LIMITS, LONGEST_SECONDS, SCRIPTS
from dashboard.devnet.traffic import (
    REJECTION_SECONDS,
    SimulatedRejection,
    SubmitReport,
    Track,
    Traffic,
)
from dashboard.domain.rejections.exclusion import WIRE_STAGES, RejectionReport, RejectionStage
from dashboard.domain.rejections.reasons import Reason, ReasonKind, parse_reason
from dashboard.wire.rejection_report import decode_report, encode_report
from dashboard.wire.transaction import decode_transaction
from tests.unit.devnet.small_devnet import BEGIN, a_chain

START = datetime.fromtimestamp(BEGIN + 40_000, UTC)
FIRST = (BEGIN + 40_000) // REJECTION_SECONDS
SECOND = timedelta(seconds=1)
LONG_AGO = START - timedelta(days=400)

CHAIN = a_chain()
TRAFFIC = Traffic(CHAIN)
ROUND = [TRAFFIC.rejection(FIRST + number) for number in range(len(SCRIPTS))]
STARTS = st.integers(0, 10**6).map(lambda seconds: START + seconds * SECOND)


def reports(story: SimulatedRejection) -> list[RejectionReport]:
    return [each.report for each in story.reports]


def reasons(stories: list[SimulatedRejection]) -> list[Reason]:
    return [parse_reason(report.reason_message) for each in stories for report in reports(each)]


@settings(max_examples=5)
@given(start=STARTS, cuts=st.lists(st.integers(0, 300), max_size=5))
def test_traffic_is_the_same_in_one_piece_or_in_many(start: datetime, cuts: list[int]) -> None:
    moments = [start, *(start + cut * SECOND for cut in sorted(cuts)), start + 300 * SECOND]

    pieces = [
        action
        for since, until in pairwise(moments)
        for action in Traffic(CHAIN).actions(since, until, LONG_AGO)
    ]

    assert pieces == TRAFFIC.actions(start, moments[-1], LONG_AGO)


@settings(max_examples=10)
@given(start=STARTS)
def test_tracked_rejection_is_reported_within_twenty_seconds_of_any_start(start: datetime) -> None:
    actions = TRAFFIC.actions(start - timedelta(minutes=5), start + 20 * SECOND, start)

    tracked = {action.tx_hash for action in actions if isinstance(action, Track)}
    rejected = {
        action.report.transaction.tx_hash for action in actions if isinstance(action, SubmitReport)
    }
    assert tracked & rejected


@settings(max_examples=10)
@given(start=STARTS)
def test_first_page_shows_rejections_and_payments_that_are_not_rejected(start: datetime) -> None:
    backlog = TRAFFIC.actions(start - timedelta(minutes=5), start, start)

    payments = [each for each in backlog if isinstance(each, Track) and "payment" in each.label]
    assert sum(isinstance(each, SubmitReport) for each in backlog) >= 12
    assert len(payments) == 2
    assert all(each.attempted_at <= each.at <= start for each in payments)


def test_transaction_exceeds_a_limit_every_fifteen_to_nineteen_seconds() -> None:
    stories = [TRAFFIC.rejection(FIRST + number) for number in range(200)]

    gaps = {later.sent_at - earlier.sent_at for earlier, later in pairwise(stories)}

    assert min(gaps) > 15 * SECOND
    assert max(gaps) < 19 * SECOND


def test_one_round_of_stories_has_every_form_of_reason() -> None:
    found = reasons(ROUND)
    texts = [reason.text.partition("(")[0].split(" ")[0] for reason in found]

    assert Counter(reason.kind for reason in found).keys() == {
        ReasonKind.OVER_LIMIT,
        ReasonKind.MODULE_UNDEFINED,
        ReasonKind.INVALID_COUNT,
    }
    assert any(reason.text.startswith("Transaction 0x") for reason in found)
    assert any(reason.text.startswith("Transaction line count") for reason in found)
    assert {reason.text for reason in found} >= {
        "TX_MODULE_LINE_COUNT_OVERFLOW",
        "TX_MODULE_LINE_COUNT_OVERFLOW_CACHED",
    }
    assert Counter(texts)["TX_MODULE_LINE_COUNT_OVERFLOW"] >= 2
    assert any("CACHED(" in reason.text for reason in found)


def test_sequencer_alone_names_a_block_and_never_a_count() -> None:
    every = [report for story in ROUND for report in reports(story)]

    assert {report.tx_rejection_stage for report in every} == set(WIRE_STAGES)
    for report in every:
        is_sequencer = report.tx_rejection_stage is RejectionStage.SEQUENCER
        assert (report.block_number is not None) == is_sequencer
        assert report.reason_message.startswith("TX_MODULE") == is_sequencer


def test_counts_are_above_limits_that_real_networks_have() -> None:
    found = [
        reason
        for reason in reasons([TRAFFIC.rejection(FIRST + number) for number in range(400)])
        if reason.count is not None and reason.limit is not None and reason.module is not None
    ]

    assert all((reason.count or 0) > (reason.limit or 0) for reason in found)
    assert all(LIMITS[reason.module or ""] == reason.limit for reason in found)
    assert {reason.limit for reason in found} >= {0, 64, 2_097_152}


def test_reports_are_late_repeated_and_changed() -> None:
    texts = [[report.reason_message for report in reports(story)] for story in ROUND]
    lateness = [each.at - each.report.timestamp for story in ROUND for each in story.reports]

    assert any(len(each) == 2 and len(set(each)) == 1 for each in texts)
    assert any(len(set(each)) == 3 for each in texts)
    assert sorted(lateness)[-2:] == [240 * SECOND, 600 * SECOND]


def test_some_transactions_are_included_after_all_and_some_replaced() -> None:
    endings = [
        (story.transaction, story.inclusion.transaction)
        for story in ROUND
        if story.inclusion is not None
    ]

    assert sum(rejected == included for rejected, included in endings) == 2
    ((rejected, other),) = [pair for pair in endings if pair[0] != pair[1]]
    assert (rejected.sender, rejected.nonce) == (other.sender, other.nonce)


def test_inclusions_of_many_blocks_are_those_of_each() -> None:
    several = list(TRAFFIC.inclusions(900, 1_000))

    assert len(several) >= 2
    assert sorted(several, key=lambda each: each.block) == [
        each for number in range(900, 1_001) for each in TRAFFIC.inclusions(number, number)
    ]


def test_every_report_is_one_that_the_exclusion_api_takes() -> None:
    for story in ROUND:
        assert decode_transaction(story.transaction.raw) == story.transaction
        for report in reports(story):
            assert decode_report([encode_report(report)]) == report


def test_no_story_lasts_longer_than_traffic_looks_back() -> None:
    longest = max(report.at - story.sent_at for story in ROUND for report in story.reports)

    assert longest < (LONGEST_SECONDS - REJECTION_SECONDS) * SECOND


def test_day_of_tracking_is_bearable_for_a_mailbox() -> None:
    hours = TRAFFIC.actions(START, START + timedelta(hours=2), LONG_AGO)

    tracked = [each for each in hours if isinstance(each, Track)]

    assert sum("payment" not in each.label for each in tracked) < 300 / 12
    assert sum("payment" in each.label for each in tracked) == 576 / 12
