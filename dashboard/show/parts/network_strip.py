"""One network on the page Fees, and which networks are drawn side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import streamlit as st

from dashboard.application.network_status import (
    NetworkFigures,
    NetworkStatus,
    PolledValue,
)
from dashboard.application.text import (
    age,
    exact_fee,
    fee,
    moment,
    moment_near,
    period,
    sentence,
    share,
)
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import Markup, element, join, plain_label
from dashboard.domain.quantity import Wei
from dashboard.show.charts.side_by_side import line_look
from dashboard.show.parts.badges import flat_badge, network_badges, simulated_badge
from dashboard.store.monitoring.answer_counts import StandingFailure


def network_head(status: NetworkStatus, now: datetime) -> None:
    """Show name, activity with its reason, and what does not answer."""
    reason = element("p", status.activity_reason, class_="lw-lede")
    st.html(join(_head(status), reason, _troubles(status, now)))


def network_figures(status: NetworkStatus, now: datetime) -> None:
    """Show four figures, each with its age, and who reports them."""
    st.html(join(_figures(status, now), _source(status)))


def _head(status: NetworkStatus) -> Markup:
    simulated = simulated_badge() if status.profile.is_simulated else Markup()
    name = element("h2", status.profile.name)
    flat = flat_badge() if status.figures.priority is not None else Markup()
    return element("header", name, network_badges(status), flat, simulated, class_="lw-card-head")


def _figures(status: NetworkStatus, now: datetime) -> Markup:
    return element(
        "dl",
        _fee_figure("Base fee", status.figures.base_fee, now),
        *_levels(status.figures, now),
        _congestion(status.figures.network_congestion, now),
        class_="lw-figures",
    )


def _levels(figures: NetworkFigures, now: datetime) -> list[Markup]:
    """Show what decides busyness: the levels of the base fee, or the priority fee with its own."""
    base_fee, priority = figures.base_fee, figures.priority
    if base_fee is None or priority is None:
        return [
            _fee_figure("Median", figures.base_fee_percentile, now),
            _fee_figure("Busy above", figures.busy_threshold, now),
        ]
    return [
        _fee_figure("Priority fee", replace(base_fee, value=priority.fee), now),
        _fee_figure("Busy above", replace(base_fee, value=priority.threshold), now),
    ]


def _fee_figure(name: str, polled: PolledValue[Wei] | None, now: datetime) -> Markup:
    if polled is None:
        return _missing(name)
    number, unit = fee(polled.value)
    value = element("dd", number, " ", element("small", unit), title=exact_fee(polled.value))
    return _figure(name, polled, now, value)


def _congestion(polled: PolledValue[float] | None, now: datetime) -> Markup:
    if polled is None:
        return _missing("Congestion")
    bar = element("div", style=f"width: {polled.value:.1%}")
    meter = element("div", bar, class_="lw-meter", aria_hidden="true")
    return _figure("Congestion", polled, now, element("dd", share(polled.value), meter))


def _figure(
    name: str, polled: PolledValue[Wei] | PolledValue[float], now: datetime, value: Markup
) -> Markup:
    stale = polled.is_stale(now)
    note = f"{'stale, ' if stale else ''}{age(polled.asked_at, now)}"
    when = element("dd", note, class_="lw-note", title=moment(polled.asked_at))
    return element("div", element("dt", name), value, when, class_="is-stale" if stale else None)


def _missing(name: str) -> Markup:
    note = element("dd", "not seen yet", class_="lw-note")
    return element("div", element("dt", name), element("dd", "–"), note)


def _source(status: NetworkStatus) -> Markup:
    source, often = status.figures.gas_source_name(), period(status.profile.gas_period)
    source_line = f"Source: {source}; asked every {often}."
    return element("p", source_line, class_="lw-quiet", style="margin-top: 0.6rem")


def _troubles(status: NetworkStatus, now: datetime) -> Markup:
    gas, exclusion = status.figures.gas_failure(), status.figures.exclusion_failure()
    source = status.profile.gas_source
    if gas is not None and gas.failure.message in status.activity_reason:
        gas = None  # the reason above says so where no fee was ever seen
    return join(
        _trouble(capitalized(source), gas, now) if gas else "",
        _trouble("The exclusion API", exclusion, now) if exclusion else "",
    )


def _trouble(of: str, failure: StandingFailure, now: datetime) -> Markup:
    since = moment_near(failure.failing_since, now)
    headline = f"{of}: no answer since {since} ({age(failure.failing_since, now)})."
    text = f" {sentence(failure.failure.message)} It is asked again automatically."
    return element("p", element("strong", headline), text, class_="lw-notice busy lw-spaced")


BESIDE: Final = "beside"
"""The parameter of the address that names the networks that are drawn, by their ids."""

_KEY: Final = "lines-drawn"
_LONGEST_NAME: Final = 40
_STROKES: Final = {"solid": "━━", "dash": "╍╍", "dot": "┅┅"}


def chosen_lines(statuses: Sequence[NetworkStatus]) -> list[NetworkStatus]:
    """Offer to draw some of the networks, all while none is chosen; this is the legend as well."""
    by_id = {str(each.profile.network_id): each for each in statuses}
    places = {each: number for number, each in enumerate(by_id)}
    wanted = [each for each in st.query_params.get_all(BESIDE) if each in by_id]

    def label(network_id: str) -> str:
        colour, dash = line_look(places[network_id])
        name = plain_label(by_id[network_id].profile.name, _LONGEST_NAME)
        return f':color[{_STROKES[dash]}]{{foreground="{colour}"}} {name}'

    chosen = st.pills(
        "Networks drawn, all while none is chosen",
        list(by_id),
        selection_mode="multi",
        default=wanted,
        format_func=label,
        key=_KEY,
        on_change=_keep,
        label_visibility="collapsed",
        wrap=True,
    )
    return [by_id[each] for each in chosen] or list(statuses)


def _keep() -> None:
    chosen = st.session_state[_KEY]
    if chosen:
        st.query_params[BESIDE] = list(chosen)
    else:
        st.query_params.pop(BESIDE, None)
