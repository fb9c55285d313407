"""The OpenAPI document of the gas API and of the pages about this server itself.

`openapi.json` has each gas operation once, with HTTP Basic, and each error once. Added here are
the operations with the key in the path, and what depends on the installation.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from dashboard.domain.quantity import NetworkId

_Json = dict[str, Any]


def openapi(networks: Sequence[NetworkId]) -> bytes:
    """Return the document as JSON; `networks` are examples of chain ids."""
    document = json.loads((files("dashboard.serve.documents") / "openapi.json").read_text("utf-8"))
    document["info"]["version"] = version("linewatch")
    components = document["components"]
    chain_ids = {str(network_id): {"value": network_id} for network_id in networks}
    components["parameters"]["network_id"]["examples"] = chain_ids
    document["paths"] = _all_paths(document["paths"], components.pop("responses"))
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _all_paths(described: _Json, errors: _Json) -> _Json:
    paths: _Json = {}
    for path, item in described.items():
        operation = item["get"]
        operation["responses"] = {
            status: errors[status] if "$ref" in response else response
            for status, response in operation["responses"].items()
        }
        if path.startswith("/networks/"):
            paths[f"/v3/{{api_key}}{path}"] = {"get": _with_key_in_path(operation)}
        paths[path] = item
    return paths


def _with_key_in_path(operation: _Json) -> _Json:
    return {
        **operation,
        "operationId": f"{operation['operationId']}ByKey",
        "security": [],
        "parameters": [{"$ref": "#/components/parameters/api_key"}, *operation["parameters"]],
    }
