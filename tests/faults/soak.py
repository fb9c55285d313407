"""The load of eight hours in 45 runs of a minute: memory and descriptors stay as they are."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from anyio.from_thread import BlockingPortal, start_blocking_portal

from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.tracking.transactions import track_all
from tests.bench.page_session import open_page
from tests.bench.pages_store import TWELVE
from tests.bench.processes import Server
from tests.builders import a_record
from tests.databases import new_sqlite_store
from tests.faults.faulty_mail_server import CountingMailServer
from tests.faults.hosted_apis import HostedApis, hosted_apis
from tests.faults.reporters import a_sent_report
from tests.faults.rows import Chance, Row, playing
from tests.faults.serve_processes import GET, KEY, SAVE, a_call, connected, post
from tests.installation import Installation, answers, command, new_installation
from tests.mail_server import mail_server
from tests.processes import Process, ProcessOptions, launching
from tests.waiting import eventually

_MINUTES: Final = 45
_USED: Final = 10
"""Minutes after which the worker starts anew, so that its housekeeping, at the start and then once
an hour, meets a store that is in use: with an empty one it takes 3 MB less."""

_WARM: Final = 25
"""Minutes after which nothing may grow any more. Each page was drawn by each session after 15; the
caches of SQLite, which add up to 12 MB in the worker, were at 5 MB then and at 8 MB after 20."""

_COMPARED: Final = 5
_GROWTH: Final = 1.05
"""More of the memory of a warm process is growth. A leak of a kilobyte for each refresh of a page
is seen: that is 50 MB in the minutes that are left; so is one of 160 bytes for each answer."""

_MORE_DESCRIPTORS: Final = 5
"""Streamlit keeps a page that was left for two minutes, with three descriptors, so that more are
open where a minute of load passes in a minute than on a busy machine. What is lost stays."""

_FIRST: Final = TWELVE[0].network_id
_PATHS: Final = ("", "rejections", "tracked", "fees", "alerts", "health", f"?network={_FIRST}")
_SETTINGS: Final = f"""\
[devnet]
mode = "off"
[poll]
gas_period = "375ms"
history_period = "5600ms"
threshold_period = "5600ms"
exclusion_tick = "100ms"
calls_per_transaction = 2000
[serve]
default_network_id = {_FIRST}
requests_per_second = 0
[serve.keys.soak]
key = "{KEY}"
[mail]
recipients = ["oncall@example.org"]
sender = "linewatch@example.org"
smtp_host = "localhost"
security = "none"
"""
"""The periods of the defaults, divided by the eleven hours that an hour of the soak stands for."""


@dataclass(frozen=True, slots=True)
class _Load:
    """What a run brings: by default that of 640 s, in a minute.

    Each of the open pages refreshes so often, every five seconds by default, and is then left for
    another. `batches` are look-ups of a hundred hashes each.
    """

    seconds: float = 60.0
    pages: int = 20
    refreshes: int = 128
    tracked: int = 60
    rejected: int = 20
    reports: int = 100
    batches: int = 200


class _Figures(NamedTuple):
    """What a process holds: bytes of memory, and descriptors."""

    resident: int
    descriptors: int

    def __str__(self) -> str:
        return f"{self.resident / 1e6:.1f} MB, {self.descriptors} descriptors"


@dataclass
class _Soak:
    """Worker, serve and pages at work, with the figures of each after every minute."""

    installation: Installation
    hosted: HostedApis
    store: Store
    load: _Load
    start: Callable[[str], Process]
    portal: BlockingPortal
    roles: dict[str, Process] = field(default_factory=dict)
    figures: dict[str, list[_Figures]] = field(default_factory=lambda: defaultdict(list))
    nonces: Iterator[int] = field(default_factory=lambda: count(1))

    def pass_minute(self, chance: Chance) -> None:
        """Let everything be used for a minute, then see what each process holds."""
        being_read = self.portal.start_task_soon(self._read_pages, chance.number)
        begun = monotonic()
        self._track(chance)
        for turn in range(self.load.batches):
            self._call_serve(chance, turn)
            due = begun + self.load.seconds * turn / self.load.batches
            self.portal.call(asyncio.sleep, max(0.0, due - monotonic()))
        being_read.result()
        self._check()
        if len(self.figures["worker"]) == _USED:
            self.stop("worker")
            self.roles["worker"] = self.start("worker")

    def stop(self, name: str) -> None:
        process = self.roles[name]
        assert process.terminate() == 0, process.last_lines()

    def _track(self, chance: Chance) -> None:
        hashes = [TxHash(chance.randbytes(TxHash.LENGTH)) for _ in range(self.load.tracked)]
        requests = [TrackRequest(each, (_FIRST,), Remarks(label=str(each)[:14])) for each in hashes]
        now = datetime.now(UTC).replace(microsecond=0)
        with self.store.write() as connection:
            track_all(connection, requests, now)
        for each in hashes[: self.load.rejected]:
            self.hosted.reject(a_record(tx_hash=each, timestamp=now))

    def _call_serve(self, chance: Chance, turn: int) -> None:
        """Look up hashes over a connection of its own, and report now and then."""
        hashes = [f"0x{chance.randbytes(32).hex()}" for _ in range(100)]
        with connected(self.installation.serve_port) as connection:
            post(connection, [a_call(GET, [each], place) for place, each in enumerate(hashes)])
            if turn * self.load.reports // self.load.batches != (
                (turn + 1) * self.load.reports // self.load.batches
            ):
                post(connection, a_call(SAVE, a_sent_report(next(self.nonces)).params, 1))

    async def _read_pages(self, number: int) -> None:
        """Open pages, let them refresh in turn, and close them."""
        begun, places = monotonic(), range(self.load.pages)
        await asyncio.gather(*(self._read_page(number + each, each, begun) for each in places))

    async def _read_page(self, number: int, place: int, begun: float) -> None:
        async with open_page(f"{self.installation.pages}/{_PATHS[number % len(_PATHS)]}") as page:
            await page.run()
            for turn in range(self.load.refreshes):
                part = (turn + place / self.load.pages) / self.load.refreshes
                await asyncio.sleep(max(0.0, begun + self.load.seconds * part - monotonic()))
                for fragment in [*page.fragments] or [""]:
                    await page.run(fragment)

    def _check(self) -> None:
        """Print what each process holds, and compare it with what it held when it was warm."""
        for name, process in self.roles.items():
            assert not process.ended.is_set(), f"{name} ended: {process.last_lines()}"
            memory = Server(name, 0, process.pid, 0.0).memory()
            self.figures[name].append(_Figures(memory.resident, _descriptors(process)))
        minute = len(self.figures["pages"])
        said = "; ".join(f"{name} {each[-1]}" for name, each in self.figures.items())
        print(f"soak, minute {minute}: {said}", flush=True)  # noqa: T201 - published beside the table
        if minute > _WARM:
            for name, each in self.figures.items():
                self._compare(name, each[-1], each[_WARM - _COMPARED : _WARM])

    def _compare(self, name: str, now: _Figures, warm: list[_Figures]) -> None:
        """Compare with the most of the warm minutes; descriptors once pages that were left end."""
        was = _Figures(*(max(values) for values in zip(*warm, strict=True)))
        grown = f"{name} grew: from {was} to {now}"
        assert now.resident <= _GROWTH * was.resident, grown
        most = was.descriptors + _MORE_DESCRIPTORS
        eventually(lambda: _descriptors(self.roles[name]) <= most, what=f"an end of this: {grown}")


def _descriptors(process: Process) -> int:
    return len([*Path(f"/proc/{process.pid}/fd").iterdir()])


@contextmanager
def _soaking(home: Path, load: _Load) -> Iterator[_Soak]:
    """Yield an installation of twelve networks with everything around it."""
    url = new_sqlite_store(home / "linewatch.sqlite")
    with (
        hosted_apis() as hosted,
        mail_server(CountingMailServer()) as post_office,
        launching() as launcher,
        open_store(url) as store,
        start_blocking_portal() as portal,
    ):
        settings = f"{_SETTINGS}smtp_port = {post_office}\n{_networks(hosted.port)}"
        (home / "linewatch.toml").write_text(settings, encoding="utf-8")
        installation = new_installation(home)
        environment = installation.environment()

        def start(name: str) -> Process:
            options = ProcessOptions(environment, home / f"{name}.log")
            return launcher.program(command(name), options)

        soak = _Soak(installation, hosted, store, load, start, portal)
        soak.roles.update((name, start(name)) for name in ("worker", "serve", "pages"))
        for address in (f"{installation.pages}/_stcore/health", f"{installation.serve}/ready"):
            eventually(partial(answers, address), what=f"an answer of {address}")
        yield soak
        for name in soak.roles:
            soak.stop(name)


def _networks(port: int) -> str:
    api = f'{{ url = "http://127.0.0.1:{port}", key = "of-the-soak" }}'
    return "\n".join(
        f"[networks.chain{each.network_id}]\nnetwork_id = {each.network_id}\n"
        f'title = "{each.name}"\nexclusion = {api}\ngas = {api}\n'
        for each in TWELVE
    )


_BRIEF: Final = _Load(
    seconds=0.5, pages=3, refreshes=2, tracked=4, rejected=2, reports=3, batches=4
)

SOAK: Final = Row(
    name="soak",
    promise=(
        "the load of eight hours in 45 minutes, a minute each run: `worker` polls twelve networks "
        "and mails, `serve` is asked and reported to, 20 pages are open, refresh and are left for "
        "others. In the last 20 of its 45 runs no process has more than 5 % more memory, or five "
        "descriptors more, than when it was warm"
    ),
    short=2,
    full=_MINUTES,
    stage=playing(partial(_soaking, load=_Load()), _Soak.pass_minute, lives=_MINUTES),
    short_stage=playing(partial(_soaking, load=_BRIEF), _Soak.pass_minute, lives=_MINUTES),
)
