"""The ASGI app of the pages, for `streamlit run app.py`; `linewatch pages` makes its own."""

import streamlit as st

from dashboard.show.streamlit_runtime import SCRIPT
from dashboard.wiring.pages import MIDDLEWARE, pages_lifespan

app = st.App(SCRIPT, lifespan=pages_lifespan(starts_the_rest=True), middleware=MIDDLEWARE)
