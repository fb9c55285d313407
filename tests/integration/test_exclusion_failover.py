"""A real worker and two exclusion endpoints: one dies and returns, then both are gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec.structs import replace

from dashboard.application.source_health import NetworkHealth, endpoint_words, read_networks
from dashboard.domain.health.coverage import Gap, GapCause, Watched
from dashboard.domain.health.observation import ExclusionAnswer, Operation
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.poll.jobs import Periods, WatchedNetwork, run_polling_worker
from dashboard.poll.lease import Clocks, Lease
from dashboard.settings import Settings, load_settings
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.coverage import gaps
from dashboard.store.rejections.counts import count_rejections
from dashboard.store.tracking.transactions import track
from dashboard.upstream.exclusion_endpoints import ExclusionEndpoints
from dashboard.wire.exclusion import encode_record
from dashboard.wiring.clients import open_clients
from dashboard.wiring.networks import networks_of
from dashboard.wiring.page_settings import profile_of
from tests.builders import a_hash, a_record
from tests.integration.faulty_upstreams import Upstream, an_upstream, replying, silent
from tests.integration.whole_workers import GAS_PERIODS, a_post_office, a_watcher
from tests.waiting import eventually_async

TIMES = 30
"""How much faster the clocks go than time: two minutes without an answer are four seconds."""

STARTED, BEGAN = datetime.now(UTC), monotonic()
BRIEF = timedelta(milliseconds=50)


def elapsed() -> timedelta:
    return timedelta(seconds=TIMES * (monotonic() - BEGAN))


CLOCKS = Clocks(lambda: STARTED + elapsed(), elapsed)


class Endpoints:
    """Two endpoints on loopback, each of which may be killed and come back."""

    def __init__(self) -> None:
        self.records: dict[str, Any] = {}
        self.running: dict[str, tuple[Upstream, AsyncExitStack]] = {}
        self.ports = {"first": 0, "second": 0}

    async def start(self, name: str) -> None:
        stack = AsyncExitStack()
        upstream = await stack.enter_async_context(
            an_upstream(self._answer, None, self.ports[name])
        )
        self.ports[name], self.running[name] = upstream.port, (upstream, stack)

    async def kill(self, *names: str) -> None:
        for name in names:
            _, stack = self.running.pop(name)
            await stack.aclose()

    def asked(self, name: str) -> int:
        """Return how many requests one got since it runs."""
        return len(self.running[name][0].requests) if name in self.running else 0

    def forget(self) -> None:
        for upstream, _ in self.running.values():
            upstream.requests.clear()

    async def _answer(self, upstream: Upstream, writer: asyncio.StreamWriter) -> None:
        call = json.loads(upstream.requests[-1].partition(b"\r\n\r\n")[2])
        calls = call if isinstance(call, list) else [call]
        replies = [
            {"jsonrpc": "2.0", "id": each["id"], "result": self.records.get(each["params"][0])}
            for each in calls
        ]
        body = json.dumps(replies if isinstance(call, list) else replies[0]).encode()
        await replying("200 OK", body)(upstream, writer)


class Scene:
    """What a worker on these endpoints stored."""

    def __init__(self, store: Store, endpoints: Endpoints, settings: Settings) -> None:
        self.store, self.endpoints, self.settings = store, endpoints, settings
        [self.network] = networks_of(settings)

    @asynccontextmanager
    async def working(self, maildir: Path) -> AsyncIterator[None]:
        """Let the real worker poll."""
        async with open_clients(self.settings, attempts=1, store=self.store) as clients:
            asker = ExclusionEndpoints(clients.exclusions(self.network), elapsed)
            watched = WatchedNetwork(self.network.network_id, GAS_PERIODS, exclusion=asker)
            watcher = replace(
                a_watcher(self.store, a_post_office(self.store, maildir), watched),
                lease=Lease(self.store, "worker", "worker 1", timedelta(days=10), elapsed),
                periods=Periods(exclusion_tick=BRIEF, conditions=BRIEF, delivery=BRIEF),
                clocks=CLOCKS,
            )
            stop = asyncio.Event()
            worker = asyncio.create_task(run_polling_worker(watcher, stop))
            yield
            stop.set()
            await worker
            await asker.aclose()

    def health(self) -> NetworkHealth:
        profile = profile_of(self.network, self.settings)
        limits = {profile.network_id: profile.line_limits}
        with self.store.read() as connection:
            [found] = read_networks(connection, [profile], limits, CLOCKS.now())
        return found

    def said(self) -> str:
        """Return what Health says of the endpoints."""
        found = {each.operation: each for each in self.health().operations}
        return " ".join(endpoint_words(found[Operation.EXCLUSION_STATUS], CLOCKS.now()))

    def unanswered(self) -> Sequence[Gap]:
        with self.store.read() as connection:
            found = gaps(connection, [self.network.network_id])
        return [
            each
            for each in found
            if each.watched is Watched.REJECTIONS and each.cause is not GapCause.NOT_WATCHED
        ]

    def rejections(self) -> int:
        with self.store.read() as connection:
            return count_rejections(connection, RejectionFilter())


async def test_second_endpoint_is_asked_until_the_first_returns_and_gaps_have_an_end(
    store: Store, tmp_path: Path
) -> None:
    endpoints = Endpoints()
    for name in endpoints.ports:
        await endpoints.start(name)
    scene = Scene(store, endpoints, configured(tmp_path, endpoints))
    with store.write() as connection:
        network_id = scene.network.network_id
        track(connection, TrackRequest(a_hash(1), (network_id,)), CLOCKS.now())

    async with scene.working(tmp_path / "mails"):
        await eventually_async(lambda: endpoints.asked("first") > 2, "a poll")
        assert endpoints.asked("second") == 0
        await endpoints.kill("first")
        await _fails_over(scene)
        await endpoints.start("first")
        await _returns(scene)
        await endpoints.kill("first", "second")
        await eventually_async(lambda: len(scene.unanswered()) == 1, "a gap")
        [lasting] = scene.unanswered()
        await endpoints.start("second")
        await eventually_async(lambda: scene.unanswered()[0].ends_at is not None, "its end")

    [gap] = scene.unanswered()
    assert (lasting.ends_at, gap.begins_at) == (None, lasting.begins_at)
    assert "first" in gap.reason
    await endpoints.kill("second")


async def test_look_up_leaves_a_websocket_that_hangs_for_http_before_its_time_is_up(
    store: Store, tmp_path: Path
) -> None:
    endpoints = Endpoints()
    await endpoints.start("first")
    path = tmp_path / "own.toml"
    async with an_upstream(silent) as hanging:
        path.write_text(
            "[pages]\nlookup_deadline = '2s'\n[networks.mine]\nnetwork_id = 31337\n"
            f"exclusion = {{ url = 'http://127.0.0.1:{endpoints.ports['first']}',"
            f" websocket_url = 'ws://127.0.0.1:{hanging.port}' }}\n",
            encoding="utf-8",
        )
        settings = load_settings({"LINEWATCH_CONFIG": str(path), "LINEWATCH_HOME": str(tmp_path)})
        [network] = networks_of(settings)
        async with open_clients(settings, store=store, for_people=True) as clients:
            asker = clients.exclusion(network)
            assert asker is not None
            answers = await asker.ask([a_hash(1)])

    assert list(answers) == [ExclusionAnswer(a_hash(1))]
    await endpoints.kill("first")


async def _fails_over(scene: Scene) -> None:
    """Wait until the second endpoint is asked, and Health says it."""
    await eventually_async(lambda: scene.endpoints.asked("second") > 2, "fail-over")
    await eventually_async(lambda: "second is asked instead: answered" in scene.said(), "words")
    assert "first has not answered since" in scene.said()
    [(headline, _, advice)] = scene.health().left_endpoints(CLOCKS.now())
    assert "the exclusion endpoint first has not answered since" in headline
    assert "another endpoint answers" in advice


async def _returns(scene: Scene) -> None:
    """Wait until the first endpoint alone is asked again, and finds a rejection."""
    endpoints = scene.endpoints
    await eventually_async(lambda: endpoints.asked("first") > 3, "return")
    endpoints.forget()
    endpoints.records[str(a_hash(1))] = json.loads(encode_record(a_record(tx_hash=a_hash(1))))
    await eventually_async(lambda: scene.rejections() == 1, "a rejection")
    assert endpoints.asked("second") == 0
    assert "second stands by" in scene.said()
    assert list(scene.health().left_endpoints(CLOCKS.now())) == []


def configured(folder: Path, endpoints: Endpoints) -> Settings:
    """Return settings with both endpoints, asked in order."""
    first, second = (f"http://127.0.0.1:{port}" for port in endpoints.ports.values())
    path = folder / "own.toml"
    path.write_text(
        "[networks.mine]\nnetwork_id = 31337\n"
        f"exclusion = {{ name = 'first', url = '{first}' }}\n"
        f"exclusions = [{{ name = 'second', url = '{second}' }}]\n",
        encoding="utf-8",
    )
    return load_settings({"LINEWATCH_CONFIG": str(path), "LINEWATCH_HOME": str(folder)})
