"""The form that tracks transactions: asked again by themselves, alerted when rejected."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import streamlit as st

from dashboard.domain.quantity import TxHash
from dashboard.domain.track_list import LONGEST_LABEL
from dashboard.errors import StoreError
from dashboard.show.parts.heading import section
from dashboard.show.parts.states import notice
from dashboard.show.queries.queries import Desk
from dashboard.store.tracking.transactions import Tracking


def tracking_form(desk: Desk, hashes: Sequence[TxHash]) -> None:
    """Offer to track the hashes, with a label and the time of the attempt where known."""
    count = "this transaction" if len(hashes) == 1 else f"these {len(hashes)} transactions"
    with st.form("track", border=False):
        section(f"Track {count}")
        label = st.text_input(
            "Label (optional)", max_chars=LONGEST_LABEL, placeholder="Case or customer"
        )
        attempted_at = attempt_input(None)
        if st.form_submit_button("Track", type="primary"):
            _track(desk, hashes, label, attempted_at)


def attempt_input(value: datetime | None) -> datetime | None:
    """Ask when a transaction was sent; what is typed is taken for UTC."""
    naive = None if value is None else value.astimezone(UTC).replace(tzinfo=None)
    typed = st.datetime_input(
        "Attempted at, in UTC (optional)", naive, step=timedelta(minutes=1), format="YYYY-MM-DD"
    )
    return None if typed is None else typed.replace(tzinfo=UTC)


def is_future(attempted_at: datetime | None, now: datetime) -> bool:
    """Whether a time of an attempt cannot be; say so if it is."""
    if attempted_at is None or attempted_at <= now:
        return False
    notice("bad", "That time is in the future.", "Give the time of the attempt in UTC.")
    return True


def _track(desk: Desk, hashes: Sequence[TxHash], label: str, attempted_at: datetime | None) -> None:
    if is_future(attempted_at, desk.now()):
        return
    try:
        became = desk.track(hashes, label.strip(), attempted_at)
    except StoreError as trouble:
        notice("bad", "Nothing was tracked.", f"{trouble} Try again in a moment.")
        return
    tracked_notice(became)


def tracked_notice(became: Sequence[Tracking]) -> None:
    """Say how many are tracked now that were not before, and how many were."""
    new, filled = became.count(Tracking.NEW), became.count(Tracking.FILLED_IN)
    known = len(became) - new
    also = f" What was missing of {filled:,} is filled in." if filled else ""
    if not new:
        each = "It was" if known == 1 else f"All {known:,} were"
        notice("calm", "Nothing new:", f"{each.lower()} tracked already.{also}")
        return
    already = f" {known:,} tracked already." if known else ""
    told = "A rejection is flagged here and mailed."
    notice("calm", f"{new:,} newly tracked.", f"{told}{already}{also}")
