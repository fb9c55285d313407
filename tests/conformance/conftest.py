"""The running APIs that the conformance tests of one module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.running_apis import Served, apis


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with apis(tmp_path_factory.mktemp("serve")) as running:
        yield running
