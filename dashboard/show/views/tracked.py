"""Tracked answers: what is watched, what is the verdict of each, what needs attention."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Final

import streamlit as st

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.text import age
from dashboard.application.tracked import MOST_AT_ONCE, TrackedCounts, TrackedEntry, tracked_filter
from dashboard.domain.alerts.matcher import MatchedProperty
from dashboard.domain.formatting import counted, moment
from dashboard.domain.markup import Markup, element, visible
from dashboard.domain.people.access import Action
from dashboard.domain.quantity import Address, NetworkId
from dashboard.domain.tracking.remarks import LONGEST_LABEL, typed_tags
from dashboard.domain.tracking.verdict import Need
from dashboard.errors import InputError, StoreError
from dashboard.show.parts.acting import (
    act,
    done_shown,
    known_actor,
    may,
    name_input,
    pressed,
    trouble_shown,
)
from dashboard.show.parts.frame import (
    chosen_network_id,
    chosen_networks,
    expander,
    follow_choice,
    heading,
    in_line,
    live,
    quiet,
    section,
)
from dashboard.show.parts.notices import empty, limits_notes, no_network, notice, store_errors_shown
from dashboard.show.parts.subject_acts import subject_acts, subject_of
from dashboard.show.parts.table import entry, entry_markup
from dashboard.show.parts.track_form import track_list_form
from dashboard.show.parts.tracked_filters import (
    FIELDS,
    GROUP,
    RECORD,
    RECORDS,
    SEARCH,
    back_to_latest,
    beginning,
    chosen_need,
    filter_is_on,
    has_newer,
    show_group,
    show_need,
    show_newer,
    show_older,
    tracked_filters,
    value_of,
)
from dashboard.show.parts.tracked_list import (
    MOST_SAVED,
    acts,
    files,
    group_rows,
    need_buttons,
    tracked_rows,
)
from dashboard.store.tracking.groups import MOST_LOOKED_AT, GroupedBy
from dashboard.store.tracking.search import RecordStatus, TrackedFilter
from dashboard.store.tracking.senders import WatchedSender

REFRESH: Final = timedelta(seconds=10)
ROWS: Final = 20
GROUPS: Final = 20
MOST_NEEDED: Final = 5
_STATUSES: Final = dict(
    zip(
        RECORDS,
        (None, RecordStatus.REJECTED, RecordStatus.UNREPORTED, RecordStatus.UNANSWERED),
        strict=True,
    )
)
_GROUPS_AFTER: Final = "groups_after"


def page() -> None:
    """Show what needs attention, then what is tracked; forms are folded between them."""
    queries = application.current()
    head = st.container()
    _forms(queries)
    _live()
    with head:
        _head()


def _forms(queries: Application) -> None:
    """Fold the forms away, unless nothing is tracked yet; a viewer sees who is watched."""
    if not may(queries, Action.TRACK):
        if queries.senders.watched():
            _watched(queries, "Watched senders")
        return
    is_new = False
    with suppress(StoreError):  # The list says that the store cannot be read
        is_new = not queries.tracked.counts(None).total
    tracking, watching, naming = st.columns([3, 3, 2], gap="small")
    with naming:
        name_input(queries)
    with (
        tracking,
        expander("Track transactions", "tracking-folded", icon=":material/add:", is_open=is_new),
    ):
        _track_list_form(queries)
    with watching:
        _watched(queries, "Watch a sender")


def _watched(queries: Application, label: str) -> None:
    """Fold away who is watched, on the networks whose nodes report."""
    profiles = [
        profile for profile in chosen_networks(queries.networks) if profile.sees_all_reports
    ]
    with expander(label, "watching-folded", icon=":material/person_search:"):
        if profiles:
            st.html(
                '<p class="lw-quiet">Every rejection of a watched sender is tracked '
                "automatically.</p>"
            )
            with store_errors_shown():
                watched_senders_part(queries, [profile.network_id for profile in profiles])
        else:
            empty(
                "Senders are known only where nodes report to Linewatch",
                "Point a node of yours at the served API, or track transactions by their hashes.",
            )


def _track_list_form(queries: Application) -> None:
    network_ids = [
        profile.network_id for profile in chosen_networks(queries.networks) if profile.has_exclusion
    ]
    if network_ids:
        track_list_form(queries, network_ids)
    elif queries.networks:
        empty(
            "This network has no exclusion endpoint",
            "Choose another, or give it one in linewatch.toml: exclusion = { url = … }.",
        )
    else:
        no_network()


@live(REFRESH)
def _head() -> None:
    queries = application.current()
    with store_errors_shown("Tracked", is_said_below=True):
        network_id = chosen_network_id(queries.networks)
        counts = queries.tracked.counts(network_id)
        said = headline(counts) if counts.total else nothing_tracked(network_id)
        heading("Tracked", said, queries.now())


def nothing_tracked(network_id: NetworkId | None) -> str:
    return "Nothing is tracked yet" if network_id is None else "Nothing is tracked on this network"


def headline(counts: TrackedCounts) -> str:
    """Say how many are tracked, and how many of them were rejected or have no answer."""
    unanswered = f", {counts.unanswered:,} without any answer" if counts.unanswered else ""
    rejected = f"{counts.rejected:,}" if counts.rejected else "none"
    return f"{counted(counts.total, 'transaction')}: {rejected} rejected{unanswered}."


@live(REFRESH)
def _live() -> None:
    queries = application.current()
    follow_choice()
    with store_errors_shown():
        network_id = chosen_network_id(queries.networks)
        if not queries.tracked.counts(network_id).total:
            limits_notes(queries.line_limits.sentences(chosen_networks(queries.networks)))
            empty(
                nothing_tracked(network_id),
                "Paste a transaction hash, or choose a CSV or JSON file. Each is asked about at "
                "once, then less and less often for seven days.",
            )
            return
        done_shown(queries)
        limits_notes(queries.line_limits.sentences(chosen_networks(queries.networks)))
        with st.container(key="card-tracked", gap="small"):
            tracked_filters(queries)
            grouped = value_of(GROUP)
            if grouped in set(GroupedBy):
                _groups(queries, GroupedBy(grouped))
                return
            needed: Sequence[tuple[Need, TrackedEntry]] = ()
            if not filter_is_on():
                need_buttons(queries.tracked.needs(network_id), MOST_LOOKED_AT, show_need)
                needed = queries.tracked.needed(network_id, MOST_NEEDED)
            _list(queries, _filter(queries, network_id), needed)


def _filter(queries: Application, network_id: NetworkId | None) -> TrackedFilter:
    label = value_of(FIELDS[GroupedBy.LABEL][0])
    found = tracked_filter(queries.context, network_id, value_of(SEARCH), label)
    need = chosen_need()
    return TrackedFilter(
        found.network_id,
        _STATUSES.get(value_of(RECORD)),
        found.tx_hashes,
        found.search,
        label=found.label,
        case_id=value_of(FIELDS[GroupedBy.CASE_ID][0]),
        owner=value_of(FIELDS[GroupedBy.OWNER][0]),
        tag=_tag(value_of(FIELDS[GroupedBy.TAG][0])),
        need=None if need is None else queries.tracked.need_now(need),
    )


def _tag(text: str) -> str:
    """Read one tag; text that is not exactly one tag fits nothing."""
    try:
        tags = typed_tags(text)
    except InputError:
        return text
    return min(tags) if len(tags) == 1 else text


def _list(
    queries: Application, wanted: TrackedFilter, needed: Sequence[tuple[Need, TrackedEntry]]
) -> None:
    """Show a page of the list; on the first one, what is needed comes before all else."""
    if wanted.label:
        with in_line("subject-acts"):
            subject = subject_of(queries, MatchedProperty.LABEL, wanted.label, wanted.network_id)
            subject_acts(queries, "label", subject)
    total = queries.tracked.count(wanted)
    if not total:
        empty("No transaction matches these filters", "Remove a filter to see more.")
        return
    before = beginning()
    entries = queries.tracked.page(wanted, ROWS + 1, before)
    needs = {entry.transaction.tx_hash: need for need, entry in needed}
    others = [each for each in entries if each.transaction.tx_hash not in needs]
    first = [entry for _, entry in needed] if before is None else []
    rest = others[: ROWS - len(first)]
    shown = [*first, *rest]
    many = f"More than {MOST_AT_ONCE:,}" if total > MOST_AT_ONCE else f"{total:,}"
    note = f"CSV and JSON hold the latest {MOST_SAVED:,} at most." if total > MOST_AT_ONCE else ""
    if filter_is_on() or note:
        section("1 transaction" if total == 1 else f"{many} transactions", note)
    if shown:
        may_edit = may(queries, Action.EDIT_TRACKED)
        if may_edit:
            acts(queries, shown, wanted, total)
        else:
            files(queries, wanted)
        tracked_rows(shown, queries.now(), needs, with_boxes=may_edit)
    else:
        empty("Nothing older matches", "Go back to the latest.")
    last = rest[-1] if len(others) > len(rest) else entries[-1] if len(entries) > ROWS else None
    _pages(before, last)


def _pages(before: int | None, last: TrackedEntry | None) -> None:
    """Offer the other pages; `last` is the last of this one, None if nothing older follows."""
    with st.container(key="tracked-pages", horizontal=True, horizontal_alignment="center"):
        if has_newer():
            st.button("Newer", key="newer", icon=":material/chevron_left:", on_click=show_newer)
        if before is not None:
            st.button("Latest", key="latest", icon=":material/first_page:", on_click=back_to_latest)
        if last is not None:
            st.button(
                "Older",
                key="older",
                icon=":material/chevron_right:",
                on_click=partial(show_older, last.transaction.tracked_id),
            )


def _groups(queries: Application, by: GroupedBy) -> None:
    """Show groups in the order of their names, so many at once."""
    after = str(st.session_state.get(_GROUPS_AFTER, {}).get(by, ""))
    found = queries.tracked.groups(by, after, GROUPS + 1)
    if filter_is_on() or chosen_network_id(queries.networks) is not None:
        quiet("These are counts of all networks, without the filters.")
    if not found:
        empty(f"No {by.lower()} yet", "Choose transactions in the list and edit them.")
    group_rows(found[:GROUPS], partial(show_group, by), by.name)
    if after:
        st.button("First groups", key="first-groups", on_click=_show_groups, args=(by, ""))
    if len(found) > GROUPS:
        name = found[GROUPS - 1].name
        st.button("More groups", key="more-groups", on_click=_show_groups, args=(by, name))


def _show_groups(by: GroupedBy, after: str) -> None:
    st.session_state[_GROUPS_AFTER] = {by: after}


def watched_senders_part(queries: Application, network_ids: Sequence[NetworkId]) -> None:
    """Show the form to people who may use it, and below it the senders watched on networks."""
    if may(queries, Action.WATCH_SENDER):
        _form(queries, network_ids)
    for each in queries.senders.watched():
        if set(each.network_ids) & set(network_ids):
            _row(queries, each)


def _form(queries: Application, network_ids: Sequence[NetworkId]) -> None:
    with st.form("watch_sender", border=False):
        text = st.text_input("Address", key="sender_address", placeholder="0x…")
        label = st.text_input(
            "Label (optional)",
            key="sender_label",
            max_chars=LONGEST_LABEL,
            placeholder="e.g. Customer",
        )
        if st.form_submit_button("Watch", type="primary"):
            _watch(queries, text, label.strip(), network_ids)


def _watch(queries: Application, text: str, label: str, network_ids: Sequence[NetworkId]) -> None:
    if not text.strip():
        notice("busy", "Nobody was added.", "Give the address of the sender: 0x and 40 digits.")
        return
    with trouble_shown("Nobody was added."):
        sender = Address.parse(text.strip())
        (is_new,) = queries.senders.watch([sender], network_ids, label, known_actor(queries))
        outcome = "is watched now" if is_new else "was watched already"
        what_follows = "Each rejection that nodes report is tracked; the rules say who is notified."
        notice("calm", f"{sender} {outcome}.", what_follows)


def _row(queries: Application, each: WatchedSender) -> None:
    with entry(f"sender-{each.sender}", _sender_markup(queries, each)):
        key = f"unwatch-{each.sender}"
        if may(queries, Action.UNWATCH_SENDER) and pressed(
            queries, "Remove", key, help="Tracked transactions stay tracked"
        ):
            unwatch = partial(queries.senders.unwatch, each.sender)
            act(queries, unwatch, needs_name=False, button=key)


def _sender_markup(queries: Application, each: WatchedSender) -> Markup:
    networks = ", ".join(queries.network_name(network_id) for network_id in each.network_ids)
    said = f"on {networks}, since {age(each.watched_at, queries.now())}"
    return entry_markup(
        Markup(),
        element("span", str(each.sender), class_="lw-mono"),
        element("b", visible(each.label, LONGEST_LABEL)) if each.label else Markup(),
        element("span", said, title=moment(each.watched_at)),
    )
