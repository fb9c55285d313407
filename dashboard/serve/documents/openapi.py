"""The documents of both APIs, and the page to try them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

import msgspec

from dashboard.domain.quantity import NetworkId
from dashboard.transport.http_connection import HttpReply

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


_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)
_KINDS: Final[Mapping[str, str]] = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_INDEX: Final = "index.html"
_PARTS: Final = (
    _INDEX,
    "style.css",
    "script.js",
    "operations.js",
    "socket.js",
    "logo.svg",
    "icon.svg",
)


def try_it_page() -> dict[str, HttpReply]:
    """Return the page and its parts, by path."""
    folder = files("dashboard.serve") / "try_it"
    return {
        "/" if name == _INDEX else f"/try/{name}": _file(name, (folder / name).read_bytes())
        for name in _PARTS
    }


def _file(name: str, content: bytes) -> HttpReply:
    kind = _KINDS[name.rpartition(".")[2]].encode()
    length = b"%d" % len(content)
    return HttpReply(
        200, [(b"content-type", kind), (b"content-length", length), *_HEADERS], content
    )
