"""The gas API: replies and errors of each path, in the documented forms."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from starlette.responses import Response

from dashboard.domain.people.access import ApiKey
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.serve.gas import FollowedNetwork, GasApi
from dashboard.serve.monitoring.health import node_problem
from tests.fake_clock import FakeClock
from tests.unit.serve.scripted_follower import ScriptedFollower

CALLER = ApiKey.of("tests", Secret("key"))
MINUTE = timedelta(minutes=1)


class Scene:
    """A gas API for network 1, read once, and the clock by which it answers."""

    def __init__(self, seconds: float = 2.0) -> None:
        self.clock = FakeClock()
        self.follower = ScriptedFollower(self.clock.now, seconds)
        self.fees = FollowedNetwork("testnet", self.follower, timedelta(seconds=1))
        self.api = GasApi({NetworkId(1): self.fees}, self.clock.now, MINUTE)

    async def read(self, *heads: int) -> Scene:
        for self.follower.next_head in heads:
            await self.fees.refresh()
        return self

    def ask(self, *segments: str, caller: ApiKey = CALLER) -> Response:
        answer = self.api.answer(segments, caller)
        headers = {name.decode(): value.decode() for name, value in answer.raw_headers}
        return Response(bytes(answer.body), answer.status_code, headers)


def error_of(response: Response) -> tuple[int, str]:
    body = json.loads(bytes(response.body))
    assert list(body) == ["statusCode", "message"]
    assert body["statusCode"] == response.status_code
    return body["statusCode"], body["message"]


@pytest.mark.parametrize(
    "text", ["2", "0x1", "01", "abc", "", "-1", "1.0", " 1", "1 ", "٣", "9" * 5_000]
)
async def test_text_that_is_no_served_chain_id_is_refused(text: str) -> None:
    status, message = error_of((await Scene().read(1)).ask(text, "busyThreshold"))

    assert status == 400
    assert message.endswith(" is not a supported chain id.")


async def test_unsupported_chain_is_named_as_the_hosted_api_names_it() -> None:
    response = (await Scene().read(1)).ask("6001", "suggestedGasFees")

    assert error_of(response) == (400, "'6001' is not a supported chain id.")


async def test_network_that_a_key_does_not_open_is_not_supported_for_it() -> None:
    stranger = ApiKey.of("stranger", Secret("other"), network_ids=[NetworkId(5)])

    assert error_of((await Scene().read(1)).ask("1", "busyThreshold", caller=stranger))[0] == 400


@pytest.mark.parametrize(
    "segments",
    [(), ("1",), ("1", ""), ("1", "gasPrices"), ("1", "busyThreshold", ""), ("1", "BUSYTHRESHOLD")],
)
async def test_unknown_operation_is_not_found(segments: tuple[str, ...]) -> None:
    assert error_of((await Scene().read(1)).ask(*segments))[0] == 404


async def test_network_whose_node_was_never_read_is_unavailable() -> None:
    response = Scene().ask("1", "busyThreshold")

    assert error_of(response)[0] == 503
    assert int(response.headers["retry-after"]) > 0


async def test_network_whose_window_is_being_read_says_how_far() -> None:
    scene = Scene()
    scene.follower.is_complete = False
    scene.follower.blocks_held, scene.follower.window_blocks = 200, 20_000
    response = (await scene.read(1)).ask("1", "suggestedGasFees")

    said = "The window of testnet is being read: 200 of 20,000 blocks."
    assert error_of(response) == (503, said)
    assert response.headers["retry-after"] == "1"
    assert node_problem(scene.fees, scene.clock.now(), MINUTE) == said


async def test_fees_are_told_until_they_are_too_old() -> None:
    scene = await Scene().read(1)

    scene.clock.wait(MINUTE)
    assert scene.ask("1", "busyThreshold").status_code == 200
    scene.clock.wait(timedelta(milliseconds=1))
    assert scene.ask("1", "busyThreshold").status_code == 503


@pytest.mark.parametrize(
    ("seconds", "heads", "max_age"), [(2.0, (1, 2), 2), (12.0, (1, 3), 12), (0.25, (1, 2), 1)]
)
async def test_reply_may_be_cached_for_one_block_time(
    seconds: float, heads: tuple[int, ...], max_age: int
) -> None:
    response = (await Scene(seconds).read(*heads)).ask("1", "busyThreshold")

    assert response.headers["cache-control"] == f"max-age={max_age}"
