"""House rules of configuration files: every key is one that the tool knows."""

from __future__ import annotations

import re
import tomllib

from streamlit.config import get_config_options

from tests.house.sources import ROOT


def test_streamlit_option_of_ours_exists() -> None:
    text = (ROOT / ".streamlit/config.toml").read_text(encoding="utf-8")

    ours = {f"{section}.{name}" for section, names in tomllib.loads(text).items() for name in names}

    assert ours - get_config_options().keys() == set()


def test_ignored_lint_rule_has_a_reason_beside_it() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lint = text.partition("[tool.ruff.lint]")[2].partition("[tool.ruff.lint.pylint]")[0]

    unreasoned = [line for line in lint.splitlines() if re.match(r' +"[A-Z]+\d*",?\s*$', line)]

    assert unreasoned == []
