"""The script that Streamlit runs for every page: the frame, then the page that was asked for."""

from pathlib import Path

import streamlit as st

from dashboard.show import desk as desks
from dashboard.show.parts.states import notice, simulated_mark
from dashboard.show.views import lookup, overview

_HERE = Path(__file__).parent


def main() -> None:
    """Draw what all pages share, send old addresses on, run the page."""
    st.logo(_HERE / "logo.svg")
    places = [overview.place(), lookup.place()]
    chosen = st.navigation(places, position="top")
    st.set_page_config(f"{chosen.title} · Linewatch", _HERE / "icon.svg", "wide")
    st.html(_HERE / "style.css")
    if not desks.is_registered():
        notice("busy", "Linewatch is starting.", "Reload this page in a moment.")
        return
    if chosen is places[0] and lookup.TX in st.query_params:
        st.switch_page(places[1], query_params={lookup.TX: st.query_params.get_all(lookup.TX)})
    simulated_mark(desks.current().networks)
    chosen.run()


main()
