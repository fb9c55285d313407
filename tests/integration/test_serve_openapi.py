"""The OpenAPI document: valid, and true of what is answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema_rs import validator_for

from dashboard.domain.health.observation import FEE_OPERATIONS
from dashboard.domain.secret import Secret
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.node import NodeClient
from dashboard.upstream.node_failover import NodeStatus
from tests.integration.running_server import (
    KEY,
    NETWORK,
    SECRET,
    a_store,
    an_api,
    services_of,
    serving,
)
from tests.unit.serve.scripted_follower import ScriptedFollower
from tests.unit.upstream.scripted_asker import ScriptedAsker
from tests.waiting import PATIENCE, eventually


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with an_api(tmp_path_factory.mktemp("serve")) as client:
        eventually(lambda: client.get("/ready").status_code == 200)
        yield client


def test_document_is_valid(api: httpx.Client) -> None:
    import schemathesis  # noqa: PLC0415 - it takes seconds, in each worker

    document = api.get("/openapi.json").json()

    schemathesis.openapi.from_dict(document).validate()

    assert document["openapi"] == "3.1.0"


@pytest.mark.parametrize("operation", sorted(FEE_OPERATIONS))
def test_answer_and_example_fit_the_schema_of_their_operation(
    api: httpx.Client, operation: str
) -> None:
    document = api.get("/openapi.json").json()
    answers = [
        api.get(f"/v3/{KEY}/networks/{NETWORK}/{operation}"),
        api.get(f"/networks/{NETWORK}/{operation}", auth=(KEY, SECRET)),
    ]

    check = _validator(document, operation[0].upper() + operation[1:])

    assert [answer.status_code for answer in answers] == [200, 200]
    for answer in answers:
        check.validate(answer.json())
    response = document["paths"][f"/networks/{{network_id}}/{operation}"]["get"]["responses"]["200"]
    check.validate(response["content"]["application/json"]["examples"]["current"]["value"])


def test_readiness_fits_its_schema_where_a_network_has_several_nodes(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        dependencies = services_of(store)
        follower = dependencies.networks[0].follower
        assert isinstance(follower, ScriptedFollower)
        follower.node_statuses = (a_node_status("first"), a_node_status("second"))
        with (
            serving(dependencies) as address,
            httpx.Client(base_url=f"http://{address}", timeout=PATIENCE) as api,
        ):
            document, ready = api.get("/openapi.json").json(), api.get("/ready").json()

    assert [each["node"] for each in ready["nodes"]["devnet"]] == ["first", "second"]
    _validator(document, "Health").validate(ready)


def a_node_status(name: str) -> NodeStatus:
    """Return a node that nobody asks."""
    asker = ScriptedAsker(list)
    asker.endpoint = Endpoint(name, Secret("http://127.0.0.1:1"))
    return NodeStatus(NodeClient(asker))


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/v3/{KEY}/networks/1/busyThreshold", 400),
        (f"/v3/wrong/networks/{NETWORK}/busyThreshold", 401),
        (f"/networks/{NETWORK}/busyThreshold", 401),
    ],
)
def test_error_fits_its_schema_and_is_documented(api: httpx.Client, path: str, status: int) -> None:
    document = api.get("/openapi.json").json()
    answer = api.get(path)

    _validator(document, "Error").validate(answer.json())

    assert answer.status_code == status
    assert (
        str(status) in document["paths"]["/networks/{network_id}/busyThreshold"]["get"]["responses"]
    )


def test_document_answers_head_and_options(api: httpx.Client) -> None:
    assert api.head("/openapi.json").headers["content-type"] == "application/json"
    assert api.options("/openapi.json").headers["allow"] == "GET, HEAD, OPTIONS"
    assert api.delete("/openapi.json").status_code == 405


def _validator(document: dict[str, Any], schema: str) -> Any:  # noqa: ANN401 - the library types its validators by draft
    return validator_for(
        {"$ref": f"#/components/schemas/{schema}", "components": document["components"]}
    )
