"""The ASGI app of the pages, for `streamlit run app.py` and for `linewatch pages`."""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from dashboard.web.api.server import ManagementApi
from dashboard.web.files import PageFiles, SiteMap
from dashboard.web.gate import StrictHeaders
from dashboard.web.shared_case import SharedCases
from dashboard.web.signed_links import SignedLinks
from dashboard.wiring.pages import (
    AS_A_ROLE,
    pages_host_check,
    pages_lifespan,
    pages_sign_in,
    pages_upload_bound,
)

app = st.App(
    Path(__file__).parent / "dashboard" / "show" / "main.py",
    lifespan=pages_lifespan(starts_the_rest=__name__ != AS_A_ROLE),
    middleware=[
        Middleware(StrictHeaders),
        Middleware(pages_host_check),
        Middleware(SignedLinks),
        Middleware(SharedCases),
        Middleware(ManagementApi),
        Middleware(pages_sign_in),
        Middleware(pages_upload_bound),
        Middleware(PageFiles),
        Middleware(SiteMap),
    ],
)
