"""The supervisor starts real processes in order, starts them again, and leaves none behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from dashboard.errors import RoleError, SettingsError
from dashboard.supervise import Patience, fork, run_beside, supervise
from dashboard.wiring.clock import utc_now
from dashboard.wiring.reloads import Reload, answering_reloads, ask_for_reload
from dashboard.wiring.roles import Role, RoleDeaths, failing_roles, refuse_taken_ports, roles_of
from tests.unit.settings.configuration_files import loaded
from tests.waiting import eventually, eventually_async

PATIENCE = Patience(grace=2, back_off=(0.01, 0.02))
GOODBYE = -1

Program = Callable[[Path], None]


def note(path: Path, number: int) -> None:
    """Add a line to the file of a role."""
    with path.open("a") as file:
        file.write(f"{number}\n")


def lives(path: Path) -> None:
    """Live until standard input ends."""
    note(path, os.getpid())
    os.read(0, 1)


def is_stubborn(path: Path) -> None:
    """Live on where it is asked to end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    lives(path)


def says_goodbye(path: Path) -> None:
    """Write a last line when it is asked to end."""

    def leave(*_: object) -> None:
        note(path, GOODBYE)
        sys.exit(0)

    signal.signal(signal.SIGTERM, leave)
    lives(path)


def works(path: Path) -> None:
    """Work on until it is interrupted, and tidy up."""
    note(path, os.getpid())
    try:
        while True:
            signal.pause()
    finally:
        note(path, GOODBYE)


def dies(_: Path) -> None:
    """End at once."""
    sys.exit(3)


def lives_later(path: Path) -> None:
    """Die thrice before it lives."""
    if len(starts(path)) < 3:
        note(path, os.getpid())
        sys.exit(3)
    lives(path)


def starts(path: Path) -> list[int]:
    """Return the process ids that a role has written at each of its starts."""
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def role(
    path: Path, is_ready: Callable[[], bool] | None = None, after: tuple[str, ...] = ()
) -> Role:
    """Build a role that notes each start in a file and is ready when it has."""

    async def ready() -> bool:
        return bool(starts(path)) if is_ready is None else is_ready()

    return Role(path.name, ready, after)


async def run(
    roles: Sequence[Role],
    stop: asyncio.Event,
    home: Path,
    programs: Mapping[str, Program] | None = None,
    patience: Patience = PATIENCE,
) -> None:
    """Supervise roles that live unless `programs` has others; deaths are noted in a folder."""

    def run_role(name: str) -> None:
        (programs or {}).get(name, lives)(home / name)

    await supervise(roles, run_role, stop, RoleDeaths(home, utc_now), patience)


def is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


async def test_supervisor_starts_each_role_when_the_one_before_is_ready_and_leaves_none(
    tmp_path: Path,
) -> None:
    stop = asyncio.Event()
    first, second = tmp_path / "first", tmp_path / "second"
    seen_at_second: list[int] = []

    def second_is_ready() -> bool:
        seen_at_second.extend(starts(first))
        return bool(starts(second))

    running = asyncio.create_task(
        run([role(first), role(second, is_ready=second_is_ready, after=("first",))], stop, tmp_path)
    )
    await eventually_async(lambda: bool(starts(second) and seen_at_second))
    stop.set()
    await running

    assert seen_at_second[0] == starts(first)[0]
    assert not any(map(is_alive, (*starts(first), *starts(second))))


async def test_supervisor_kills_a_role_that_does_not_end_by_itself(tmp_path: Path) -> None:
    stop = asyncio.Event()
    path = tmp_path / "role"

    running = asyncio.create_task(
        run([role(path)], stop, tmp_path, {"role": is_stubborn}, Patience(grace=0.2))
    )
    await eventually_async(lambda: bool(starts(path)))
    stop.set()
    await running

    assert not is_alive(starts(path)[0])


async def test_supervisor_lets_a_hanging_role_cost_no_other_its_grace(tmp_path: Path) -> None:
    stop = asyncio.Event()
    hanging, polite = tmp_path / "hanging", tmp_path / "polite"
    programs = {"hanging": is_stubborn, "polite": says_goodbye}

    running = asyncio.create_task(run([role(polite), role(hanging)], stop, tmp_path, programs))
    await eventually_async(lambda: bool(starts(hanging) and starts(polite)))
    stop.set()
    await running

    assert starts(polite)[-1] == GOODBYE


async def test_supervisor_starts_a_killed_role_again(tmp_path: Path) -> None:
    stop = asyncio.Event()
    path, last = tmp_path / "role", tmp_path / "last"

    running = asyncio.create_task(run([role(path), role(last, after=("role",))], stop, tmp_path))
    await eventually_async(lambda: bool(starts(last)))
    os.kill(starts(path)[0], signal.SIGKILL)
    await eventually_async(lambda: len(starts(path)) == 2)
    stop.set()
    await running

    assert not is_alive(starts(path)[1])


async def test_supervisor_starts_a_role_again_that_died_before_it_was_ready(tmp_path: Path) -> None:
    stop = asyncio.Event()
    path = tmp_path / "role"
    starting = role(path, is_ready=lambda: len(starts(path)) == 2)

    running = asyncio.create_task(run([starting], stop, tmp_path))
    await eventually_async(lambda: bool(starts(path)))
    os.kill(starts(path)[0], signal.SIGKILL)
    await eventually_async(lambda: len(starts(path)) == 2)
    stop.set()
    await running

    assert not is_alive(starts(path)[1])


async def test_supervisor_ends_nothing_that_is_slow_to_be_ready(tmp_path: Path) -> None:
    stop = asyncio.Event()
    slow, last = tmp_path / "slow", tmp_path / "last"
    roles = [role(slow, is_ready=lambda: False), role(last, after=("slow",))]

    running = asyncio.create_task(run(roles, stop, tmp_path, None, Patience(after=0.1, grace=2)))
    await eventually_async(lambda: bool(starts(last)))
    [first] = starts(slow)
    was_alive = is_alive(first)
    stop.set()
    await running

    assert was_alive
    assert starts(slow) == [first]


async def never() -> bool:
    return False


async def test_supervisor_waits_until_the_role_before_has_data(tmp_path: Path) -> None:
    stop, gives_data = asyncio.Event(), asyncio.Event()
    first, second = tmp_path / "first", tmp_path / "second"
    asked: list[bool] = []

    async def has_data() -> bool:
        asked.append(gives_data.is_set())
        return gives_data.is_set()

    roles = [replace(role(first), has_data=has_data), role(second, after=("first",))]
    running = asyncio.create_task(run(roles, stop, tmp_path))
    await eventually_async(lambda: len(asked) > 2)
    before = starts(second)
    gives_data.set()
    await eventually_async(lambda: bool(starts(second)))
    stop.set()
    await running

    assert before == []


@pytest.mark.parametrize(("status", "has_data"), [("200 OK", True), ("503 Unavailable", False)])
async def test_worker_waits_until_serve_says_that_it_can_answer(
    tmp_path: Path, status: str, *, has_data: bool
) -> None:
    paths: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        paths.append((await reader.readuntil(b"\r\n\r\n")).split()[1])
        writer.write(f"HTTP/1.1 {status}\r\n\r\n".encode())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        roles = roles_of(loaded(tmp_path, LINEWATCH_SERVE_PORT=str(port)))
        by_name = {each.name: each for each in roles}

        assert await by_name["serve"].has_data() == has_data

    assert paths == [b"/ready"]
    assert by_name["worker"].after == ("serve",)


async def test_role_that_keeps_dying_is_named_and_touches_no_other(tmp_path: Path) -> None:
    stop = asyncio.Event()
    steady, dying = tmp_path / "steady", tmp_path / "dying"
    roles = [replace(role(dying), has_data=never), role(steady, after=("dying",))]

    running = asyncio.create_task(run(roles, stop, tmp_path, {"dying": dies}))
    await eventually_async(lambda: bool(starts(steady)))
    await eventually_async(lambda: any(each.deaths > 4 for each in failing_roles(tmp_path)))
    [failing] = failing_roles(tmp_path)
    stop.set()
    await running

    assert (failing.name, failing.why) == ("dying", "ended with status 3")
    assert failing.since < failing.again_at
    assert len(starts(steady)) == 1
    assert failing_roles(tmp_path) == ()


async def test_role_that_died_is_well_again_once_it_is_steady(tmp_path: Path) -> None:
    stop = asyncio.Event()
    path = tmp_path / "role"
    reviving = role(path, lambda: len(starts(path)) > 3)

    running = asyncio.create_task(
        run(
            [reviving],
            stop,
            tmp_path,
            {"role": lives_later},
            Patience(grace=2, steady=0.2, back_off=(0.01, 0.3)),
        )
    )
    await eventually_async(lambda: bool(failing_roles(tmp_path)))
    await eventually_async(lambda: not failing_roles(tmp_path))
    deaths = len(starts(path))
    stop.set()
    await running

    assert deaths == 4


async def test_who_asks_for_a_reload_hears_what_came_of_it(tmp_path: Path) -> None:
    stop, path = asyncio.Event(), tmp_path / "role"
    given = [[role(path, lambda: False)], [role(path, lambda: True)]]
    settings = [SettingsError("serve.port is 7.5")]

    def roles() -> Sequence[Role]:
        if settings:
            raise settings.pop()
        return given.pop()

    def work(_: str) -> None:
        [is_stubborn, lives, dies][len(starts(path))](path)

    deaths, reload = RoleDeaths(tmp_path, utc_now), Reload(roles)
    async with answering_reloads(tmp_path, reload):
        work_done = supervise(given[0], work, stop, deaths, PATIENCE, reload)
        running = asyncio.create_task(work_done)
        await eventually_async(lambda: bool(starts(path)))
        refused, [before] = await reload.ask(), starts(path)
        asked = fork("client", lambda _: ask_for_reload(tmp_path))
        done, outlived = await asked.wait(), is_alive(before)
        await eventually_async(lambda: len(starts(path)) == 2)
        failed = await reload.ask()
        stop.set()
        await running

    assert refused == "nothing is reloaded: serve.port is 7.5"
    assert (done, outlived) == (0, False)
    assert failed == "role does not come up: only roles before it have the new settings"
    assert not any(map(is_alive, starts(path)))
    with pytest.raises(RoleError, match="no `linewatch up` runs"):
        ask_for_reload(tmp_path)


def test_deaths_that_a_dead_supervisor_left_are_told_no_more(tmp_path: Path) -> None:
    deaths = RoleDeaths(tmp_path, utc_now)
    for count in (1, 2):
        deaths.note("serve", "ended with status 1", count, 0.5)
    [left] = tmp_path.iterdir()
    told = left.read_text()
    with subprocess.Popen((sys.executable, "-c", "")) as dead:
        pass

    found = []
    for text in (told, told.replace(str(os.getpid()), str(dead.pid)), told[:-2]):
        left.write_text(text)
        found.append([each.name for each in failing_roles(tmp_path)])

    assert found == [["serve"], [], []]


def nothing() -> None:
    """Do nothing meanwhile."""


def test_work_beside_ends_before_the_interruption_of_its_parent_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "work"

    def is_interrupted() -> None:
        eventually(lambda: bool(starts(path)))
        raise InterruptedError

    with pytest.raises(InterruptedError):
        run_beside("work", lambda: works(path), is_interrupted)

    assert starts(path)[-1] == GOODBYE
    assert not is_alive(starts(path)[0])


def test_work_beside_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "work"
    parent = fork("parent", lambda _: sys.exit(run_beside("work", lambda: works(path), nothing)))
    eventually(lambda: bool(starts(path)))

    os.kill(parent.pid, signal.SIGKILL)
    eventually(lambda: starts(path)[-1] == GOODBYE)

    assert parent.join() == -signal.SIGKILL


def test_work_beside_gives_its_status() -> None:
    assert run_beside("work", lambda: dies(Path()), nothing) == 3


def test_supervisor_names_a_taken_port_and_the_variable_that_changes_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = ("127.0.0.1", taken.getsockname()[1])
        pages = Role("pages", never, (), address, "LINEWATCH_PAGES_PORT")

        with pytest.raises(RoleError, match=rf"port {address[1]} .* set LINEWATCH_PAGES_PORT"):
            refuse_taken_ports([pages])
