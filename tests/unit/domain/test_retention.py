"""Before when each kind may be forgotten: by whole minutes, hours and days where that matters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dashboard.domain.health.retention import Retention

NOW = datetime(2026, 11, 20, 12, 34, 56, 789_000, tzinfo=UTC)


def test_some_kinds_go_by_whole_minutes_hours_or_days_and_others_exactly() -> None:
    day = timedelta(days=1)
    kept = dict.fromkeys(("fees", "fee_minutes", "credits", "audit_log"), day)
    exactly = dict.fromkeys(("rejections", "notifications", "untracked_answers"), day)

    before = Retention(**kept, **exactly, coverage_gaps=day).before(NOW)

    yesterday = datetime(2026, 11, 19, tzinfo=UTC)
    assert before["fees"] == yesterday.replace(hour=12, minute=34)
    assert before["fee_minutes"] == before["credits"] == yesterday.replace(hour=12)
    assert before["audit_log"] == yesterday
    assert {before[each] for each in (*exactly, "coverage_gaps")} == {NOW - day}


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
