"""House rules of configuration files: every key is one that the tool knows."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.config import get_config_options

from tests.house.sources import ROOT


def test_streamlit_option_of_ours_exists() -> None:
    text = (ROOT / ".streamlit/config.toml").read_text(encoding="utf-8")

    ours = set(_option_names(tomllib.loads(text)))

    assert ours - get_config_options().keys() == set()


@pytest.mark.parametrize(
    ("option", "value", "otherwise"),
    [
        ("server.address", "127.0.0.1", "strangers open pages that have no sign-in"),
        ("server.fileWatcherType", "none", "an edited file gives what a module holds a twin"),
        ("server.enableAgentApi", False, "programs drive the pages"),
        ("server.enableStaticServing", False, "a folder of files is served"),
        ("server.enableXsrfProtection", True, "another site uploads files"),
        ("server.baseUrlPath", "", "routes of our own are found elsewhere than pages"),
        ("browser.gatherUsageStats", False, "a browser asks an outside host"),
        ("browser.serverAddress", "localhost", "the server asks an outside host for its address"),
        ("client.showErrorDetails", "type", "a visitor reads tracebacks"),
        ("client.showErrorLinks", False, "an error leads to outside hosts"),
        ("runner.postScriptGC", False, "each run of a page takes 30 ms more"),
        ("logger.enableRich", False, "a traceback passes the log by"),
    ],
)
def test_streamlit_option_closes_its_trap(option: str, value: object, otherwise: str) -> None:
    text = (ROOT / ".streamlit/config.toml").read_text(encoding="utf-8")
    section, _, name = option.partition(".")

    ours = tomllib.loads(text).get(section, {})

    assert ours.get(name, get_config_options()[option].default_val) == value, otherwise


def _option_names(table: dict[str, Any]) -> Iterator[str]:
    """Yield the dotted name of every option in nested tables."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from (f"{name}.{inner}" for inner in _option_names(value))
        else:
            yield name
