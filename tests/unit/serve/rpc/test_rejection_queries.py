"""The archive's methods bound what one batch takes of the server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.domain.secret import Secret
from dashboard.serve.dependencies import ServeServices
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.rpc.rejection_queries import COUNT, Archive
from dashboard.wire.jsonrpc_errors import RpcFault
from tests.integration.running_server import a_store, services_of

CALLER = ApiKey.of("tests", Secret("key"))


@pytest.fixture
def services(tmp_path: Path) -> Iterator[ServeServices]:
    with a_store(tmp_path) as store:
        yield services_of(store)


def test_batch_that_takes_long_is_answered_in_part_and_told_so(services: ServeServices) -> None:
    seconds = itertools.count(step=2).__next__
    count = Archive(services, seconds).methods()[COUNT].run

    outcomes = count([["module"]] * 5, CALLER)

    refused = [isinstance(each, RpcFault) for each in outcomes]
    assert refused == [False, False, True, True, True]


def test_batch_of_questions_that_cannot_be_read_refuses_each_for_its_own_reason(
    services: ServeServices,
) -> None:
    outcomes = Archive(services).methods()[COUNT].run([["colour"], ["module"]], CALLER)

    assert isinstance(outcomes[0], RpcFault)
    assert outcomes[0].code == -32602
    assert not isinstance(outcomes[1], RpcFault)
