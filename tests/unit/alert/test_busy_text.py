"""What a message says around a network that is busy."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

from dashboard.alert.change_text import describe_busy
from dashboard.domain.alerts.grounds import FeeGrounds, Signal
from dashboard.domain.fees.spells import BusyContext, FeePoint, UsualSpells
from dashboard.domain.quantity import Wei
from tests.builders import A_MOMENT, GWEI, suggested_gas_fees

ABOVE = FeeGrounds(Signal.BASE_FEE, Wei(23 * GWEI), Wei(19_600_000_000))


def a_context(**changes: Any) -> BusyContext:  # noqa: ANN401 - any field
    since = A_MOMENT - timedelta(days=1)
    fields: dict[str, Any] = {"grounds": ABOVE, "since": since, "until": A_MOMENT}
    return BusyContext(**(fields | changes))


def points(*gwei: int) -> tuple[FeePoint, ...]:
    """Return fees of the last minutes."""
    minutes = range(len(gwei), 0, -1)
    return tuple(
        FeePoint(A_MOMENT - timedelta(minutes=minute), Wei((fee - 1) * GWEI), Wei(fee * GWEI))
        for minute, fee in zip(minutes, gwei, strict=True)
    )


def test_levels_are_named_with_fees_alone() -> None:
    context = a_context(suggested=suggested_gas_fees(), suggested_at=A_MOMENT)

    text = describe_busy(context, UTC)

    assert text.levels == (
        ("low", "1.000 gwei", "12.00 gwei"),
        ("medium", "2.000 gwei", "14.00 gwei"),
        ("high", "3.000 gwei", "16.00 gwei"),
    )
    assert text.suggested_at == "2026-11-20 12:00:00 UTC"
    assert text.preheader.startswith("Suggested now: 14.00 gwei (medium).")


def test_usual_length_is_said_with_what_it_rests_on() -> None:
    usual = UsualSpells(9, timedelta(minutes=14), timedelta(minutes=52), is_of_hour=True)

    assert describe_busy(a_context(usual=usual), UTC).usual == (
        "Spells that begin around this hour usually last 14 min, the median of the 9 in the last "
        "90 days; the longest lasted 52 min."
    )


def test_few_spells_at_this_hour_are_said_to_be_of_any() -> None:
    usual = UsualSpells(4, timedelta(minutes=14), timedelta(minutes=52), is_of_hour=False)

    assert "begin at any hour" in describe_busy(a_context(usual=usual), UTC).usual


def test_chart_is_said_in_words_too() -> None:
    text = describe_busy(a_context(fees=points(10, 12, 23)), UTC)

    assert text.chart.startswith(b"\x89PNG")
    assert text.chart_says == (
        "The base fee of the last 24 h: 9 to 23 gwei. "
        "The dashed line is the threshold now, 19.60 gwei."
    )


def test_fee_that_never_moved_is_one_number() -> None:
    flat = tuple(each._replace(lowest=each.highest) for each in points(10, 10, 10))

    assert "24 h: 10 gwei." in describe_busy(a_context(fees=flat), UTC).chart_says


def test_what_is_not_known_is_left_out() -> None:
    text = describe_busy(a_context(fees=points(10, 12)), UTC)

    assert (text.levels, text.suggested_at, text.usual) == ((), "", "")
    assert (text.chart, text.chart_says, text.preheader) == (b"", "", "")
