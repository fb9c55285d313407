"""Two workers on PostgreSQL: one is killed, paused or cut off from it, and the other takes over."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from anyio.from_thread import start_blocking_portal
from sqlalchemy.engine import make_url

from dashboard.store.engine.leases import WORKER_LEASE, Holder, holder
from tests.databases import new_store
from tests.faults.database_line import DatabaseLine, nothing_happens
from tests.faults.delivery_promises import check_deliveries
from tests.faults.faulty_mail_server import CountingMailServer
from tests.faults.hosted_apis import nothing
from tests.faults.noted_writes import NotedWrites
from tests.faults.rows import Chance, Row, playing
from tests.faults.worker_process import WorkerSite, worker_site_on
from tests.mail_server import mail_server
from tests.processes import Process, ProcessOptions
from tests.waiting import PATIENCE, eventually, pause

_LEASE: Final = timedelta(seconds=2)
_TAKEOVER: Final = 1.5 * _LEASE
_STALE: Final = -1
"""The life, on its mail server, of a worker whose lease the other one has."""

_STANDS_BY: Final = "this worker stands by: another one"


class _Fault(NamedTuple):
    """What happens to the active worker, or to the one that stands by, and when."""

    kind: str
    moment: str
    is_of_active: bool = True


_FAULTS: Final = (
    _Fault("pause", "turn"),
    _Fault("cut", "question"),
    _Fault("kill", "question"),
    _Fault("pause", "question"),
    _Fault("cut", "turn"),
    _Fault("kill", "turn"),
    *(_Fault(each, "any") for each in ("pause", "cut", "kill")),
    *(_Fault(each, "turn", is_of_active=False) for each in ("pause", "cut", "kill")),
)
"""At a "turn" the worker has just begun to write; at a "question" it awaits upstream's answer."""


class _Worker:
    """A worker with a way to the database, a mail server and a log of its own."""

    def __init__(
        self, site: WorkerSite, name: str, line: DatabaseLine, post: CountingMailServer
    ) -> None:
        self._site, self.name, self.line, self.post = site, name, line, post
        self._log = site.home / f"{name}.log"
        query = {"application_name": name}
        url = make_url(site.url).set(host="127.0.0.1", port=line.port, query=query)
        self.variables = {
            **site.variables,
            "LINEWATCH_WORKER_LEASE": f"{_LEASE.total_seconds():g}s",
            "LINEWATCH_STORE_URL": url.render_as_string(hide_password=False),
        }
        self.pid = 0
        self.process: Process

    def start(self, life: int) -> None:
        self.post.life = life
        process_options = ProcessOptions(self.variables, self._log)
        self.process = self._site.launcher.linewatch(["worker"], process_options)
        self.pid = self.process.pid

    def times_stood_by(self) -> int:
        """Count how often it said that it stands by."""
        return self._log.read_text("utf-8").count(_STANDS_BY) if self._log.exists() else 0

    def stop(self) -> None:
        """Pause it, and wait until it is."""
        self.process.signal(signal.SIGSTOP)
        eventually(self._is_stopped, what=f"a pause of {self.name}")

    def _is_stopped(self) -> bool:
        state = Path(f"/proc/{self.pid}/stat").read_text("utf-8")
        return state.rpartition(")")[2].split()[0] == "T"


class Crew:
    """Two workers on one store, one of which is active."""

    def __init__(self, site: WorkerSite, workers: list[_Worker], writes: NotedWrites) -> None:
        self.site, self.workers, self.writes = site, workers, writes
        self._lives = count(1)
        for each in workers:
            self.start(each)

    def start(self, worker: _Worker) -> None:
        """Start a worker, and wait until it is active or stands by."""
        before = worker.times_stood_by()
        worker.start(next(self._lives))
        self.await_order(worker, before)

    def await_order(self, worker: _Worker, stood_by: int) -> None:
        """Wait until a worker has the lease, or knows that it has not."""

        def is_in_order() -> bool:
            assert not worker.process.ended.is_set(), worker.process.last_lines()
            return worker.times_stood_by() > stood_by or self.active() is worker

        eventually(is_in_order, what=f"that {worker.name} is active or stands by")
        worker.post.life = next(self._lives)

    def holder(self) -> Holder | None:
        """Return who has the lease."""
        with self.site.store.read() as connection:
            return holder(connection, WORKER_LEASE)

    def active(self) -> _Worker | None:
        """Return the worker that has the lease."""
        found = self.holder()
        pid = -1 if found is None else int(found.name.split("/")[1])
        return next((each for each in self.workers if each.pid == pid), None)

    def await_active(self) -> _Worker:
        """Return the worker that has the lease, once there is one."""
        eventually(lambda: self.active() is not None, what="an active worker")
        return self.active() or self.workers[0]

    def settle(self, worker: _Worker) -> None:
        """Wait until everything is mailed, and check it; what came twice is checked elsewhere."""
        self.site.wait_until_quiet(worker.process)
        found = self.site.found()
        once = replace(found, deliveries=Counter(dict.fromkeys(found.deliveries, 1)))
        check_deliveries(
            once, self.site.records, self.site.mailing.recipients, self.site.post.taken
        )
        self.site.check_life()

    def check_fenced(self) -> None:
        """See that neither worker wrote or mailed anything while the other one had the lease."""
        names = {each.name: each for each in self.workers}
        turns = self.writes.check_fenced(names)
        stale = [each for each in self.site.post.taken if each.life == _STALE]
        for mail in stale:
            before = [who for at, who in turns if at <= mail.at]
            mine = {each.name for each in self.workers if each.post.life == _STALE}
            assert before[-1] in mine, "a worker without the lease began a message"


def strike_one(crew: Crew, chance: Chance, *, is_timed: bool) -> None:
    """Let one fault happen while there is work; then the other worker does all of it."""
    fault, site = _FAULTS[chance.number % len(_FAULTS)], crew.site
    active = crew.await_active()
    (standby,) = (each for each in crew.workers if each is not active)
    victim, other = (active, standby) if fault.is_of_active else (standby, active)
    term = crew.holder()
    site.give_work(chance)
    strike = _Strike(crew, victim, fault)
    strike.happen(chance)
    if fault.is_of_active:
        eventually(lambda: crew.active() is other, what=f"a takeover by {other.name}")
        took = monotonic() - strike.struck_at
        assert not is_timed or took <= _TAKEOVER.total_seconds(), f"taken over after {took:.2f} s"
    else:
        pause(_TAKEOVER.total_seconds())
        assert not is_timed or crew.holder() == term, "a worker at work lost its lease"
    victim.post.life = _STALE
    sent, so_far = site.found().sent, len(site.post.taken)
    site.give_work(chance)
    crew.settle(other)
    strike.end(chance)
    crew.check_fenced()
    crew.settle(other)
    again = {each.message_id for each in site.post.taken[so_far:]} & sent
    assert not again, f"{len(again)} messages were marked as sent, and sent again"
    copies = Counter((each.message_id, each.to) for each in site.post.taken)
    assert max(copies.values()) <= 2, "a message came three times"


class _Strike:
    """One fault: from the moment when it happens to its end."""

    def __init__(self, crew: Crew, victim: _Worker, fault: _Fault) -> None:
        self._crew, self._victim, self._fault = crew, victim, fault
        self._stood_by = victim.times_stood_by()
        self._struck = threading.Event()
        self._is_over = threading.Event()
        self.struck_at = 0.0

    def happen(self, chance: Chance) -> None:
        """Let it happen at its moment."""
        match self._fault.moment:
            case "turn":
                self._victim.line.at_turn = self._once
            case "question":
                self._crew.site.hosted.reached = self._at_a_question
            case _:
                pause(chance.uniform(0, 0.5))
                self._once()
        assert self._struck.wait(PATIENCE), f"no moment for {self._fault}"

    def end(self, chance: Chance) -> None:
        """Let the worker go on, or another one in its place, and wait until it knows its lease."""
        victim = self._victim
        match self._fault.kind:
            case "kill":
                assert victim.process.ended.wait(PATIENCE), f"{victim.name} survives a kill"
                self._crew.start(victim)
                return
            case "pause":
                victim.process.signal(signal.SIGCONT)
                self._is_over.set()
            case _:
                victim.line.mend(is_new=chance.random() < 0.5)
        # A worker that stood by all the time does not say so again.
        self._crew.await_order(victim, self._stood_by if self._fault.is_of_active else -1)

    def _once(self) -> None:
        if self._struck.is_set():
            return
        self._victim.line.at_turn = nothing_happens
        self._crew.site.hosted.reached = nothing
        self.struck_at = monotonic()
        kind, victim = self._fault.kind, self._victim
        acts: dict[str, Callable[[], None]] = {
            "kill": partial(victim.process.signal, signal.SIGKILL),
            "pause": victim.stop,
            "cut": victim.line.cut,
        }
        acts[kind]()
        self._struck.set()

    def _at_a_question(self, moment: str) -> None:
        """Let it happen, and keep the answer from a worker that is paused until it goes on."""
        if moment == "question" and not self._struck.is_set():
            self._once()
            if self._fault.kind == "pause":
                assert self._is_over.wait(PATIENCE)


@contextmanager
def crew_at(home: Path) -> Iterator[Crew]:
    """Yield two workers at work, each behind a line of its own; both end in good order."""
    with ExitStack() as held:
        url = held.enter_context(new_store("postgresql", home))
        site = held.enter_context(worker_site_on(home, url))
        portal = held.enter_context(start_blocking_portal())
        post = CountingMailServer()
        post.taken = site.post.taken
        port = held.enter_context(mail_server(post))
        folder = make_url(url).query["host"]
        lines = [
            held.enter_context(
                portal.wrap_async_context_manager(DatabaseLine(f"{folder}/.s.PGSQL.5432").opened())
            )
            for _ in range(2)
        ]
        workers = [
            _Worker(site, "first", lines[0], site.post),
            _Worker(site, "second", lines[1], post),
        ]
        workers[1].variables["LINEWATCH_MAIL_SMTP_PORT"] = str(port)
        crew = Crew(site, workers, NotedWrites(url))
        yield crew
        for each in workers:
            assert each.process.terminate() == 0, each.process.last_lines()


TWO_WORKERS: Final = Row(
    name="two-workers",
    promise=(
        "one of two `worker` on PostgreSQL is killed, paused beyond its lease or cut off from the"
        " database, at any moment: the other takes over within one lease and a half, every "
        "rejection is stored once and mailed to everybody, *twice* only as below, and what the "
        "first one writes after its lease is refused"
    ),
    short=2,
    full=200,
    stage=playing(crew_at, partial(strike_one, is_timed=True), 2 * len(_FAULTS)),
    short_stage=playing(crew_at, partial(strike_one, is_timed=False), 2 * len(_FAULTS)),
)
