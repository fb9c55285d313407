"""Share one transaction by a link, and take a link back."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.sharing import Sharing
from dashboard.application.text import moment, sentence
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import element, visible
from dashboard.domain.people.access import Action
from dashboard.domain.quantity import TxHash
from dashboard.errors import InputError, StoreError
from dashboard.show.parts.acting import known_actor, may
from dashboard.show.parts.notices import notice
from dashboard.store.tracking.share_links import ShareLink

_DAYS: Final = {"a day": 1, "a week": 7, "a month": 30}
_MADE: Final = "share_link_made"


def share_form(queries: Application, tx_hash: TxHash, case_id: str) -> None:
    """Offer a link that shows this transaction to whoever has it."""
    sharing = queries.sharing
    if not sharing.is_possible:
        st.write("Say in the setting public_url of [pages] where people open Linewatch.")
        return
    st.write("Everybody with the link sees the verdict and the text for a customer, nothing else.")
    lasts = st.selectbox("It works for", list(_DAYS), index=1, key="share-lasts")
    if st.button("Make a link", key="share", type="primary"):
        _share(queries, tx_hash, timedelta(days=_DAYS[lasts]), case_id)
    made: tuple[TxHash, str] | None = st.session_state.get(_MADE)
    if made is not None and made[0] == tx_hash:
        st.code(made[1], language=None, wrap_lines=True)
        st.caption("Copy it now: it is shown this one time.")
    for link in sharing.all(tx_hash):
        _link(queries, sharing, link)


def _share(queries: Application, tx_hash: TxHash, lasts: timedelta, case_id: str) -> None:
    try:
        _, address = queries.sharing.share(tx_hash, lasts, known_actor(queries), case_id)
        st.session_state[_MADE] = (tx_hash, address)
    except (InputError, StoreError) as error:
        notice("bad", "Nothing was shared.", sentence(visible(capitalized(str(error)))))


def _link(queries: Application, sharing: Sharing, link: ShareLink) -> None:
    said = f"By {visible(link.created_by, 80)}, until {moment(link.ends_at)}"
    with st.container(horizontal=True, vertical_alignment="center", key=f"share-{link.link_id}"):
        st.html(element("p", said, class_="lw-quiet"))
        if may(queries, Action.END_SHARE) and st.button("Revoke", key=f"unshare-{link.link_id}"):
            try:
                sharing.revoke(link.link_id, known_actor(queries))
                st.session_state.pop(_MADE, None)
                st.rerun()
            except (InputError, StoreError) as error:
                notice("bad", "It still works.", sentence(visible(capitalized(str(error)))))
