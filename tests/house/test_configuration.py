"""House rules of configuration files: every key is one that the tool knows."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from streamlit.config import get_config_options

from tests.house.sources import ROOT


def test_streamlit_option_of_ours_exists() -> None:
    text = (ROOT / ".streamlit/config.toml").read_text(encoding="utf-8")

    ours = set(_option_names(tomllib.loads(text)))

    assert ours - get_config_options().keys() == set()


def test_ignored_lint_rule_has_a_reason_beside_it() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lint = text.partition("[tool.ruff.lint]")[2].partition("[tool.ruff.lint.pylint]")[0]

    unreasoned = [line for line in lint.splitlines() if re.match(r' +"[A-Z]+\d*",?\s*$', line)]

    assert unreasoned == []


def _option_names(table: dict[str, Any]) -> Iterator[str]:
    """Yield the dotted name of every option in nested tables."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from (f"{name}.{inner}" for inner in _option_names(value))
        else:
            yield name
