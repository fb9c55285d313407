"""The page about reasons tells the truth: its texts are known, its tables exist, its file works."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dashboard.domain.rejections.line_limits import LimitsEnd
from dashboard.domain.rejections.reasons import ReasonKind, parse_reason
from dashboard.settings.presets import line_limits_of, table_names
from tests.house.sources import ROOT
from tests.unit.settings.configuration_files import loaded

PAGE = (ROOT / "docs/reasons.md").read_text(encoding="utf-8")
FORMS = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)
EXAMPLES = {"<hash>": f"0x{'ab' * 32}", "<M>": "MMU", "<count>": "3", "<limit>": "2"}


def filled_in(form: str) -> str:
    for placeholder, example in EXAMPLES.items():
        form = form.replace(placeholder, example)
    return form


def test_page_lists_the_texts_of_nodes() -> None:
    assert len(FORMS) == 5


@pytest.mark.parametrize("form", FORMS)
def test_text_that_the_page_lists_is_known(form: str) -> None:
    known = {ReasonKind.OVER_LIMIT, ReasonKind.MODULE_UNDEFINED, ReasonKind.INVALID_COUNT}

    assert parse_reason(filled_in(form)).kind in known


@pytest.mark.parametrize(
    "text", ["Gas price too low", "TransactionTypeValidation - BLOB_TX_NOT_ALLOWED"]
)
def test_text_of_another_rule_that_the_page_names_is_known(text: str) -> None:
    assert f"`{text}`" in PAGE
    assert parse_reason(text).kind is ReasonKind.OTHER_RULE


def test_page_lists_every_table_of_limits() -> None:
    assert sorted(re.findall(r"module_limits/([\w.-]+)\.toml", PAGE)) == list(table_names())


def test_configuration_on_the_page_is_accepted(tmp_path: Path) -> None:
    own, periods, end = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    table = tmp_path / "limits.toml"
    table.write_text("[traces-limits]\nADD = 5\n", encoding="utf-8")
    text = own + end.removeprefix("[networks.mine]\n") + periods
    text = re.sub(r'"/[^"]+"', f'"{table}"', text)

    network = loaded(tmp_path, text).networks["mine"]

    assert network.module_limits == str(table)
    assert line_limits_of(network).end == LimitsEnd(datetime(2027, 1, 15, 12, tzinfo=UTC))
