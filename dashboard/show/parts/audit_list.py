"""The audit log on a page: searched by who, what, from where and when, and saved as a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Literal

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.audit import AUDIT, AuditLog, details_in_words
from dashboard.domain.formatting import counted
from dashboard.domain.markup import Markup, breakable, element, visible
from dashboard.domain.people.access import LONGEST_NAME, READS_ACCESS, Action, AuditEntry
from dashboard.show.parts.acting import admits
from dashboard.show.parts.frame import card
from dashboard.show.parts.list_page import (
    ANY,
    file_button,
    filter_bar,
    page_of_rows,
    search_filter,
    select_filter,
)
from dashboard.show.parts.notices import empty
from dashboard.show.parts.table import list_table
from dashboard.store.access.audit_log import AuditFilter

ROWS: Final = 25
MOST_SAVED: Final = 10_000
WHO: Final = "who"
WHAT: Final = "what"
WHERE: Final = "origin"
DAYS: Final = "days"
_ACTION: Final = "action"
_LONGEST: Final = 600
_USUAL: Final = timedelta(days=6)
_USUAL_SHOWN: Final = "usual_days"


def audit_headline(queries: Application) -> str:
    """Say how much was recorded in the last days."""
    today = queries.now().date()
    found = AuditLog(queries.context).count(AuditFilter(since=_midnight(today - _USUAL)))
    return f"{counted(found, 'action')} in the last 7 days."


def audit_part(queries: Application) -> None:
    """Show what people did, the latest first, with the search fields."""
    log, wanted = AuditLog(queries.context), _filter(queries)
    total = log.count(wanted)

    def draw(number: int) -> None:
        found = log.entries(wanted, ROWS, (number - 1) * ROWS)
        st.html(list_table(AUDIT, found, "Audit log", _DRAWN))

    with card(
        "audit", "Audit log", f"{counted(total, 'action')}, the latest first. Times are UTC."
    ):
        if total:
            page_of_rows(total, ROWS, "audit_page", draw)
            _files(queries, wanted, total)
        else:
            empty("No such action is on record", "Choose more days, or clear a search.")


def _filter(queries: Application) -> AuditFilter:
    usual = _usual_days(queries.now().date())
    with filter_bar():
        who = search_filter(WHO, "Who", "Who acted")
        what = search_filter(WHAT, "Subject or details", "Subject or details")
        origin = search_filter(WHERE, "From where", "Address")
        action = select_filter(
            "Action", [ANY, *sorted(each.value for each in Action)], _ACTION, 200
        )
        days = st.date_input(
            "Days",
            usual,
            key=DAYS,
            bind="query-params",
            format="YYYY-MM-DD",
            width=260,
            label_visibility="collapsed",
        )
    since, until = _range(days)
    kind = None if action == ANY else Action(action)
    return AuditFilter(kind, since, until, who, origin, what)


def _usual_days(today: date) -> tuple[date, date] | Literal["today"]:
    """Return the last seven days; a field that nobody changed moves with them at midnight.

    It then has its days already: Streamlit warns of a field that is given a default as well.
    """
    usual = today - _USUAL, today
    before = st.session_state.get(_USUAL_SHOWN, usual)
    is_moved = before != usual and st.session_state.get(DAYS) == before
    if is_moved:
        st.session_state[DAYS] = usual
    st.session_state[_USUAL_SHOWN] = usual
    return "today" if is_moved else usual


def _range(days: date | Sequence[date] | None) -> tuple[datetime | None, datetime | None]:
    """Return when the chosen days begin and end; without any, all are meant."""
    chosen = [days] if isinstance(days, date) else list(days or ())
    if not chosen:
        return None, None
    ends = _midnight(chosen[-1] + timedelta(days=1)) - timedelta(milliseconds=1)
    return _midnight(chosen[0]), ends


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _files(queries: Application, wanted: AuditFilter, total: int) -> None:
    """Offer the results as files, to people who may still read them when they ask for one."""
    is_admitted = admits(queries, READS_ACCESS)

    def written(write: Callable[[Sequence[AuditEntry]], str]) -> Callable[[], str]:
        def text() -> str:
            found: list[AuditEntry] = []
            if is_admitted():
                found = AuditLog(queries.context).entries(wanted, MOST_SAVED)
            return write(found)

        return text

    note = "All results."
    if total > MOST_SAVED:
        note = f"The latest {MOST_SAVED:,}; `linewatch export audit` writes all."
    with st.container(key="audit-files", horizontal=True, gap="small"):
        file_button(written(AUDIT.csv), "audit.csv", "audit-csv", note=note)
        file_button(written(AUDIT.json), "audit.json", "audit-json", note=note)


_DRAWN: Final[dict[str, Callable[[AuditEntry], str]]] = {
    "at": lambda each: element("time", f"{each.at:%Y-%m-%d %H:%M:%S}"),
    "actor": lambda each: breakable(visible(each.actor, LONGEST_NAME)),
    "subject": lambda each: breakable(visible(each.subject, _LONGEST)),
    "from": lambda each: visible(each.origin, _LONGEST) or Markup("this machine"),
    "details": lambda each: breakable(visible(details_in_words(each), _LONGEST)),
}
