"""Visits to one page, run by Streamlit without a browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Final
from uuid import UUID

from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest

from dashboard import show
from dashboard.application import application
from dashboard.application.application import Application
from dashboard.errors import StoreUnavailable
from dashboard.show.parts.acting import IDENTITY
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from tests.waiting import PATIENCE

_ALL_PAGES: Final = Path(show.__file__).parent / "main.py"
_SCRIPT: Final = """
import streamlit as st
from dashboard.application import application
from dashboard.show.parts.frame import network_chooser
from dashboard.show.parts.frame import page_at, view_at

st.navigation([page_at(each) for each in dict.fromkeys(["{path}", "lookup"])])
network_chooser(application.current().networks)
view_at("{path}").page()
"""


def visit(page: str, queries: Application, /, **address: str) -> AppTest:
    """Open a page with these parameters in its address."""
    return visit_in(None, page, queries, {}, **address)


def visit_in(
    session: UUID | None,
    page: str,
    queries: Application,
    known: Mapping[str, object],
    /,
    **address: str,
) -> AppTest:
    """Open a page in a session of somebody who signed in; `known` is what it remembers."""
    application.register(queries)
    script = _SCRIPT.format(path="" if page == "overview" else page)
    opened = _with_known_components(AppTest.from_string(script, default_timeout=PATIENCE))
    opened.user = {} if session is None else {IDENTITY: str(session)}
    for name, value in known.items():
        opened.session_state[name] = value
    return _run(opened, address)


def run_script(script: str, /, **address: str) -> AppTest:
    """Run a script of its own with these parameters in its address."""
    page = _with_known_components(AppTest.from_string(script, default_timeout=PATIENCE))
    return _run(page, address)


def _run(page: AppTest, address: Mapping[str, str]) -> AppTest:
    for name, value in address.items():
        page.query_params[name] = value
    return page.run()


def open_page(queries: Application, *hashes: str, **address: str) -> AppTest:
    """Run the script as a visitor of Overview or, with hashes in the address, of Lookup."""
    application.register(queries)
    page = _with_known_components(AppTest.from_file(str(_ALL_PAGES), default_timeout=PATIENCE))
    if hashes:
        page.query_params["tx"] = list(hashes)
    return _run(page, address)


def _with_known_components(page: AppTest) -> AppTest:
    """Let a page know the components that are installed, which each would search for by itself.

    That takes a quarter of a second, ten times as long as most pages.
    """
    page._bidi_component_manager = _components()  # noqa: SLF001 - no other way leads there
    return page


@cache
def _components() -> BidiComponentManager:
    found = BidiComponentManager()
    found.discover_and_register_components(start_file_watching=False)
    return found


def words_of(page: AppTest) -> str:
    """Return all the markup and code of a page that went well, each blank as an ordinary one."""
    assert not page.exception
    markup = [element.proto.body for element in page.get("html")]
    return with_blanks("\n".join([*markup, *(block.value for block in page.code)]))


def with_blanks(markup: str) -> str:
    """Return what is shown with an ordinary blank between each number and its unit."""
    return markup.replace("\N{NO-BREAK SPACE}", " ")


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
    def write(self, patience: timedelta | None = None) -> Iterator[Connection]:  # noqa: ARG002 - as the store has it
        """Refuse."""
        yield self._refuse()

    def _refuse(self) -> Connection:
        raise StoreUnavailable("the disk is gone")
