"""The page about the RPC is true: its examples are run, its tables are complete."""

from __future__ import annotations

import json
import re
from pathlib import Path

from dashboard.errors import WireError
from dashboard.serve.rpc.methods import document_of
from dashboard.wire.rejection_query import decode_list
from tests.integration.documented_server import a_documented_server, a_socket, exchange
from tests.integration.running_server import a_store, services_of

PAGE = Path(__file__).parents[2] / "docs" / "rpc.md"
BLOCK = re.compile(r"^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
SUBSCRIPTION = "0x8f3a1b5c7d9e0f2a4b6c8d0e1f3a5b7c"


def test_examples_of_the_page_are_answered_as_written(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert blocks
    subscription = SUBSCRIPTION
    with a_documented_server(tmp_path) as address, a_socket(address) as socket:
        for asked, answered in zip(blocks[::2], blocks[1::2], strict=True):
            reply = exchange(socket, json.loads(asked.replace(SUBSCRIPTION, subscription)))
            if "linewatch_subscribe" in asked:
                subscription = reply["result"]
                reply["result"] = SUBSCRIPTION

            assert reply == json.loads(answered)


def test_page_names_every_method(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    with a_store(tmp_path) as store:
        document = json.loads(document_of(services_of(store)))
    served = {method["name"] for method in document["methods"]}

    named = {name for name in served if f"`{name}`" in text}

    assert {name for name in served if not name.startswith("linea_")} == named


def test_page_names_every_member_of_a_filter() -> None:
    text = PAGE.read_text(encoding="utf-8")
    refusal = ""
    try:
        decode_list([{"?": 1}])
    except WireError as error:
        refusal = str(error)

    members = refusal.partition("which knows ")[2].split(", ")

    assert len(members) == 11
    assert [name for name in members if f"`{name}`" not in text] == []
