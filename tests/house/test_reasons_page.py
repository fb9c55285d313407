"""The page about reasons tells the truth: its texts are known, its tables exist, its file works."""

from __future__ import annotations

import re
import tomllib

import msgspec
import pytest

from dashboard.domain.rejections.reasons import ReasonKind, parse_reason
from dashboard.settings import NetworkSettings
from dashboard.settings.presets import table_names
from tests.house.sources import ROOT

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


def test_configuration_on_the_page_is_accepted() -> None:
    [block] = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

    networks = tomllib.loads(block)["networks"]

    assert msgspec.convert(networks["mine"], NetworkSettings).module_limits.startswith("/")
