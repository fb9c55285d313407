"""The OpenRPC document tells exactly what is served, and its examples are true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from dashboard.serve.rpc.exclusion_status import StatusReader
from dashboard.serve.rpc.methods import document_of, served_methods
from tests import plain_http
from tests.integration.documented_server import a_documented_server, a_socket, exchange
from tests.integration.running_server import KEY, a_call, a_store, services_of

SAVE = "chain_saveRejectedTransactionV1"
METHOD_MEMBERS = {"name", "summary", "paramStructure", "params", "result", "errors", "examples"}
SUBSCRIPTION = re.compile("0x[0-9a-f]{32}")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with a_documented_server(tmp_path_factory.mktemp("serve")) as host_and_port:
        yield host_and_port


@pytest.fixture(scope="module")
def document(address: str) -> dict[str, Any]:
    found: dict[str, Any] = plain_http.get(f"http://{address}/openrpc.json").json()
    return found


def resolved(document: dict[str, Any], value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Follow every reference, of which none may lead nowhere."""
    if isinstance(value, list):
        return [resolved(document, each) for each in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        found: Any = document
        for step in value["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        return resolved(document, found)
    return {name: resolved(document, each) for name, each in value.items()}


def test_document_names_every_served_method_and_no_other(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        dependencies = services_of(store)
        document = document_of(dependencies)
        served = {*served_methods(dependencies, StatusReader(dependencies))}

    described = re.findall(rb'"name":"((?:chain|linea|linewatch)_\w+|rpc\.discover)"', document)

    assert sorted(each.decode() for each in described) == sorted(served)


def test_document_is_the_same_by_file_and_by_call(address: str, document: dict[str, Any]) -> None:
    call = a_call("rpc.discover", [])

    reply = plain_http.post(f"http://{address}/v3/{KEY}", json=call).json()

    assert reply["result"] == document


def test_document_has_the_form_that_openrpc_demands(document: dict[str, Any]) -> None:
    assert re.fullmatch(r"1\.\d+\.\d+", document["openrpc"])
    assert {"title", "version"} <= document["info"].keys()
    assert document.keys() == {"openrpc", "info", "methods", "components"}
    for method in resolved(document, document["methods"]):
        assert METHOD_MEMBERS - {"examples"} <= method.keys() <= METHOD_MEMBERS
        assert method["paramStructure"] in {"by-position", "by-name", "either"}
        flags = [param["required"] for param in method["params"]]
        assert flags == sorted(flags, reverse=True), "optional params come last"
        for content in (*method["params"], method["result"]):
            assert content["name"]
            jsonschema_rs.meta.validate(content["schema"])
        for error in method["errors"]:
            assert isinstance(error["code"], int)
            assert error["message"]


def test_examples_fit_their_schemas(document: dict[str, Any]) -> None:
    for method in resolved(document, document["methods"]):
        schemas = {param["name"]: param["schema"] for param in method["params"]}
        for example in method.get("examples", ()):
            for param in example["params"]:
                jsonschema_rs.validate(schemas[param["name"]], param["value"])
            jsonschema_rs.validate(method["result"]["schema"], example["result"]["value"])


def examples(document: dict[str, Any]) -> Iterator[tuple[str, str, list[Any], Any]]:
    for method in document["methods"]:
        for example in method.get("examples", ()):
            params = [param["value"] for param in example["params"]]
            yield method["name"], method["paramStructure"], params, example


@pytest.mark.parametrize("prefix", ["chain", "linea"])
def test_examples_are_answered_as_written(
    prefix: str, document: dict[str, Any], tmp_path: Path
) -> None:
    ours = [each for each in examples(document) if each[0].startswith((prefix, "linewatch"))]
    assert ours
    ours.sort(key=lambda each: "saveRejected" not in each[0])
    with a_documented_server(tmp_path) as address, a_socket(address) as socket:
        subscription = ""
        for name, structure, params, example in ours:
            given: Any = [subscription] if name == "linewatch_unsubscribe" else params
            if structure == "either" and name != "linewatch_unsubscribe":
                given = {param["name"]: param["value"] for param in example["params"]}
            reply = exchange(socket, a_call(name, given))
            if name == "linewatch_subscribe":
                subscription = reply["result"]
                assert SUBSCRIPTION.fullmatch(subscription)
            else:
                assert reply == {"jsonrpc": "2.0", "id": 1, "result": example["result"]["value"]}


def test_answers_of_every_kind_fit_their_schemas(document: dict[str, Any], address: str) -> None:
    with a_socket(address) as socket:
        for method in resolved(document, document["methods"]):
            if "count" not in method["name"]:
                continue
            for by in method["params"][0]["schema"]["enum"]:
                reply = exchange(socket, a_call(method["name"], [by]))
                jsonschema_rs.validate(method["result"]["schema"], reply["result"])


def test_discovery_takes_no_params(address: str) -> None:
    reply = plain_http.post(f"http://{address}/v3/{KEY}", json=a_call("rpc.discover", ["x"])).json()

    assert reply["error"]["code"] == -32602
