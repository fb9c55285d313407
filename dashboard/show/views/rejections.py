"""Rejections answers: what is rejected, where, by which module, by whom; is it getting worse."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

import streamlit as st
from msgspec import Struct
from msgspec.structs import replace

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.network_status import NetworkProfile
from dashboard.application.rejection_timeline import PERIODS, Shown
from dashboard.application.rejection_trend import trend_words
from dashboard.application.rejections import MOST_EXPORTED, RejectionSummary, rejection_filter
from dashboard.application.time_ranges import Zoom
from dashboard.domain.alerts.matcher import MatchedProperty
from dashboard.domain.formatting import counted
from dashboard.domain.markup import element
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.reasons import KIND_NAMES
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.show.parts.acting import done_shown
from dashboard.show.parts.chart import chosen_zoom, whole_range
from dashboard.show.parts.frame import (
    card,
    choose_network,
    chosen_network_id,
    chosen_network_name,
    chosen_networks,
    follow_choice,
    heading,
    in_line,
    live,
    quiet,
    section,
)
from dashboard.show.parts.list_page import (
    ANY,
    PERIOD,
    USUAL_PERIOD,
    Chip,
    choice_filter,
    file_button,
    filter_bar,
    filter_chips,
    page_of_rows,
    search_filter,
    select_filter,
)
from dashboard.show.parts.notices import empty, limits_notes, store_errors_shown
from dashboard.show.parts.rejection_counts import (
    Narrowing,
    modules_part,
    networks_part,
    overruns_part,
    senders_part,
    stages_part,
    timeline_part,
)
from dashboard.show.parts.rejection_table import (
    coverage,
    module_card,
    rejection_markup,
    rejection_row,
    unknown_reasons,
)
from dashboard.show.parts.subject_acts import subject_acts, subject_of, watch_sender_button
from dashboard.show.parts.table import list_table

REFRESH: Final = timedelta(seconds=10)
ROWS: Final = 12
PAGE_NUMBER: Final = "page"
STAGE: Final = "stage"
MODULE: Final = "module"
SEARCH: Final = "search"
_MOST_MODULES: Final = 100
_MODULE: Final = re.compile(r"\w{1,64}", re.ASCII)
_STAGES: Final = tuple(stage.value for stage in RejectionStage)
_FEWEST: Final = 2


def page() -> None:
    """Show the page: what changes by itself refreshes by itself."""
    done_shown(application.current())
    _live()


class _Chosen(Struct, frozen=True):
    """What a visitor chose to see; `module` is that of a prover, empty for any or none."""

    shown: Shown
    wanted: RejectionFilter
    everything: RejectionSummary
    module: str


@live(REFRESH)
def _live() -> None:
    queries = application.current()
    follow_choice()
    head = st.container()
    with store_errors_shown("Rejections", head):
        chosen = _choose(queries, chosen_network_id(queries.networks))
        summary = queries.rejections.summary(chosen.wanted, chosen.shown)
        said = trend_words(summary.compared, queries.rejections.window(chosen.shown))
        with head:
            heading("Rejections", said, queries.now())
            profiles = chosen_networks(queries.networks)
            limits_notes(queries.line_limits.sentences(profiles))
        if not chosen.everything.total:
            _nothing_yet(queries, profiles)
            return
        if chosen.module:
            usual = queries.rejections.limits_of(chosen.wanted.network_id)
            module_card(chosen.module, queries.rejections.limit_tables(), usual)
            if queries.line_limits.have_ended(profiles):
                note = "These limits no longer hold. They explain earlier rejections."
                quiet(note)
        _acts(queries, chosen)
        narrowing = _narrowing(queries, chosen)
        listed, over_time = st.columns([7, 6], gap="small")
        rows = listed.container(key="card-rejections", gap="small", height="stretch")
        with (
            over_time,
            st.container(key="card-over-time", gap="small", height="stretch"),
            store_errors_shown(),
        ):
            timeline_part(queries, narrowing, said)
        with rows:
            _list(queries, chosen, summary)
        _breakdowns(queries, narrowing)
        _unknown_reasons(queries, chosen.wanted.network_id)


def _acts(queries: Application, chosen: _Chosen) -> None:
    """Offer to silence or to watch the module or the sender that is shown alone."""
    sender, network_id = chosen.wanted.sender, chosen.wanted.network_id
    if not chosen.module and sender is None:
        return
    subjects = []
    if chosen.module:
        subjects.append(subject_of(queries, MatchedProperty.MODULE, chosen.module, network_id))
    if sender is not None:
        subjects.append(subject_of(queries, MatchedProperty.SENDER, str(sender), network_id))
    with in_line("subject-acts"):
        said = " and ".join(each.title for each in subjects)
        st.html(element("p", said[:1].upper() + said[1:], class_="lw-quiet"), width="content")
        subject_acts(queries, "shown", *subjects)
        if sender is not None:
            watch_sender_button(queries, sender)


def _choose(queries: Application, network_id: NetworkId | None) -> _Chosen:
    """Offer the filters; modules to choose from are those that reasons name in this time."""
    with filter_bar():
        period_name = choice_filter("Time", list(PERIODS), PERIOD, USUAL_PERIOD)
        zoom = chosen_zoom(period_name, queries.now(), "rejections")
        shown = PERIODS[period_name] if zoom is None else zoom
        everything = queries.rejections.summary(RejectionFilter(network_id), shown)
        stage = select_filter("Stage", [ANY, *_STAGES], STAGE, 150)
        module = select_filter("Module", _modules(everything), MODULE, 250)
        text = search_filter(SEARCH, "Search reason, hash, sender, label")
    kind = next((kind for kind, words in KIND_NAMES.items() if words == module), None)
    found = rejection_filter(queries.context, network_id, text)
    filter_chips(_chips(queries, zoom, stage, module, found, text))
    is_module = module != ANY and kind is None
    wanted = replace(
        found,
        tx_rejection_stage=None if stage == ANY else RejectionStage(stage),
        module="" if kind else module if is_module else None,
        reason_kind=kind,
    )
    return _Chosen(shown, wanted, everything, module if is_module else "")


def _modules(everything: RejectionSummary) -> list[str]:
    """Return what can be chosen: the commonest modules first, then what reasons name instead."""
    named = [each for each, _ in everything.modules.most_common(_MOST_MODULES)]
    others = [KIND_NAMES[each] for each, _ in everything.kinds.most_common() if each in KIND_NAMES]
    chosen = str(st.session_state.get(MODULE, st.query_params.get(MODULE, ANY)))
    options = [ANY, *named, *others]
    is_name = _MODULE.fullmatch(chosen) or chosen in KIND_NAMES.values()
    return options if chosen in options or not is_name else [*options, chosen]


def _chips(
    queries: Application,
    zoom: Zoom | None,
    stage: str,
    module: str,
    found: RejectionFilter,
    text: str,
) -> list[Chip]:
    network = chosen_network_name(queries.networks)
    searched = "Sender" if found.sender is not None else "Search"
    chips = [
        Chip("Network", network or "", partial(_choose_network, None)),
        Chip("Time", "" if zoom is None else zoom.name, _whole_time),
        Chip("Stage", "" if stage == ANY else stage, partial(_set, STAGE, ANY)),
        Chip("Module", "" if module == ANY else module, partial(_set, MODULE, ANY)),
        Chip(searched, text, partial(_set, SEARCH, "")),
    ]
    return [each for each in chips if each.value]


def _set(key: str, value: str) -> None:
    """Set a filter, in a callback; the list begins anew."""
    st.session_state[key] = value
    _from_first_page()


def _toggle(key: str, usual: str, value: str) -> None:
    """Set a filter, or remove it if it has this value already."""
    _set(key, usual if st.session_state.get(key) == value else value)


def _whole_time() -> None:
    whole_range()
    _from_first_page()


def _from_first_page() -> None:
    if st.session_state.get(PAGE_NUMBER, 1) != 1:
        st.session_state[PAGE_NUMBER] = 1


def _choose_network(profile: NetworkProfile | None) -> None:
    choose_network(profile)
    _from_first_page()


def _narrowing(queries: Application, chosen: _Chosen) -> Narrowing:
    """Return what parts need to show counts, and what a click on one of them does."""

    def network(value: str) -> None:
        profile = queries.context.profile(NetworkId(int(value)))
        is_chosen = profile is not None and chosen.wanted.network_id == profile.network_id
        _choose_network(None if is_chosen else profile)

    return Narrowing(
        chosen.wanted,
        chosen.shown,
        module=partial(_toggle, MODULE, ANY),
        stage=partial(_toggle, STAGE, ANY),
        sender=partial(_toggle, SEARCH, ""),
        network=network,
        time=_from_first_page,
    )


def _nothing_yet(queries: Application, profiles: Sequence[NetworkProfile]) -> None:
    if queries.line_limits.have_ended(profiles):
        empty(
            "No rejection in this time: line limits have ended",
            "This is expected. Choose a longer time to see earlier rejections.",
        )
        return
    more = " Choose a longer time, or track a transaction on the page Tracked."
    is_asked = any(each.has_exclusion for each in profiles)
    empty("No rejection seen in this time", f"{coverage(profiles)}{more if is_asked else ''}")


def _list(queries: Application, chosen: _Chosen, summary: RejectionSummary) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="head-list"):
        profiles = chosen_networks(queries.networks)
        section(counted(summary.total, "rejection"), coverage(profiles))
        _download(queries, chosen, summary)
    if not summary.total:
        empty(
            "No rejection matches these filters", "Remove a filter above, or choose a longer time."
        )
        return
    with store_errors_shown():
        page_of_rows(summary.total, ROWS, PAGE_NUMBER, _drawing_rows(queries, chosen))


def _drawing_rows(queries: Application, chosen: _Chosen) -> Callable[[int], None]:
    is_one = chosen.wanted.network_id is not None or len(queries.networks) < _FEWEST

    def draw(number: int) -> None:
        now = queries.now()
        page = queries.rejections.page(chosen.wanted, chosen.shown, number, ROWS)
        said = queries.rejections.endpoints_say(page)
        for each in page:
            network = "" if is_one else queries.network_name(each.network_id)
            of_endpoints = said.get((each.record.tx_hash, each.network_id), "")
            reason = queries.context.reason_of(each)
            rejection_row(each, rejection_markup(each, reason, network, now, of_endpoints))

    return draw


def _download(queries: Application, chosen: _Chosen, summary: RejectionSummary) -> None:
    file_button(
        lambda: queries.rejections.file(chosen.wanted, chosen.shown),
        f"rejections-{queries.now():%Y%m%dT%H%M%SZ}.csv",
        "csv",
        note=f"The latest {MOST_EXPORTED:,} rejections." if summary.total > MOST_EXPORTED else None,
        disabled=not summary.total,
    )


def _breakdowns(queries: Application, narrowing: Narrowing) -> None:
    """Show what is counted by module, overrun, stage, network and sender; each fails alone."""
    parts = (modules_part, overruns_part, _stages_and_networks)
    for column, part in zip(st.columns(3, gap="small"), parts, strict=True):
        with column, store_errors_shown():
            part(queries, narrowing)
    with store_errors_shown():
        senders_part(queries, narrowing)


def _stages_and_networks(queries: Application, narrowing: Narrowing) -> None:
    with st.container(key="card-stages", gap="xsmall", height="stretch"):
        stages_part(queries, narrowing)
        networks_part(queries, narrowing)


def _unknown_reasons(queries: Application, network_id: NetworkId | None) -> None:
    with store_errors_shown():
        unknown = queries.rejections.unknown_reasons(network_id)
        if unknown:
            with card(
                "unknown-reasons",
                "Unknown reasons",
                "Of all time, most frequent first. A frequent one may be a new rule.",
            ):
                st.html(list_table(unknown_reasons(queries.now()), unknown, "Unknown reasons"))
