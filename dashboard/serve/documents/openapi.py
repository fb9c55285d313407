"""The OpenAPI document of the gas API and of the pages about this server itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

import msgspec

from dashboard.domain.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.serve.documents.openapi_schemas import EXAMPLES, SCHEMAS, ref
from dashboard.serve.gas.api import OPERATIONS

_Json = dict[str, Any]

_SUMMARIES: Final[Mapping[str, str]] = {
    Operation.SUGGESTED_GAS_FEES: "What to pay now, at three levels of haste",
    Operation.BASE_FEE_HISTORY: "Base fees of the last 500 blocks, oldest first, in gwei",
    Operation.BASE_FEE_PERCENTILE: "The median base fee of the window, in gwei",
    Operation.BUSY_THRESHOLD: "The 90th percentile of the window: above it the network is busy",
}
_ERRORS: Final[Mapping[str, str]] = {
    "400": "The chain id is malformed or not served to this key",
    "401": "The key, or its secret, is missing or wrong",
    "403": "The key may not call this operation",
    "429": "The key calls faster than it may",
    "503": "The node is away and nothing recent enough is held, or the server is full",
}
_ABOUT: Final = (
    "Gas fees of the networks whose nodes this server follows. Each operation is there twice: "
    "with the API key in the path, and for HTTP Basic with the key as user and its secret as "
    "password. Every error has the same two members."
)


def openapi(networks: Sequence[NetworkId]) -> bytes:
    """Return the document as JSON; `networks` serve as examples of chain ids."""
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Linewatch gas API",
            "version": version("linewatch"),
            "description": _ABOUT,
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": "gas"}, {"name": "server"}],
        "paths": {**_gas_paths(), **_server_paths()},
        "components": {
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "metrics": {"type": "http", "scheme": "bearer"},
            },
            "parameters": _parameters(networks),
            "schemas": SCHEMAS,
        },
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _gas_paths() -> _Json:
    paths = {}
    for operation in sorted(OPERATIONS):
        by_key = [{"$ref": "#/components/parameters/api_key"}]
        paths[f"/v3/{{api_key}}/networks/{{network_id}}/{operation}"] = {
            "get": _gas(operation, f"{operation}ByKey", by_key, []),
        }
        paths[f"/networks/{{network_id}}/{operation}"] = {
            "get": _gas(operation, operation, [], [{"basic": []}]),
        }
    return paths


def _gas(operation: str, name: str, parameters: list[_Json], security: list[_Json]) -> _Json:
    example = {"current": {"value": msgspec.json.decode(EXAMPLES[operation])}}
    return {
        "operationId": name,
        "summary": _SUMMARIES[operation],
        "tags": ["gas"],
        "security": security,
        "parameters": [*parameters, {"$ref": "#/components/parameters/network_id"}],
        "responses": {
            "200": {
                "description": "As of the newest block that the node told",
                "headers": {
                    "Cache-Control": {
                        "description": "How long it holds: one block time",
                        "schema": {"type": "string", "pattern": "^max-age=[0-9]+$"},
                    }
                },
                "content": {
                    "application/json": {
                        "schema": ref(_schema_name(operation)),
                        "examples": example,
                    }
                },
            },
            **{status: _error(status) for status in _ERRORS},
        },
    }


def _schema_name(operation: str) -> str:
    return operation[0].upper() + operation[1:]


def _error(status: str) -> _Json:
    error: _Json = {
        "description": _ERRORS[status],
        "content": {
            "application/json": {
                "schema": ref("Error"),
                "example": {"statusCode": int(status), "message": _ERRORS[status]},
            }
        },
    }
    if status in {"429", "503"}:
        seconds = {"description": "Seconds to wait", "schema": {"type": "string"}}
        error["headers"] = {"Retry-After": seconds}
    return error


def _server_paths() -> _Json:
    return {
        "/live": _page("live", "Whether the process answers", {"200": _health("It does")}),
        "/ready": _page(
            "ready",
            "Whether the store can be read and written, and every followed node keeps up",
            {"200": _health("All is well"), "503": _health("Something is not: what, is told")},
        ),
        "/metrics": _page(
            "metrics",
            "Numbers for Prometheus; open to the same machine, or with the key for them",
            {
                "200": {
                    "description": "Prometheus' text form",
                    "content": {"text/plain": {"schema": {"type": "string"}}},
                },
                "401": _error("401"),
                "403": _error("403"),
            },
            [{}, {"metrics": []}],
        ),
    }


def _page(
    name: str, summary: str, responses: _Json, security: Sequence[_Json] = ()
) -> dict[str, _Json]:
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "tags": ["server"],
            "security": list(security),
            "responses": responses,
        }
    }


def _health(description: str) -> _Json:
    return {
        "description": description,
        "content": {"application/json": {"schema": ref("Health")}},
    }


def _parameters(networks: Sequence[NetworkId]) -> _Json:
    return {
        "api_key": {
            "name": "api_key",
            "in": "path",
            "required": True,
            "description": "The API key",
            "schema": {"type": "string", "pattern": "^[^/:]+$"},
        },
        "network_id": {
            "name": "network_id",
            "in": "path",
            "required": True,
            "description": "The chain id, in decimal digits",
            "schema": {"type": "integer", "minimum": 1, "maximum": 2**63 - 1},
            "examples": {str(each): {"value": each} for each in networks},
        },
    }
