"""The OpenRPC document of the RPC: `openrpc.json`, with the methods' full names and our version."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from importlib.resources import files
from typing import Final

import msgspec

DISCOVER: Final = "rpc.discover"


def openrpc_document(names: Iterable[str]) -> bytes:
    """Return the document of the methods that are served under these full names."""
    document = msgspec.json.decode(
        (files("dashboard.serve.documents") / "openrpc.json").read_bytes()
    )
    document["info"]["version"] = version("linewatch")
    methods = {method["name"]: method for method in document["methods"]}
    document["methods"] = [
        {**methods[_name_without_prefix(name)], "name": name} for name in sorted(names)
    ]
    return msgspec.json.encode(document)


def _name_without_prefix(name: str) -> str:
    return name if name == DISCOVER else name.partition("_")[2]
