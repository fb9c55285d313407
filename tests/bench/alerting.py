"""An installation under a benchmark of alerts: real roles, an upstream, and who takes its mail."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar, cast

from aiosmtpd.smtp import SMTP, Envelope, Session
from sqlalchemy import func, select

from dashboard.devnet.genesis import DEVNET_ID
from dashboard.domain.quantity import TxHash
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.leases import WORKER_LEASE, holder
from dashboard.store.schema import notification_members
from tests.bench.processes import Server, cores, running
from tests.bench.rounds import WrongAnswerError
from tests.bench.setup import KEY, SECRET
from tests.faults.faulty_mail_server import hashes_in
from tests.faults.hosted_apis import HostedApis
from tests.installation import Installation, new_installation
from tests.mail_server import Inbox, mail_server
from tests.received_mail import read_mail
from tests.waiting import eventually

RECIPIENTS: Final = ("oncall@example.org", "others@example.org")
LONGEST_WAIT: Final = 900.0

Paced = TypeVar("Paced")

_SETTINGS: Final = f"""\
[devnet]
mode = "off"
[mail]
recipients = [{", ".join(f'"{each}"' for each in RECIPIENTS)}]
smtp_host = "127.0.0.1"
smtp_port = {{post}}
security = "none"
[serve.keys.benchmarks]
key = "{KEY}"
secret = "{SECRET}"
[networks.watched]
network_id = {DEVNET_ID}
exclusion = {{{{ url = "{{upstream}}", key = "{KEY}" }}}}
"""


class Postbox(Inbox):
    """Takes mails as they come, and reads them when nobody waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self._taken: list[tuple[float, Sequence[str], bytes]] = []
        self._read = 0
        self.count: Counter[str] = Counter()
        self.named: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.named_at: dict[tuple[str, str], float] = {}

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        """Note when a mail came."""
        content = cast("bytes", envelope.content)
        self._taken.append((time.perf_counter(), envelope.rcpt_tos, content))
        return "250 OK queued"

    def read_new(self) -> None:
        """Read what came since the last time: who was told of which transactions, and when."""
        for at, recipients, content in self._taken[self._read :]:
            self._read += 1
            hashes = hashes_in(read_mail(content))
            for to in recipients:
                self.count[to] += 1
                self.named[to].update(hashes)
                for each in hashes:
                    self.named_at.setdefault((to, each), at)

    def has_first_mails(self) -> bool:
        """Whether everybody got a mail."""
        self.read_new()
        return all(self.count[each] for each in RECIPIENTS)

    def has_named(self, hashes: Iterable[str]) -> bool:
        """Whether everybody was told of all of these."""
        self.read_new()
        wanted = set(hashes)
        return all(wanted <= self.named[each].keys() for each in RECIPIENTS)


class TimedUpstream(HostedApis):
    """Remembers when it first told of each rejection."""

    def __init__(self) -> None:
        super().__init__()
        self.told_at: dict[str, float] = {}
        self.questions = 0

    def replies(self, message: Any) -> Any:  # noqa: ANN401 - any JSON
        """Answer, a moment after that was noted."""
        reply = super().replies(message)
        if isinstance(message, dict):
            self.questions += 1
            if reply["result"] is not None:
                self.told_at.setdefault(message["params"][0], time.perf_counter())
        return reply


@dataclass(frozen=True, slots=True)
class Site:
    """What runs: the installation, where its mail goes, and its roles by name."""

    installation: Installation
    post: Postbox
    roles: dict[str, Server]

    def track(self, hashes: Iterable[TxHash]) -> None:
        """Let these be watched."""
        self.linewatch("track", given="\n".join(map(str, hashes)))

    def edit_rule(self, *changes: str) -> None:
        """Change the rule about rejections."""
        options = [word for each in changes for word in ("--set", each)]
        self.linewatch("rules", "edit", "rejections", *options)

    def linewatch(self, *arguments: str, given: str = "") -> str:
        done = self.installation.run(*arguments, given=given)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def start(self, role: str, stack: ExitStack) -> None:
        """Run a role on the core of servers until the stack is left."""
        module = ("dashboard.cli.main", role)
        process = stack.enter_context(running(module, cores()[0], self.installation.variables))
        self.roles[role] = Server(role, 0, process.pid, 0.0)

    def wait_for_worker(self) -> None:
        """Wait until a worker is at work."""
        with self._store() as store:

            def is_at_work() -> bool:
                with store.read() as connection:
                    return holder(connection, WORKER_LEASE) is not None

            eventually(is_at_work, "the worker")

    def owed(self) -> int:
        """Return how many changes every recipient was told of, or is to be told of."""
        member = notification_members.c
        counted = select(func.count()).group_by(member.address).select_from(notification_members)
        with self._store() as store, store.read() as connection:
            return min(connection.scalars(counted), default=0)

    def _store(self) -> AbstractContextManager[Store]:
        return open_store(f"sqlite:///{self.installation.home / 'linewatch.sqlite'}")

    def wait_until_named(self, hashes: Sequence[str]) -> None:
        """Wait until everybody was told of all of these, once; WrongAnswerError where twice."""
        named = "mail about every rejection"
        eventually(lambda: self.post.has_named(hashes), named, within=LONGEST_WAIT)
        wanted = set(hashes)
        for to in RECIPIENTS:
            twice = [each for each in wanted if self.post.named[to][each] != 1]
            if twice:
                msg = f"{to} was told of {len(twice)} rejections more than once: {twice[0]}"
                raise WrongAnswerError(msg)


@contextmanager
def alerting(upstream: str = "own-serve", **settings: str) -> Iterator[Site]:
    """Prepare an installation that asks `upstream`, or its own serve; nothing runs yet."""
    with TemporaryDirectory() as home:
        installation = new_installation(Path(home), **settings)
        post = Postbox()
        with mail_server(post) as port:
            text = _SETTINGS.format(post=port, upstream=upstream)
            (Path(home) / "linewatch.toml").write_text(text, encoding="utf-8")
            site = Site(installation, post, {})
            site.linewatch("migrate")
            yield site


def paced(items: Iterable[Paced], per_second: float) -> Iterator[Paced]:
    """Yield each when its turn has come."""
    begun, idle = time.perf_counter(), threading.Event()
    for place, each in enumerate(items):
        idle.wait(max(0.0, begun + place / per_second - time.perf_counter()))
        yield each


def waits(seconds: Iterable[float]) -> list[float]:
    """Return the median, the 99th percentile and the longest of some waits."""
    ordered = sorted(seconds)
    return [ordered[round((len(ordered) - 1) * each)] for each in (0.5, 0.99, 1)]


def in_seconds(length: float) -> str:
    """Write a length of time."""
    return f"{length:.2f} s"
