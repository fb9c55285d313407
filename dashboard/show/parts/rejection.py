"""Rejections: one row of the newest, and one version of a record in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.domain.exclusion import CLOCK_IS_WRONG, StoredRejection
from dashboard.domain.foreign_text import visible
from dashboard.domain.reason import Reason, ReasonKind, explain, overrun
from dashboard.show.parts.badges import badge
from dashboard.show.parts.markup import Markup, breakable, element, join
from dashboard.show.text import age, moment, short_hash, span

_ROW_REASON_LENGTH: Final = 160
_SAME_TIME: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RowFlags:
    """What a row says beside the record: its network, its reason, whether somebody tracks it."""

    network: str
    reason: Reason
    is_tracked: bool


def rejection_row(stored: StoredRejection, flags: RowFlags, now: datetime, lookup: st.Page) -> None:
    """Show stage, module and age, the reason in plain words, and the hash as a link."""
    record = stored.record
    with st.container(key=f"rejection-{stored.rejection_id}", gap=None):
        why = element("p", reason_words(flags.reason), class_="lw-reason")
        st.html(join(_row_head(stored, flags, now), why))
        st.page_link(
            lookup,
            label=short_hash(record.tx_hash),
            icon="",
            query_params={"tx": str(record.tx_hash)},
        )


def _row_head(stored: StoredRejection, flags: RowFlags, now: datetime) -> Markup:
    """Build the head; its age is that of the arrival, by which lists of the newest are sorted."""
    record, seen_at = stored.record, stored.first_seen_at
    tracked = badge("mute", "◉", "Tracked") if flags.is_tracked else Markup()
    module = (
        element("span", breakable(f"module {flags.reason.module}"))
        if flags.reason.module
        else Markup()
    )
    dated = dated_apart(stored)
    claimed = element("span", dated, title=moment(record.timestamp)) if dated else Markup()
    when = element("time", age(seen_at, now), title=f"seen {moment(seen_at)}")
    head = element(
        "div",
        badge("bad", "✕", record.tx_rejection_stage),
        tracked,
        element("span", flags.network),
        element("span", when, class_="lw-end"),
        class_="lw-row",
    )
    about = join(module, claimed)
    return join(head, element("div", about, class_="lw-row lw-about")) if about else head


def dated_apart(stored: StoredRejection) -> str:
    """Say how far the node's date lies from the arrival, empty where that is under a minute."""
    if stored.is_dated_ahead:
        return "dated ahead, by a wrong clock"
    ahead = stored.record.timestamp - stored.first_seen_at
    if abs(ahead) < _SAME_TIME:
        return ""
    return f"dated {span(abs(ahead))} {'later' if ahead > timedelta() else 'earlier'}"


def reason_words(reason: Reason) -> str:
    """Say the reason in plain words, or quote one that is not known; it may be foreign text."""
    if reason.kind is ReasonKind.UNPARSED:
        return f"Reason not known to Linewatch: “{visible(reason.text, _ROW_REASON_LENGTH)}”"
    return explain(reason)


def version_in_full(
    stored: StoredRejection, reason: Reason, now: datetime, next_steps: Sequence[str] = ()
) -> None:
    """Show one version: plain words, every fact, and the reason exactly as it was sent."""
    facts = element("dl", *_facts(stored, reason), *_wide_facts(stored, now), class_="lw-facts")
    steps = _next_steps(next_steps) if next_steps else Markup()
    st.html(join(element("p", explain(reason), class_="lw-reason"), facts, steps))
    with st.container(gap="xxsmall"):
        st.html(element("p", "Reason as the network sent it", class_="lw-label"))
        st.code(visible(reason.text), language=None, wrap_lines=True)


def _next_steps(next_steps: Sequence[str]) -> Markup:
    label = element("p", "What the sender can do next", class_="lw-label lw-spaced")
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
        ("Nonce", str(record.nonce)),
    ]
    return [_fact(name, value) for name, value in facts if value is not None]


def _lines_allowed(reason: Reason) -> str | None:
    if reason.limit is None:
        return None
    source = "" if reason.limit_from is None else f", by {reason.limit_from}"
    return f"{reason.limit:,}{source}"


def _wide_facts(stored: StoredRejection, now: datetime) -> list[Markup]:
    record = stored.record
    came = "Reported to us" if stored.reported_at else "First seen by us"
    over = [f"{each.module} {each.count:,} of {each.limit:,}" for each in stored.overflows]
    facts = [
        ("Rejected, by the node's clock", _claimed(stored, now)),
        (came, _when(stored.first_seen_at, now)),
        ("Modules over their limit, as reported", visible(", ".join(over)) if over else None),
        ("Sender", str(record.sender)),
    ]
    return [_fact(name, value, "is-wide") for name, value in facts if value is not None]


def _claimed(stored: StoredRejection, now: datetime) -> str:
    """Say the claimed time and its age, or that it cannot be true."""
    claimed = stored.record.timestamp
    if stored.is_dated_ahead:
        return f"{moment(claimed)}. {CLOCK_IS_WRONG}."
    return _when(claimed, now)


def _when(at: datetime, now: datetime) -> str:
    return f"{moment(at)}, {age(at, now)}"


def _fact(name: str, value: str, style: str | None = None) -> Markup:
    said = element("dd", value, class_="lw-mono" if value.startswith("0x") else None)
    return element("div", element("dt", name), said, class_=style)
