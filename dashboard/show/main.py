"""The script that Streamlit runs for every page: the frame, then the requested page."""

from pathlib import Path
from typing import Final

import streamlit as st

from dashboard.application import application
from dashboard.application.text import PAGES
from dashboard.show.parts.acting import account_link
from dashboard.show.parts.attention_list import SEEN
from dashboard.show.parts.chart import BESIDE, FROM, TO
from dashboard.show.parts.frame import (
    NETWORK,
    header_search,
    in_line,
    network_chooser,
    page_at,
    return_to,
)
from dashboard.show.parts.incident_list import INCIDENT
from dashboard.show.parts.list_page import OPEN
from dashboard.show.parts.lookup import PARAMETERS, TX, search
from dashboard.show.parts.network_rows import SORT
from dashboard.show.parts.notices import ignored_parameters_shown, notice, simulated_mark
from dashboard.show.parts.rule_form import LIKE, RULE
from dashboard.show.parts.tracked_filters import BEFORE, NEED
from dashboard.show.parts.wall import WALL

# What an address may hold beside the choices of a page; as a docstring Streamlit would show it.
_OTHER_PARAMETERS: Final = frozenset(
    {NETWORK, INCIDENT, RULE, LIKE, OPEN, SEEN, WALL, FROM, TO, BESIDE, SORT, BEFORE, NEED}
    | PARAMETERS
)
_PASSING: Final = frozenset({INCIDENT, RULE, LIKE, WALL})

_HERE: Final = Path(__file__).parent


def main() -> None:
    """Draw what all pages share, then the page; `/?tx=…` leads to Lookup."""
    st.logo(_HERE / "logo.svg")
    pages = list(map(page_at, PAGES))
    chosen = st.navigation(pages, position="top")
    st.set_page_config(f"{chosen.title} · Linewatch", _HERE / "icon.svg", "wide")
    if not application.is_registered():
        notice("busy", "Linewatch is starting.", "Reload this page in a moment.")
        return
    return_to(chosen.url_path, frozenset() if chosen.url_path == "lookup" else PARAMETERS, _PASSING)
    if chosen is pages[0] and TX in st.query_params:
        st.switch_page(page_at("lookup"), query_params={TX: st.query_params.get_all(TX)})
    networks = application.current().networks
    frame = in_line("frame")
    notes = st.container(gap="small", key="notes")
    with ignored_parameters_shown(notes, _OTHER_PARAMETERS):
        with frame:
            header_search(search)
            simulated_mark(networks, notes)
            network_chooser(networks)
            account_link(application.current())
        chosen.run()


main()
