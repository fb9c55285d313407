"""HTTP and WebSocket give the same answer, to the byte, to whatever message they both can carry.

Two servers with a store each and the same time: one is only asked over HTTP, the other only over a
WebSocket, so that a report is as new to the one as to the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.sync.client import ClientConnection, connect

from tests.conformance.generated_messages import Grammar
from tests.conformance.generated_params import ASKING
from tests.conformance.generated_reports import Reports
from tests.conformance.running_apis import Served, answer_over, apis

REPORTS = Reports()


@dataclass
class Twins:
    """Two servers that have seen the same messages."""

    over_http: Served
    socket: ClientConnection
    marks: Iterator[int]

    def answers(self, message: bytes) -> tuple[bytes | None, bytes | None]:
        """Return what HTTP and WebSocket answer; None for nothing."""
        response = self.over_http.post(message)
        assert response.status_code in {200, 204}
        return response.content or None, self.ask_socket(message)

    def ask_socket(self, message: bytes) -> bytes | None:
        """Send text, or bytes where they are none; what comes before the mark is the answer."""
        return answer_over(self.socket, message, f"mark {next(self.marks)}")


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    with (
        apis(tmp_path_factory.mktemp("http")) as over_http,
        apis(tmp_path_factory.mktemp("websocket")) as over_websocket,
        connect(over_websocket.ws_url, proxy=None) as socket,
    ):
        yield Twins(over_http, socket, count())


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    """Talk to one server both ways: cursors of two stores differ."""
    with (
        apis(tmp_path_factory.mktemp("both")) as served,
        connect(served.ws_url, proxy=None) as socket,
    ):
        yield Twins(served, socket, count())


@settings(max_examples=400)
@given(chance=st.randoms(use_true_random=False))
def test_websocket_gives_the_same_answer_as_http(twins: Twins, chance: Random) -> None:
    message = Grammar(chance, REPORTS).message()

    over_http, over_websocket = twins.answers(message)

    assert over_http == over_websocket, message


@settings(max_examples=200)
@given(chance=st.randoms(use_true_random=False))
def test_our_own_questions_have_the_same_answer_too(pair: Twins, chance: Random) -> None:
    message = Grammar(chance, REPORTS, ASKING).message()
    pair.over_http.post(message)  # what it reports is then no longer new

    over_http, over_websocket = pair.answers(message)

    assert over_http == over_websocket, message
