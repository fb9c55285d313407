"""The form that tracks transactions: asked again by themselves, alerted when rejected."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import streamlit as st

from dashboard.domain.quantity import TxHash
from dashboard.errors import StoreError
from dashboard.show.desk import Desk
from dashboard.show.parts.heading import section
from dashboard.show.parts.states import notice


def tracking_form(desk: Desk, hashes: Sequence[TxHash]) -> None:
    """Offer to track the hashes, with a label and the time of the attempt where known."""
    count = "this transaction" if len(hashes) == 1 else f"these {len(hashes)} transactions"
    with st.form("track", border=False):
        section(f"Track {count}")
        label = st.text_input("Label (optional)", max_chars=80, placeholder="Case or customer")
        attempted_at = st.datetime_input(
            "Attempted at, in UTC (optional)", None, step=timedelta(minutes=1), format="YYYY-MM-DD"
        )
        if st.form_submit_button("Track", type="primary"):
            _track(desk, hashes, label, attempted_at)


def _track(desk: Desk, hashes: Sequence[TxHash], label: str, attempted_at: datetime | None) -> None:
    moment = None if attempted_at is None else attempted_at.replace(tzinfo=UTC)
    if moment is not None and moment > desk.now():
        notice("bad", "That time is in the future.", "Give the time of the attempt in UTC.")
        return
    try:
        added = desk.track(hashes, label.strip(), moment)
    except StoreError as trouble:
        notice("bad", "Nothing was tracked.", f"{trouble} Try again in a moment.")
        return
    known = len(hashes) - added
    already = f" {known} tracked already." if known else ""
    notice("calm", f"{added} newly tracked.", f"A rejection is flagged here and mailed.{already}")
