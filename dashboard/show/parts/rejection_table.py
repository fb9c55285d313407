"""Rejections as rows: the newest, many as a table, one version in full, and a prover module."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.application.listing import Column, Listing
from dashboard.application.network_status import NetworkProfile
from dashboard.application.text import age
from dashboard.domain.formatting import moment, short_hash, span
from dashboard.domain.markup import Markup, breakable, element, join, visible
from dashboard.domain.rejections.exclusion import (
    CLOCK_IS_WRONG,
    UNDATED,
    StoredRejection,
    or_unknown,
)
from dashboard.domain.rejections.line_limits import ModuleLimits
from dashboard.domain.rejections.reasons import (
    Reason,
    ReasonKind,
    explain,
    in_brief,
    module_trouble,
    overrun,
    purpose_of,
)
from dashboard.show.charts.rejection_chart import module_colour
from dashboard.show.parts.badges import module_mark
from dashboard.show.parts.frame import in_line, link, section
from dashboard.show.parts.table import time_ago
from dashboard.store.rejections.search import UnparsedReason
from dashboard.wire.exclusion import LONGEST_ADDED

_ROW_REASON_LENGTH: Final = 160
_QUOTED_LENGTH: Final = 64
_SAME_TIME: Final = timedelta(minutes=1)
_NOTHING: Final = Markup()


def dated_apart(stored: StoredRejection) -> str:
    """Say how far the node's date is from the arrival, empty if less than a minute."""
    if stored.is_dated_ahead:
        return "dated ahead by a wrong clock"
    if stored.record.timestamp is None:
        return "date not known"
    ahead = stored.record.timestamp - stored.first_seen_at
    if abs(ahead) < _SAME_TIME:
        return ""
    return f"dated {span(abs(ahead))} {'later' if ahead > timedelta() else 'earlier'}"


def reason_words(reason: Reason) -> str:
    """Say the reason in plain words, or quote an unknown one; it may be foreign text."""
    if reason.kind is ReasonKind.UNPARSED and reason.text:
        return f"Unknown reason: “{visible(reason.text, _ROW_REASON_LENGTH)}”"
    return explain(reason)


def version_in_full(
    stored: StoredRejection, reason: Reason, now: datetime, next_steps: Sequence[str] = ()
) -> None:
    """Show one version: plain words, every field, and the reason exactly as it was sent."""
    facts = element("dl", *_facts(stored, reason), *_wide_facts(stored, now), class_="lw-facts")
    steps = _next_steps(next_steps) if next_steps else Markup()
    st.html(join(element("p", explain(reason), class_="lw-reason"), facts, steps))
    with st.container(gap="xxsmall"):
        quoted("Reason as sent", reason.text)
        quoted("Added by upstream", stored.record.added)


def quoted(title: str, text: str) -> None:
    """Show foreign text exactly, below its title; nothing if there is none."""
    if text:
        st.html(element("p", title, class_="lw-label"))
        st.code(visible(text, LONGEST_ADDED + 1), language=None, wrap_lines=True)


def _next_steps(next_steps: Sequence[str]) -> Markup:
    label = element("p", "What the sender can do", class_="lw-label lw-spaced")
    steps = (element("li", step) for step in next_steps)
    return join(label, element("ol", *steps, class_="lw-steps"))


def _facts(stored: StoredRejection, reason: Reason) -> list[Markup]:
    record, factor = stored.record, overrun(reason)
    facts = [
        ("Stage", str(record.tx_rejection_stage)),
        ("Module", reason.module),
        ("Lines needed", None if reason.count is None else f"{reason.count:,}"),
        ("Lines allowed", _lines_allowed(reason)),
        ("Overrun", None if factor is None else f"{factor:,.2f} × the limit"),
        ("Block", None if record.block_number is None else f"{record.block_number:,}"),
        ("Nonce", or_unknown(record.nonce)),
    ]
    return [_fact(name, value) for name, value in facts if value is not None]


def _lines_allowed(reason: Reason) -> str | None:
    if reason.limit is None:
        return None
    source = "" if reason.limit_from is None else f" ({reason.limit_from})"
    return f"{reason.limit:,}{source}"


def _wide_facts(stored: StoredRejection, now: datetime) -> list[Markup]:
    record = stored.record
    came = "Reported" if stored.reported_at else "First seen"
    over = [f"{each.module} {each.count:,} of {each.limit:,}" for each in stored.overflows]
    facts = [
        ("Rejected, by the node's clock", _claimed(stored, now)),
        (came, _when(stored.first_seen_at, now)),
        ("Modules over their limit, as reported", visible(", ".join(over)) if over else None),
        ("Sender", or_unknown(record.sender)),
    ]
    return [_fact(name, value, "is-wide") for name, value in facts if value is not None]


def _claimed(stored: StoredRejection, now: datetime) -> str:
    """Say the claimed time and its age, or that it cannot be true."""
    claimed = stored.record.timestamp
    if claimed is None:
        return f"{UNDATED}."
    if stored.is_dated_ahead:
        return f"{moment(claimed)}. {CLOCK_IS_WRONG}."
    return _when(claimed, now)


def _when(at: datetime, now: datetime) -> str:
    return f"{moment(at)}, {age(at, now)}"


def _fact(name: str, value: str, style: str | None = None) -> Markup:
    definition = element("dd", value, class_="lw-mono" if value.startswith("0x") else None)
    return element("div", element("dt", name), definition, class_=style)


def rejection_row(stored: StoredRejection, shown: Markup) -> None:
    """Show one version in one line, in two on a small screen; the hash leads to Lookup.

    `rejection_markup` is beside the hash.
    """
    tx_hash = stored.record.tx_hash
    with in_line(f"rejection-{stored.rejection_id}"):
        link("lookup", short_hash(tx_hash), {"tx": str(tx_hash)})
        st.html(shown)


def rejection_markup(
    stored: StoredRejection,
    reason: Reason,
    network: str,
    now: datetime,
    said: str = "",
    also: Markup = _NOTHING,
) -> Markup:
    """Say why, where and when; lists are sorted by the arrival.

    `network` is empty if all rows are of one; `said` is what exclusion endpoints say of it, unless
    the record says it all; `also` follows the cause.
    """
    record, seen_at, dated = stored.record, stored.first_seen_at, dated_apart(stored)
    claimed = record.timestamp
    wrong = f". {CLOCK_IS_WRONG}" if stored.is_dated_ahead else ""
    date = "date not known" if claimed is None else f"dated {moment(claimed)} by the node{wrong}"
    stage = str(record.tx_rejection_stage)
    staged = f"Stage {stage}" if record.is_staged else "Stage not known"
    title = f"{reason_words(reason)} {staged}, seen {moment(seen_at)}, {date}"
    small = element("small", f" {dated}") if dated else Markup()
    return element(
        "div",
        element("span", _cause(reason), also, class_="lw-cause"),
        element("span", network) if network else Markup(),
        element("span", stage, class_="lw-stage"),
        element("span", time_ago(seen_at, now), small, class_="lw-when"),
        element("small", said, class_="lw-endpoints") if said else Markup(),
        class_="lw-version",
        title=title,
    )


def _cause(reason: Reason) -> Markup:
    """Name the module with lines and overrun, or else what there is to say; text as quoted."""
    if reason.kind is ReasonKind.UNPARSED and reason.text:
        return element("q", visible(reason.text, _QUOTED_LENGTH))
    if reason.module is None:
        return element("span", in_brief(reason))
    return join(module_mark(reason.module), " ", _lines(reason))


def _lines(reason: Reason) -> Markup | str:
    """Format lines needed of lines allowed, and by which factor that is too much."""
    if reason.kind is ReasonKind.MODULE_UNDEFINED or reason.limit == 0:
        return module_trouble(reason.kind, reason.limit)
    if reason.limit is None:
        return ""
    if reason.count is None:
        return element("small", f"limit {reason.limit:,}", title=reason.limit_from)
    factor = overrun(reason)
    lines = f"{reason.count:,} of {reason.limit:,}"
    if factor is None:
        return element("small", lines)
    return join(f"{factor:,.2f}×", element("small", f" {lines}"))


def coverage(profiles: Sequence[NetworkProfile]) -> str:
    """Say which rejections can be seen at all."""
    asked = [profile for profile in profiles if profile.has_exclusion]
    if not asked:
        return "No exclusion endpoint is configured."
    if all(profile.sees_all_reports for profile in asked):
        return "Source: reporting nodes."
    return "Sources: tracked transactions and reporting nodes."


_LONGEST_TEXT: Final = 400


def unknown_reasons(now: datetime) -> Listing[UnparsedReason]:
    """Return the listing of the reasons that nobody explains yet."""
    return Listing(
        "reasons",
        (
            Column(
                "Reason as sent",
                lambda each: element("code", visible(each.text, _LONGEST_TEXT)),
            ),
            Column("Rejections", lambda each: each.count, is_number=True),
            Column("Last seen", lambda each: time_ago(each.last_seen_at, now), is_number=True),
        ),
    )


LIMITS: Final = "limits"
"""The parameter of the address with the table of limits."""


def module_card(module: str, tables: Sequence[ModuleLimits], usual: ModuleLimits | None) -> None:
    """Show a module; `usual` is the table of limits of its network."""
    with st.container(key="card-module", gap="small"):
        st.html(element("i", class_="lw-module-line", style=f"background: {module_colour(module)}"))
        with st.container(horizontal=True, vertical_alignment="center", key="head-module"):
            section(breakable(module), _purpose(module))
            table = _chosen_table(tables, usual)
        if table is not None:
            st.html(_limit(module, table))


def _purpose(module: str) -> str:
    purpose = purpose_of(module)
    if purpose is None:
        return "Prover module; only its name is public."
    return f"Prover module: {purpose}."


def _chosen_table(
    tables: Sequence[ModuleLimits], usual: ModuleLimits | None
) -> ModuleLimits | None:
    by_title = {each.title: each for each in tables}
    if not by_title:
        return None
    first = tables[0] if usual is None else usual
    title = st.selectbox(
        "Limits by",
        list(by_title),
        index=list(by_title).index(first.title),
        key=LIMITS,
        bind="query-params",
        label_visibility="collapsed",
        width=320,
    )
    return by_title.get(title, first)


def _limit(module: str, table: ModuleLimits) -> Markup:
    limit = table.limit_of(module)
    if limit is None:
        said = join(element("b", breakable(module)), " is not in this table of limits.")
    elif limit == 0:
        said = join("Limit ", element("b", "0"), ": the network cannot prove this operation.")
    else:
        said = join("Limit ", element("b", f"{limit:,}"), " lines in one transaction.")
    quiet = element(
        "small",
        f" Table: {table.title}. Limits change with the releases of nodes. If a reason names a "
        "limit, the node used that one.",
        title=table.source,
    )
    return element("p", said, quiet, class_="lw-lede")
