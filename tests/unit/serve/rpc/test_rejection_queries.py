"""Queries of rejections bound what one batch costs the server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.domain.people.access import ApiKey
from dashboard.domain.secret import Secret
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.rpc.rejection_queries import COUNT, RejectionQueries
from dashboard.wire.jsonrpc import RpcError
from tests.integration.running_server import a_store, services_of

CALLER = ApiKey.of("tests", Secret("key"))


@pytest.fixture
def dependencies(tmp_path: Path) -> Iterator[ServeDependencies]:
    with a_store(tmp_path) as store:
        yield services_of(store)


def test_batch_that_takes_long_is_answered_in_part_and_told_so(
    dependencies: ServeDependencies,
) -> None:
    seconds = itertools.count(step=2).__next__
    count = RejectionQueries(dependencies, seconds).methods()[COUNT].run

    outcomes = count([["module"]] * 5, CALLER)

    refused = [isinstance(each, RpcError) for each in outcomes]
    assert refused == [False, False, True, True, True]


def test_batch_of_questions_that_cannot_be_read_refuses_each_for_its_own_reason(
    dependencies: ServeDependencies,
) -> None:
    outcomes = RejectionQueries(dependencies).methods()[COUNT].run([["colour"], ["module"]], CALLER)

    assert isinstance(outcomes[0], RpcError)
    assert outcomes[0].code == -32602
    assert not isinstance(outcomes[1], RpcError)
