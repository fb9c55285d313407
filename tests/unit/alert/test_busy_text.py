"""What a message says around a network that is busy."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

from dashboard.alert.change_text import describe_busy
from dashboard.domain.alerts.grounds import Signal
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.fees.spells import BusyContext, FeePoint, UsualSpells
from dashboard.domain.quantity import Wei
from tests.builders import A_MOMENT, GWEI, suggested_gas_fees
from tests.golden_texts import GoldenTexts

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


def test_what_surrounds_a_busy_network_reads_as_it_was_reviewed(golden: GoldenTexts) -> None:
    usual = UsualSpells(9, timedelta(minutes=14), timedelta(minutes=52), is_of_hour=True)
    flat = tuple(each._replace(lowest=each.highest) for each in points(10, 10, 10))
    contexts = {
        "suggested fees": a_context(suggested=suggested_gas_fees(), suggested_at=A_MOMENT),
        "usual at this hour": a_context(usual=usual),
        "usual at any hour": a_context(usual=replace(usual, many=4, is_of_hour=False)),
        "a chart": a_context(fees=points(10, 12, 23)),
        "a chart of a fee that never moved": a_context(fees=flat),
        "too few fees for a chart": a_context(fees=points(10, 12)),
    }

    texts = {title: describe_busy(each, UTC) for title, each in contexts.items()}

    golden.check("around_a_busy_network", texts)


def test_chart_is_a_picture() -> None:
    text = describe_busy(a_context(fees=points(10, 12, 23)), UTC)

    assert text.chart.startswith(b"\x89PNG")
    assert text.preheader == ""
