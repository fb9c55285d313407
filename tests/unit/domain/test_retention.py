"""Before when each kind may be forgotten: by whole minutes, hours and days where that matters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dashboard.domain.health.retention import Retention

NOW = datetime(2026, 11, 20, 12, 34, 56, 789_000, tzinfo=UTC)


def test_fees_go_by_whole_minutes_and_minutes_by_whole_hours() -> None:
    before = Retention(fees=timedelta(days=1), fee_minutes=timedelta(days=2)).before(NOW)

    assert before["fees"] == datetime(2026, 11, 19, 12, 34, tzinfo=UTC)
    assert before["fee_minutes"] == datetime(2026, 11, 18, 12, tzinfo=UTC)


def test_credits_go_by_whole_hours_and_gaps_exactly() -> None:
    before = Retention(credits=timedelta(days=40), coverage_gaps=timedelta(days=40)).before(NOW)

    assert before["credits"] == datetime(2026, 10, 11, 12, tzinfo=UTC)
    assert before["coverage_gaps"] == NOW - timedelta(days=40)


def test_audit_log_goes_by_whole_days_and_the_rest_exactly() -> None:
    day = timedelta(days=1)
    kept = Retention(rejections=day, notifications=day, untracked_answers=day, audit_log=day)

    before = kept.before(NOW)

    assert before["audit_log"] == datetime(2026, 11, 19, tzinfo=UTC)
    assert {before["rejections"], before["notifications"], before["untracked_answers"]} == {
        NOW - day
    }


def test_nothing_is_forgotten_that_is_kept_forever_or_longer_than_time() -> None:
    endless = Retention(None, None, None, None, None, None, answer_counts=None)

    assert endless.before(NOW) == {}
    assert "rejections" not in Retention(rejections=timedelta.max).before(NOW)


def test_lengths_are_said_in_words() -> None:
    assert Retention().in_words() == {
        "fees": "14 days",
        "fee_minutes": "400 days",
        "rejections": "forever",
        "notifications": "forever",
        "untracked_answers": "30 days",
        "saved_lookups": "400 days",
        "audit_log": "forever",
        "credits": "forever",
        "coverage_gaps": "forever",
        "answer_counts": "31 days",
    }
