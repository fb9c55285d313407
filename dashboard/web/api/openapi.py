"""The OpenAPI 3.1 document of the management API, made from its table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from dashboard.web.api.endpoint import PREFIX, Endpoint

_REF: Final = "#/components/schemas/{name}"
_PART: Final = re.compile(r"\{(\w+)\}")
_REFUSALS: Final = {
    "400": "It cannot be parsed.",
    "401": "No valid token was sent.",
    "403": "The token or its role does not allow this.",
    "404": "It does not exist.",
    "409": "The same request is under way.",
    "412": "Somebody else changed it.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "422": "A value is wrong.",
    "428": "If-Match is missing.",
    "503": "The store cannot be used now, or too much is sent at once.",
}


def openapi(endpoints: Iterable[Endpoint], version: str) -> bytes:
    found = list(endpoints)
    types = {kind for each in found for kind in (each.query, each.body) if kind is not None}
    _, schemas = msgspec.json.schema_components(
        sorted(types, key=lambda kind: kind.__qualname__), ref_template=_REF
    )
    paths: dict[str, dict[str, Any]] = {}
    for each in found:
        operation = _operation(each, schemas)
        paths.setdefault(f"{PREFIX}{each.path}", {})[each.verb.lower()] = operation
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Linewatch management API", "version": version},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {status: _refusal(words) for status, words in _REFUSALS.items()},
        },
    }
    return msgspec.json.encode(document)


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    words = re.findall(r"\w+", endpoint.path.replace("-", "_"))
    found: dict[str, Any] = {
        "operationId": "_".join((endpoint.verb.lower(), *words)),
        "summary": endpoint.summary,
        "description": f"Takes the role {endpoint.role.value}.",
        "tags": [endpoint.subject],
        "parameters": [*_parameters(endpoint, schemas)],
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": _answer(endpoint)}},
            **{each: {"$ref": f"#/components/responses/{each}"} for each in _REFUSALS},
        },
    }
    if endpoint.body is not None:
        schema = {"$ref": _REF.format(name=endpoint.body.__name__)}
        found["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return found


def _parameters(endpoint: Endpoint, schemas: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for name in _PART.findall(endpoint.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    fields = schemas[endpoint.query.__name__]["properties"]
    for name, schema in fields.items():
        yield {"name": name, "in": "query", "schema": schema}
    if endpoint.needs_match:
        yield {"name": "If-Match", "in": "header", "required": True, "schema": {"type": "string"}}
    if endpoint.verb == "POST" and endpoint.action is not None:
        longest = {"type": "string", "maxLength": 200}
        yield {"name": "Idempotency-Key", "in": "header", "schema": longest}


def _answer(endpoint: Endpoint) -> dict[str, Any]:
    keys = (*endpoint.answers, *endpoint.secrets)
    properties: dict[str, Any] = {each: {} for each in keys}
    return {
        "schema": {
            "type": "object",
            "properties": properties,
            "required": list(endpoint.answers),
        }
    }


def _refusal(words: str) -> dict[str, Any]:
    schema = {"$ref": _REF.format(name="Problem")}
    return {"description": words, "content": {"application/problem+json": {"schema": schema}}}


_PROBLEM: Final = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail"],
}
