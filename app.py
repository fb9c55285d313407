"""Streamlit's door: `streamlit run app.py`, or `linewatch pages`."""

from pathlib import Path

import streamlit as st
from dashboard.wiring.pages import pages_lifespan
from starlette.middleware import Middleware

from dashboard.show.headers import StrictHeaders

app = st.App(
    Path(__file__).parent / "dashboard" / "show" / "main.py",
    lifespan=pages_lifespan,
    middleware=[Middleware(StrictHeaders)],
)
