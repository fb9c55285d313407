"""Two transports of one endpoint: the best one is used, left when it fails, and returned to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from dashboard.domain.health.transport_state import Transport, TransportState
from dashboard.errors import UpstreamError, UpstreamRefused, UpstreamThrottled, UpstreamUnavailable
from dashboard.upstream.exclusion import ExclusionClient
from tests.builders import seconds
from tests.fake_clock import FakeClock
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker, fault
from tests.unit.upstream.scripted_exclusion import hashes, single_or_batch, summary, truth

RIGHT = ["null", "record"] * 10
DOWN = UpstreamUnavailable("devnet test endpoint: no answer: cannot connect")


class Endpoint:
    """Both transports of one endpoint, on a clock that passes as it is told to."""

    def __init__(
        self,
        over_websocket: Callable[[list[Call]], Any] = truth,
        over_http: Callable[[list[Call]], Any] = truth,
    ) -> None:
        self.clock = FakeClock()
        self.websocket_answers, self.http_answers = over_websocket, over_http
        self.websocket = ScriptedAsker(self._over_websocket, "ws")
        self.http = ScriptedAsker(self._over_http)
        self.kept: dict[Transport, TransportState] = {}
        self.client = self.a_client()

    def a_client(self) -> ExclusionClient:
        """Return a new client that knows what an earlier one found out."""
        return ExclusionClient(
            self.websocket,
            "chain",
            second=self.http,
            known=self.kept.values(),
            keep=lambda state: self.kept.update({state.transport: state}),
            elapsed=self.clock.elapsed,
        )

    def _over_websocket(self, calls: list[Call]) -> Any:  # noqa: ANN401 - as the test has it
        return self.websocket_answers(calls)

    def _over_http(self, calls: list[Call]) -> Any:  # noqa: ANN401 - as the test has it
        return self.http_answers(calls)

    async def ask(self) -> tuple[int, int]:
        """Ask about twenty hashes; return the requests over WebSocket and over HTTP."""
        before = len(self.websocket.asked), len(self.http.asked)
        assert summary(await self.client.ask(hashes(20))) == RIGHT
        return len(self.websocket.asked) - before[0], len(self.http.asked) - before[1]


def refusing_batches(calls: list[Call]) -> Any:  # noqa: ANN401 - one reply or a fault
    return truth(calls)[0] if len(calls) == 1 else fault(-32600)


def raising(error: UpstreamError) -> Callable[[list[Call]], Any]:
    return lambda _: error


async def test_websocket_is_preferred_where_both_take_batches() -> None:
    assert await Endpoint().ask() == (1, 0)


@pytest.mark.parametrize("error", [DOWN, UpstreamRefused("devnet test endpoint: HTTP 404")])
async def test_failing_websocket_is_left_in_the_same_round_and_returned_to(
    error: UpstreamError,
) -> None:
    endpoint = Endpoint(raising(error))

    fallen_back = await endpoint.ask()
    resting = await endpoint.ask()
    endpoint.websocket_answers = truth
    endpoint.clock.wait(seconds(11))
    returned = await endpoint.ask()

    assert fallen_back[1] == 1
    assert resting == (0, 1)
    assert returned == (1, 0)


async def test_websocket_that_refuses_connections_for_their_number_is_left_too() -> None:
    endpoint = Endpoint(raising(UpstreamThrottled("HTTP 429")), single_or_batch(truth))

    answers = [summary(await endpoint.client.ask(hashes(1))) for _ in range(2)]

    assert answers == [["null"]] * 2
    assert (len(endpoint.websocket.asked), len(endpoint.http.asked)) == (1, 2)


async def test_account_that_is_throttled_is_asked_over_no_other_transport() -> None:
    endpoint = Endpoint(single_or_batch(truth), single_or_batch(truth))
    await endpoint.client.ask(hashes(1))
    endpoint.websocket_answers = raising(UpstreamThrottled("HTTP 429"))

    answers = await endpoint.client.ask(hashes(1))

    assert summary(answers) == ["throttled"]
    assert endpoint.http.asked == []


async def test_websocket_that_stays_down_is_tried_ever_less_often() -> None:
    endpoint = Endpoint(raising(DOWN))

    for _ in range(60):
        await endpoint.ask()
        endpoint.clock.wait(seconds(10))

    assert len(endpoint.websocket.asked) <= 7


async def test_http_batches_come_before_single_requests_over_websocket() -> None:
    endpoint = Endpoint(refusing_batches)
    await endpoint.ask()

    assert await endpoint.ask() == (0, 1)


async def test_single_requests_go_over_websocket_where_nobody_takes_batches() -> None:
    endpoint = Endpoint(refusing_batches, refusing_batches)
    await endpoint.ask()

    assert await endpoint.ask() == (20, 0)


async def test_what_was_found_out_outlives_a_restart() -> None:
    ten = single_or_batch(
        lambda calls: truth(calls) if len(calls) <= 10 else UpstreamRefused("HTTP 413")
    )
    endpoint = Endpoint(raising(DOWN), ten)
    await endpoint.client.ask(hashes(400))
    endpoint.http.asked.clear()
    endpoint.client = endpoint.a_client()
    await endpoint.ask()

    assert [len(calls) for calls in endpoint.http.asked] == [10, 10]
    assert endpoint.kept[Transport.HTTP].in_words() == (
        "HTTP: up to 10 hashes in each request (HTTP 413)"
    )
    assert endpoint.kept[Transport.WEBSOCKET].in_words() == (
        "WebSocket: not used now (devnet test endpoint: no answer: cannot connect)"
    )


async def test_nothing_new_is_kept_once_the_endpoint_is_known() -> None:
    endpoint = Endpoint()
    await endpoint.ask()
    endpoint.kept.clear()
    await endpoint.ask()

    assert endpoint.kept == {}


async def test_round_ends_where_both_transports_fail() -> None:
    endpoint = Endpoint(raising(DOWN), raising(DOWN))

    answers = await endpoint.client.ask(hashes(2000))

    assert summary(answers) == ["unavailable"] * 2000
    assert [len(calls) for calls in endpoint.websocket.asked] == [1000]
    assert [len(calls) for calls in endpoint.http.asked] == [1000, 1]  # perhaps one hash hangs


async def test_hash_at_which_both_transports_hang_leaves_the_others_their_answers() -> None:
    endpoint = Endpoint()

    def hanging(calls: list[Call]) -> Any:  # noqa: ANN401 - replies or an error
        if any(int(call["params"][0], 16) == 7 for call in calls):
            endpoint.clock.wait(timedelta(seconds=30))
            return DOWN
        return single_or_batch(truth)(calls)

    endpoint.websocket_answers = endpoint.http_answers = hanging
    began = endpoint.clock.elapsed()
    answers = summary(await endpoint.client.ask(hashes(20)))

    assert answers == [*RIGHT[:6], "unavailable", *RIGHT[7:]]
    assert endpoint.clock.elapsed() - began == timedelta(seconds=90)


async def test_third_of_failing_items_leaves_a_ninth_after_the_same_round() -> None:
    def failing(calls: list[Call]) -> list[Any]:
        return [
            fault(-32000, calls[place]) if calls[place]["id"] % 3 == 0 else each
            for place, each in enumerate(truth(calls))
        ]

    endpoint = Endpoint(failing)
    answers = await endpoint.client.ask(hashes(900))

    failed = summary(answers).count("unavailable")
    assert 90 <= failed <= 110
    assert len(endpoint.websocket.asked) == 2


async def test_slow_endpoint_keeps_its_large_batches() -> None:
    endpoint = Endpoint()

    def slowly(calls: list[Call]) -> Any:  # noqa: ANN401 - replies
        endpoint.clock.wait(timedelta(seconds=2))
        return truth(calls)

    endpoint.websocket_answers = slowly
    answers = await endpoint.client.ask(hashes(4000))

    assert summary(answers) == ["null", "record"] * 2000
    assert [len(calls) for calls in endpoint.websocket.asked] == [1000] * 4


async def test_batch_that_is_not_answered_in_time_becomes_smaller() -> None:
    endpoint = Endpoint()

    def late(calls: list[Call]) -> Any:  # noqa: ANN401 - replies or an error
        if len(calls) <= 200:
            return truth(calls)
        endpoint.clock.wait(timedelta(seconds=10))
        return UpstreamUnavailable("devnet test endpoint: no answer within 10 s")

    client = ExclusionClient(ScriptedAsker(late), "chain", elapsed=endpoint.clock.elapsed)
    in_parts = await client.ask(hashes(1000))
    answers = await client.ask(hashes(1000))

    assert summary(in_parts) == summary(answers) == ["null", "record"] * 500
    assert client.batch_size < 1000
