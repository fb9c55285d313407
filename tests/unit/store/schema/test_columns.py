"""Values come back from the database exactly as they went in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, MetaData, Table, create_engine, select

from dashboard.store.schema.columns import (
    Duration,
    Exact,
    ForeignText,
    Moment,
    Unsigned,
    escape,
    milliseconds_of,
    moment_of,
    unescape,
)


def stored(kind: Exact[Any], *values: object) -> list[object]:
    """Return the values as a database gives them back, sorted by it."""
    table = Table("kept", MetaData(), Column("value", kind))
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), [{"value": value} for value in values])
        found = list(connection.scalars(select(table.c.value).order_by(table.c.value)))
    engine.dispose()
    return found


def test_moment_comes_back_in_utc_to_the_millisecond() -> None:
    paris = datetime(2026, 7, 1, 14, 0, 0, 123_999, tzinfo=timezone(timedelta(hours=2)))

    assert stored(Moment, paris) == [datetime(2026, 7, 1, 12, 0, 0, 123_000, tzinfo=UTC)]


def test_moment_before_the_epoch_is_cut_off_like_any_other() -> None:
    before = datetime(1969, 12, 31, 23, 59, 59, 999_500, tzinfo=UTC)

    assert moment_of(milliseconds_of(before)) == before.replace(microsecond=999_000)


def test_moment_without_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        milliseconds_of(datetime(2026, 7, 1, 12, 0, 0))  # noqa: DTZ001 - naive on purpose


def test_null_stays_null_in_every_type() -> None:
    assert [stored(kind, None) for kind in (Moment, ForeignText, Unsigned)] == [[None]] * 3


def test_duration_comes_back_to_the_millisecond() -> None:
    assert stored(Duration, timedelta(seconds=1.5)) == [timedelta(seconds=1.5)]


def test_unsigned_number_sorts_by_value_up_to_64_bits() -> None:
    numbers = [2**64 - 2, 0, 256, 255, 2**63]

    assert stored(Unsigned, *numbers) == sorted(numbers)


@pytest.mark.parametrize(
    "text",
    ["", "plain", "a\0b", "back\\slash", "\\u0000", "\ud800 alone", "🙂 \u202e ", "line\nline"],
)
def test_foreign_text_comes_back_exactly_as_sent(text: str) -> None:
    assert stored(ForeignText, text) == [text]


@given(st.text(st.characters()))
def test_escaped_text_can_be_kept_and_read_back(text: str) -> None:
    escaped = escape(text)

    assert "\0" not in escaped
    assert escaped.encode().decode() == escaped
    assert unescape(escaped) == text
