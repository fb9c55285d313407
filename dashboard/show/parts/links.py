"""The pages by their path, and links from one to another."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Final

import streamlit as st

TITLES: Final[Mapping[str, str]] = {
    "": "Overview",
    "fees": "Fees",
    "rejections": "Rejections",
    "lookup": "Lookup",
    "tracked": "Tracked",
    "alerts": "Alerts",
    "health": "Health",
    "settings": "Settings",
}
"""The title of each page by its path, in the order of the menu."""


def view_at(path: str) -> ModuleType:
    """Import what draws a page, by its name: pages link to each other in circles."""
    return import_module(f"dashboard.show.views.{path or 'overview'}")


def page_at(path: str) -> st.Page:
    """Return a page.

    It has no icon: Streamlit would make the browser fetch that from a font host, as favicon.
    """
    return st.Page(view_at(path).page, title=TITLES[path], url_path=path, default=not path)


def link(path: str, label: str, parameters: Mapping[str, str] | None = None) -> None:
    """Lead to a page, with these parameters in its address."""
    st.page_link(page_at(path), label=label, icon="", query_params=dict(parameters or {}))
