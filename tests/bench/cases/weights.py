"""What the product weighs: memory and CPU at rest, the time to start, and the cost of a command."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta
from importlib.metadata import packages_distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Final, NamedTuple

import httpx

from tests.bench.pages_store import TWELVE, made_paged_store
from tests.bench.processes import PROJECT, Server, cores, free_port, running, unpin
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, number
from tests.faults.hosted_apis import hosted_apis
from tests.installation import Installation, command, new_installation
from tests.waiting import eventually

_MEGABYTE: Final = 1_000_000
_SETTLED: Final = 60.0
"""Seconds at work before the weight is taken."""
_STARTS: Final = 3
_OBSERVED: Final = 30.0
"""Seconds over which the CPU at rest is taken."""

_LOCKS: Final = PROJECT / "requirements"

_ONE_COMMAND: Final = (
    "import click\n@click.command()\ndef main():\n    'Say nothing.'\nmain(['--help'])"
)
"""A click program with one command, which Python runs as it runs `linewatch`."""


_RUN_AND_TELL: Final = """\
import os, sys
null = os.open(os.devnull, os.O_WRONLY)
quiet = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, _, used = os.wait4(child, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


class Weight(NamedTuple):
    """Bytes of a group of processes, each role with its own, and the share of a core it takes."""

    by_role: dict[str, int]
    busy: float

    @property
    def megabytes(self) -> float:
        return sum(self.by_role.values()) / _MEGABYTE


class Cost(NamedTuple):
    """What one command costs: seconds of CPU, and bytes in memory at most."""

    cpu: float
    peak: int


def run(scene: Scene) -> Result:
    """Weigh everything at rest, a production install, the start, and two commands."""
    unpin()  # five processes start at once, as on any machine
    with TemporaryDirectory() as folder:
        hidden = {"PYTHONPATH": _without_tools(Path(folder))}
        started, at_rest = _up(Path(folder), hidden)
        hello = _streamlit_hello(Path(folder), hidden)
        production = _production(scene, Path(folder), hidden)
        commands = _commands(scene, Path(folder), hidden)
    start = f"`linewatch up` until pages and serve are ready: × `streamlit hello` ({hello:.1f} s)"
    return Result(
        title="W1–W4: weight",
        promises=[
            _at_most("W1", "`linewatch up` at rest", 320, at_rest.megabytes, "MB"),
            _at_most("W1", "the same, of a core", 5, 100 * at_rest.busy, "%"),
            _at_most(
                "W2",
                f"worker, serve and pages, {len(TWELVE)} networks",
                280,
                production.megabytes,
                "MB",
            ),
            *_promises_of_commands(commands),
            _at_most("W4", start, 2.5, started / hello, "×"),
        ],
        heads=("what", "memory", "of a core"),
        lines=[*_lines("`linewatch up`", at_rest), *_lines("production", production)],
        remarks=[
            "Memory: the proportional set size, so what processes share is divided among them,",
            (
                f"{_SETTLED:.0f} s after the start; CPU: over the next {_OBSERVED:.0f} s; no page "
                "open."
            ),
            "Packages of development are hidden, such as rich and greenlet.",
        ],
    )


def _without_tools(folder: Path) -> str:
    """Return a folder for PYTHONPATH that hides what is installed for development only."""
    run, dev = (
        set(re.findall(r"^([a-z0-9._-]+)==", (_LOCKS / name).read_text(), re.MULTILINE))
        for name in ("run.lock", "dev.lock")
    )
    hidden = folder / "hidden"
    hidden.mkdir()
    for module, packages in packages_distributions().items():
        if dev - run >= {each.lower().replace("_", "-") for each in packages}:
            (hidden / f"{module}.py").write_text(f"raise ModuleNotFoundError(name={module!r})\n")
    return str(hidden)


def _promises_of_commands(commands: dict[str, list[Cost]]) -> list[Promise]:
    one, shown, asked = (
        statistics.median(each.cpu for each in commands[name]) for name in _COMMANDS
    )
    peak = max(each.peak for each in commands["linewatch --help"]) / _MEGABYTE
    return [
        _at_most("W3", "`--help`: × CPU of a click program", 4, shown / one, "×"),
        _at_most("W3", "`--help`: memory at most", 50, peak, "MB"),
        _at_most("W3", "`lookup`: × CPU of the same", 8, asked / one, "×"),
    ]


def _at_most(name: str, what: str, promised: float, measured: float, unit: str) -> Promise:
    return Promise(name, what, promised, measured, unit, is_floor=False)


def _lines(what: str, weight: Weight) -> list[list[str]]:
    roles = [
        [f"{what}: {role}", f"{number(size / _MEGABYTE)} MB", ""]
        for role, size in weight.by_role.items()
    ]
    return [*roles, [what, f"{number(weight.megabytes)} MB", f"{weight.busy:.1%}"]]


def _up(folder: Path, hidden: dict[str, str]) -> tuple[float, Weight]:
    """Return the median seconds until everything is ready, and the weight of the last start."""
    took = []
    weight = Weight({}, 0.0)
    for attempt in range(_STARTS):
        installation = new_installation(folder / f"up-{attempt}", **hidden)
        begun = time.perf_counter()
        with installation.start(command("up"), folder / "up.log"):
            for address in (f"{installation.pages}/_stcore/health", f"{installation.serve}/ready"):
                _wait_for(address)
            took.append(time.perf_counter() - begun)
            if attempt == 2:
                weight = _weigh(installation.processes())
    return statistics.median(took), weight


def _streamlit_hello(folder: Path, hidden: dict[str, str]) -> float:
    """Return the median seconds until `streamlit hello` says that it is healthy."""
    took = []
    for _ in range(_STARTS):
        port = free_port()
        options = ["--server.headless", "true", "--server.port", str(port)]
        begun = time.perf_counter()
        with subprocess.Popen(
            [sys.executable, "-m", "streamlit", "hello", *options],
            cwd=folder,
            env={**os.environ, **hidden},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            _wait_for(f"http://127.0.0.1:{port}/_stcore/health")
            took.append(time.perf_counter() - begun)
            process.terminate()
    return statistics.median(took)


def _production(scene: Scene, folder: Path, hidden: dict[str, str]) -> Weight:
    """Return the weight of three roles that watch twelve networks, on the store of a day."""
    paged = made_paged_store(scene.folder, 10_000, scene.day, timedelta(days=1))
    with hosted_apis() as hosted, ExitStack() as roles:
        home = folder / "production"
        home.mkdir()
        (home / "linewatch.toml").write_text(_twelve_networks(hosted.port), encoding="utf-8")
        store = f"sqlite:///{paged.file}"
        installation = new_installation(home, LINEWATCH_STORE_URL=store, **hidden)
        installation.run("join")
        processes = [
            roles.enter_context(
                running(("dashboard.cli.main", role), cores()[0], installation.variables)
            )
            for role in ("worker", "serve", "pages")
        ]
        _wait_for(f"{installation.pages}/_stcore/health")
        return _weigh([each.pid for each in processes])


def _twelve_networks(port: int) -> str:
    """Return settings of twelve networks whose hosted APIs answer on a port of this machine."""
    api = f'{{ url = "http://127.0.0.1:{port}", key = "of-the-benchmarks" }}'
    return "\n".join(
        f"[networks.chain{each.network_id}]\nnetwork_id = {each.network_id}\n"
        f'title = "{each.name}"\n'
        f"exclusion = {api}\ngas = {api}\n"
        for each in TWELVE
    )


def _weigh(processes: Sequence[int]) -> Weight:
    Event().wait(_SETTLED)
    servers = {_role_of(pid): Server(_role_of(pid), 0, pid, 0.0) for pid in processes}
    before = sum(each.process_seconds() for each in servers.values())
    Event().wait(_OBSERVED)
    spent = sum(each.process_seconds() for each in servers.values()) - before
    sizes = {name: each.memory().proportional for name, each in servers.items()}
    return Weight(sizes, spent / _OBSERVED)


def _role_of(pid: int) -> str:
    """Return the role of a process: `up` is the supervisor, which names those that it forks."""
    name = Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()
    if name.startswith("lw-"):
        return name.removeprefix("lw-")
    arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    named = [each for each in arguments[1:] if each and not each.startswith("-")]
    return next((each for each in named if "." not in each), named[-1])


_COMMANDS: Final = ("a click program", "linewatch --help", "linewatch lookup")


def _commands(scene: Scene, folder: Path, hidden: dict[str, str]) -> dict[str, list[Cost]]:
    """Run a click program, `--help`, and a question to the store in turn."""
    installation = new_installation(folder / "commands", **hidden)
    installation.run("migrate")
    lines = (
        [sys.executable, "-c", _ONE_COMMAND],
        command("--help"),
        command("lookup", f"0x{'ab' * 32}"),
    )
    costs: dict[str, list[Cost]] = {name: [] for name in _COMMANDS}
    for _ in range(3 * scene.rounds):
        for name, line in zip(_COMMANDS, lines, strict=True):
            costs[name].append(_cost(line, installation))
    return costs


def _cost(line: Sequence[str], installation: Installation) -> Cost:
    """Run a command to its end, from a small process: a child counts its parent's memory too."""
    done = subprocess.run(
        [sys.executable, "-IS", "-c", _RUN_AND_TELL, *line],
        env=installation.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    cpu, peak = done.stdout.split()
    return Cost(float(cpu), int(peak) * 1024)


def _wait_for(address: str) -> None:
    def answers() -> bool:
        try:
            return httpx.get(address, trust_env=False, timeout=5).is_success
        except httpx.HTTPError:
            return False

    eventually(answers, what=address)
