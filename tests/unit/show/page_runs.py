"""Visits to one page, run by Streamlit without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from streamlit.testing.v1 import AppTest

from dashboard import show
from dashboard.application import application
from dashboard.application.application import Application
from dashboard.errors import StoreUnavailable
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from tests.waiting import PATIENCE

_ALL_PAGES: Final = Path(show.__file__).parent / "main.py"
_SCRIPT: Final = """
import streamlit as st
from dashboard.application import application
from dashboard.show.parts.frame import network_chooser
from dashboard.show.views import lookup, {page}

st.navigation([{page}.as_page(), lookup.as_page()])
network_chooser(application.current().networks)
{page}.page()
"""


def visit(page: str, queries: Application, /, **address: str) -> AppTest:
    """Open a page with these parameters in its address."""
    application.register(queries)
    opened = AppTest.from_string(_SCRIPT.format(page=page), default_timeout=PATIENCE)
    for name, value in address.items():
        opened.query_params[name] = value
    return opened.run()


def open_page(queries: Application, *hashes: str) -> AppTest:
    """Run the script as a visitor of Overview or, with hashes in the address, of Lookup."""
    application.register(queries)
    page = AppTest.from_file(str(_ALL_PAGES), default_timeout=PATIENCE)
    if hashes:
        page.query_params["tx"] = list(hashes)
    return page.run()


def words_of(page: AppTest) -> str:
    """Return all the markup and code of a page that went well."""
    assert not page.exception
    markup = [element.proto.body for element in page.get("html")]
    return "\n".join([*markup, *(block.value for block in page.code)])


class UnreadableStore(Store):
    """A store that cannot be read or written now."""

    def __init__(self) -> None:
        """Need no database."""
        self.name = "The store"
        self.writes = 0

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Refuse."""
        yield self._refuse()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Refuse."""
        yield self._refuse()

    def _refuse(self) -> Connection:
        raise StoreUnavailable("the disk is gone")
