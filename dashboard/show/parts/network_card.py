"""One network: its present state and figures, on Overview and on Fees."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import streamlit as st

from dashboard.application.failing_sources import FailingSource, failing_of
from dashboard.application.network_status import (
    Activity,
    NetworkFigures,
    NetworkProfile,
    NetworkStatus,
    PolledValue,
)
from dashboard.application.overview import UsualNow, above_usual, verdict_in_words
from dashboard.application.text import age, exact_fee, moment_near, sentence
from dashboard.domain.fees.busy_spells import USUAL_DAYS, UsualFee, difference_in_words
from dashboard.domain.fees.gas import FeeSuggestion, SuggestedGasFees
from dashboard.domain.formatting import capitalized, fee, moment, period, share
from dashboard.domain.markup import Markup, element, join
from dashboard.domain.quantity import Wei
from dashboard.domain.tracking.transaction_cost import cost_of, in_coin, in_money
from dashboard.show.parts.badges import flat_badge, network_badges, simulated_badge

_NO_BREAK: Final = "\N{NO-BREAK SPACE}"


def verdict(status: NetworkStatus, usual: UsualNow, incidents: int, now: datetime) -> None:
    """Show name, state, since when, how long that usually lasts, and the present figures."""
    said = verdict_in_words(status, usual, incidents, now)
    head = _head(status, element("p", said, class_="lw-verdict"))
    if not status.profile.has_gas:
        st.html(head)
        return
    figures = element("dl", *_figures(status, usual, now), class_="lw-figures lw-now")
    st.html(join(head, figures, _source(status, now)))


def network_head(status: NetworkStatus, now: datetime) -> None:
    """Show name, activity with its reason, and what does not answer."""
    reason = element("p", status.activity_reason, class_="lw-lede")
    st.html(join(_head(status), reason, _troubles(status, now)))


def network_figures(status: NetworkStatus, usual: UsualNow, now: datetime, *more: Markup) -> None:
    """Show the present figures with `more` beside them, their source, and how old they are."""
    shown = element("dl", *_figures(status, usual, now), *more, class_="lw-figures")
    st.html(join(shown, _source(status, now)))


def _head(status: NetworkStatus, *more: Markup) -> Markup:
    simulated = simulated_badge() if status.profile.is_simulated else Markup()
    flat = flat_badge() if status.figures.priority is not None else Markup()
    name = element("h2", status.profile.name)
    return element(
        "header", name, network_badges(status), flat, simulated, *more, class_="lw-card-head"
    )


def _figures(status: NetworkStatus, usual: UsualNow, now: datetime) -> list[Markup]:
    figures, profile = status.figures, status.profile
    return [
        _deciding_fee(figures, usual, now),
        _threshold(figures, now),
        *_levels(figures.suggested, profile, now),
        _congestion(figures.network_congestion, now, ""),
    ]


def _deciding_fee(figures: NetworkFigures, usual: UsualNow, now: datetime) -> Markup:
    """Show the fee that decides busyness beside what it usually is at this hour."""
    name = figures.signal.capitalize()
    value, base_fee = figures.judged_fee, figures.base_fee
    if value is None or base_fee is None:
        return figure(name, Markup("–"), "not seen yet")
    difference = above_usual(figures, usual)
    if difference is None or usual.fee is None:
        note, why = "usual not known yet", "At least three days of data are needed."
    else:
        note, why = difference_in_words(difference), _usual_in_words(usual.fee)
    return figure(name, fee_amount(value), note, why, is_stale=base_fee.is_stale(now))


def _usual_in_words(usual: UsualFee) -> str:
    return (
        f"Usual at this hour (UTC): {' '.join(fee(usual.fee))}, the median of "
        f"{usual.days} of the last {USUAL_DAYS} days."
    )


def _threshold(figures: NetworkFigures, now: datetime) -> Markup:
    name, held = "Busy above", figures.busy_threshold
    if figures.priority is not None:
        return figure(name, fee_amount(figures.priority.threshold), "90th percentile of 24 h")
    if held is None:
        return figure(name, Markup("–"), "not seen yet")
    median, asked = figures.base_fee_percentile, f"Asked {age(held.asked_at, now)}"
    usual = "" if median is None else " ".join(fee(median.value))
    note = f"median {usual}" if usual else age(held.asked_at, now)
    why = f"{asked}, {moment(held.asked_at)}."
    return figure(name, fee_amount(held.value), note, why, is_stale=held.is_stale(now))


def _levels(
    suggested: PolledValue[SuggestedGasFees] | None, profile: NetworkProfile, now: datetime
) -> list[Markup]:
    """Show the most to pay for each priority, and what a plain transfer costs then."""
    if suggested is None:
        return [figure(name, Markup("–"), "not seen yet") for name in ("Low", "Medium", "High")]
    fees, is_stale = suggested.value, suggested.is_stale(now)
    levels = (("Low", fees.low), ("Medium", fees.medium), ("High", fees.high))
    return [_level(name, each, profile, is_stale=is_stale) for name, each in levels]


def _level(name: str, level: FeeSuggestion, profile: NetworkProfile, *, is_stale: bool) -> Markup:
    most = level.suggested_max_fee_per_gas
    cost = cost_of(most)
    amounts = [in_coin(cost, profile.coin)]
    if profile.coin_price is not None:
        amounts.append(in_money(cost, profile.coin_price))
    tip = " ".join(fee(level.suggested_max_priority_fee_per_gas))
    why = (
        f"At most {exact_fee(most)} for one unit of gas, {tip} of it priority fee. A plain "
        "transfer takes 21,000 units."
    )
    note = f"transfer {', '.join(map(unbroken, amounts))}"
    return figure(name, fee_amount(most), note, why, is_stale=is_stale)


def _congestion(polled: PolledValue[float] | None, now: datetime, note: str) -> Markup:
    if polled is None:
        return figure("Congestion", Markup("–"), "not seen yet")
    bar = element("div", style=f"width: {polled.value:.1%}")
    meter = element("div", bar, class_="lw-meter", aria_hidden="true")
    value = join(share(polled.value), meter)
    return figure("Congestion", value, note, is_stale=polled.is_stale(now))


def fee_amount(value: Wei) -> Markup:
    """Show a fee, with its unit on the same line."""
    number, unit = fee(value)
    return join(number, _NO_BREAK, element("small", unit))


def unbroken(text: str) -> str:
    """Keep words on one line, such as an amount and its unit."""
    return text.replace(" ", _NO_BREAK)


def figure(
    name: str, value: Markup, note: str, why: str | None = None, *, is_stale: bool = False
) -> Markup:
    """Build one figure: its name, its value, a note below it, and `why` in its hint."""
    words = ", ".join(each for each in ("stale" if is_stale else "", note) if each)
    said = element("dd", words, class_="lw-note") if words else Markup()
    style = "is-stale" if is_stale else None
    return element("div", element("dt", name), element("dd", value), said, title=why, class_=style)


def _source(status: NetworkStatus, now: datetime) -> Markup:
    """Say whose figures these are and how old; for a flat fee, what decides instead."""
    figures, often = status.figures, period(status.profile.gas_period)
    polled = figures.base_fee
    seen = "" if polled is None else f", {'stale, ' if polled.is_stale(now) else ''}"
    when = "" if polled is None else age(polled.asked_at, now)
    source = f"Source: {figures.gas_source_name()}{seen}{when}; asked every {often}."
    if figures.priority is not None and status.activity is not Activity.STALE:
        source = f"{source} {status.activity_reason}"
    return element("p", source, class_="lw-quiet lw-source")


def _troubles(status: NetworkStatus, now: datetime) -> Markup:
    return join(
        *(
            _trouble(each, now)
            for each in failing_of(status.figures)
            # if no fee was ever seen, the reason above says so
            if each.failure.failure.message not in status.activity_reason
        )
    )


def _trouble(failing: FailingSource, now: datetime) -> Markup:
    of, since = capitalized(failing.subject), moment_near(failing.since, now)
    headline = f"{of}: no answer since {since} ({age(failing.since, now)})."
    text = f" {sentence(failing.failure.failure.message)} It is asked again automatically."
    return element("p", element("strong", headline), text, class_="lw-notice busy lw-spaced")
