"""The OpenRPC document: what it says of words, limits and methods is what the code holds to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from dashboard.domain.rejections.exclusion import WIRE_STAGES, SaveStatus
from dashboard.domain.rejections.reasons import ReasonKind
from dashboard.serve.documents.openapi import DISCOVER, openrpc_document
from dashboard.store.rejections.counts import Grouping
from dashboard.wire.node import LARGEST_NUMBER
from dashboard.wire.params import GET_STATUS, SAVE_REJECTED
from dashboard.wire.rejection_query import (
    LARGEST_PAGE,
    LONGEST_TEXT,
    MOST_GROUPS,
    USUAL_GROUPS,
    USUAL_PAGE,
    Order,
)
from dashboard.wire.rejection_report import LONGEST_REASON

METHODS = [
    f"chain_{GET_STATUS}",
    f"chain_{SAVE_REJECTED}",
    "linewatch_listRejectionsV1",
    "linewatch_getRejectionVersionsV1",
    "linewatch_countRejectionsV1",
    "linewatch_subscribe",
    "linewatch_unsubscribe",
    DISCOVER,
]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(openrpc_document(METHODS))
    return found


def test_methods_have_their_full_names_in_order(document: dict[str, Any]) -> None:
    assert [method["name"] for method in document["methods"]] == sorted(METHODS)


def test_each_prefix_has_methods_of_its_own() -> None:
    names = [f"{prefix}_{GET_STATUS}" for prefix in ("chain", "linea")]

    methods = msgspec.json.decode(openrpc_document(names))["methods"]

    assert [method["name"] for method in methods] == names
    assert {**methods[0], "name": ""} == {**methods[1], "name": ""}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Stage", WIRE_STAGES),
        ("ReasonKind", ReasonKind),
        ("Order", Order),
        ("Grouping", Grouping),
    ],
)
def test_words_are_those_of_the_code(
    document: dict[str, Any], name: str, words: Iterable[str]
) -> None:
    assert document["components"]["schemas"][name]["enum"] == list(words)


def test_limits_are_those_of_the_code(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    limits = {
        method["name"]: (param["schema"]["default"], param["schema"]["maximum"])
        for method in document["methods"]
        for param in method["params"]
        if param["name"] == "limit"
    }

    assert limits == {
        "linewatch_listRejectionsV1": (USUAL_PAGE, LARGEST_PAGE),
        "linewatch_countRejectionsV1": (USUAL_GROUPS, MOST_GROUPS),
    }
    assert schemas["Saved"]["properties"]["status"]["enum"] == list(SaveStatus)
    assert schemas["Report"]["properties"]["reasonMessage"]["maxLength"] == LONGEST_REASON
    assert schemas["Filter"]["properties"]["text"]["maxLength"] == LONGEST_TEXT
    assert schemas["Overflow"]["properties"]["count"]["maximum"] == LARGEST_NUMBER
