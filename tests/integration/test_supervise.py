"""The supervisor starts real processes in order, starts them again, and leaves none behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.errors import RoleError
from dashboard.supervise import Patience, supervise
from dashboard.wiring.roles import Role, refuse_taken_ports
from tests.waiting import eventually_async

pytestmark = pytest.mark.anyio

PATIENCE = Patience(ready_within=20, grace=2, steady=60, back_off=(0.01, 0.01))
LIVES = "import os, sys; open(sys.argv[1], 'a').write(str(os.getpid()) + chr(10)); sys.stdin.read()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + LIVES
GOODBYE = -1
SAYS_GOODBYE = (
    "import os, signal, sys; out = open(sys.argv[1], 'a', buffering=1);"
    "signal.signal(signal.SIGTERM, lambda *_: sys.exit(out.write('-1' + chr(10)) and 0));"
    "out.write(str(os.getpid()) + chr(10)); sys.stdin.read()"
)
DIES = "import sys; sys.exit(3)"
KILLS_ITSELF = "import os; os.kill(os.getpid(), 9)"
LIVES_ONCE = (
    "import os, sys; again = os.path.exists(sys.argv[1]);"
    "open(sys.argv[1], 'a').write(str(os.getpid()) + chr(10));"
    "sys.exit(3) if again else sys.stdin.read()"
)


def starts(path: Path) -> list[int]:
    """Return the process ids that a role has written at each of its starts."""
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def role(
    path: Path,
    program: str = LIVES,
    is_ready: Callable[[], bool] | None = None,
    after: tuple[str, ...] = (),
) -> Role:
    """Build a role that notes each start in a file and is ready when it has."""
    ready = is_ready or (lambda: bool(starts(path)))
    return Role(path.name, (sys.executable, "-c", program, str(path)), ready, after)


def is_alive(process_id: int) -> bool:
    """Whether a process exists."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


async def test_supervisor_starts_each_role_when_the_one_before_is_ready(tmp_path: Path) -> None:
    stop = asyncio.Event()
    first, second = tmp_path / "first", tmp_path / "second"
    seen_at_second: list[int] = []

    def second_is_ready() -> bool:
        seen_at_second.extend(starts(first))
        return bool(starts(second))

    running = asyncio.create_task(
        supervise(
            [role(first), role(second, is_ready=second_is_ready, after=("first",))], stop, PATIENCE
        )
    )
    await eventually_async(lambda: bool(starts(second) and seen_at_second))
    stop.set()
    await running

    assert seen_at_second[0] == starts(first)[0]


async def test_supervisor_leaves_no_process_when_it_is_stopped(tmp_path: Path) -> None:
    stop = asyncio.Event()
    path = tmp_path / "role"

    running = asyncio.create_task(supervise([role(path)], stop, PATIENCE))
    await eventually_async(lambda: bool(starts(path)))
    stop.set()
    await running

    assert not is_alive(starts(path)[0])


async def test_supervisor_kills_a_role_that_does_not_end_by_itself(tmp_path: Path) -> None:
    stop = asyncio.Event()
    path = tmp_path / "role"

    running = asyncio.create_task(supervise([role(path, STUBBORN)], stop, Patience(grace=0.2)))
    await eventually_async(lambda: bool(starts(path)))
    stop.set()
    await running

    assert not is_alive(starts(path)[0])


async def test_supervisor_lets_a_hanging_role_cost_no_other_its_grace(tmp_path: Path) -> None:
    stop = asyncio.Event()
    hanging, polite = tmp_path / "hanging", tmp_path / "polite"
    polite_role = role(polite, SAYS_GOODBYE)

    running = asyncio.create_task(
        supervise([polite_role, role(hanging, STUBBORN)], stop, Patience(grace=2))
    )
    await eventually_async(lambda: bool(starts(hanging) and starts(polite)))
    stop.set()
    await running

    assert starts(polite)[-1] == GOODBYE


async def test_supervisor_starts_a_killed_role_again(tmp_path: Path) -> None:
    stop = asyncio.Event()
    path, last = tmp_path / "role", tmp_path / "last"

    running = asyncio.create_task(
        supervise([role(path), role(last, after=("role",))], stop, PATIENCE)
    )
    await eventually_async(lambda: bool(starts(last)))
    os.kill(starts(path)[0], signal.SIGKILL)
    await eventually_async(lambda: len(starts(path)) == 2)
    stop.set()
    await running

    assert not is_alive(starts(path)[1])


async def test_supervisor_says_which_role_ended_while_starting(tmp_path: Path) -> None:
    never_ready = role(tmp_path / "broken", DIES, is_ready=lambda: False)

    with pytest.raises(RoleError, match="broken ended with status 3 while starting"):
        await supervise([never_ready], asyncio.Event(), PATIENCE)


async def test_supervisor_starts_a_role_again_that_was_killed_at_its_first_start(
    tmp_path: Path,
) -> None:
    stop = asyncio.Event()
    path = tmp_path / "role"
    starting = role(path, is_ready=lambda: len(starts(path)) == 2)

    running = asyncio.create_task(supervise([starting], stop, PATIENCE))
    await eventually_async(lambda: bool(starts(path)))
    os.kill(starts(path)[0], signal.SIGKILL)
    await eventually_async(lambda: len(starts(path)) == 2)
    stop.set()
    await running

    assert not is_alive(starts(path)[1])


async def test_supervisor_gives_up_on_a_role_that_is_killed_at_every_start(tmp_path: Path) -> None:
    never_ready = role(tmp_path / "killed", KILLS_ITSELF, is_ready=lambda: False)

    with pytest.raises(RoleError, match=r"killed keeps dying \(last status -9\)"):
        await supervise([never_ready], asyncio.Event(), PATIENCE)


async def test_supervisor_gives_up_on_a_role_that_is_never_ready(tmp_path: Path) -> None:
    path = tmp_path / "slow"
    patience = Patience(ready_within=1, grace=2)

    with pytest.raises(RoleError, match="slow was not ready within 1 s"):
        await supervise([role(path, is_ready=lambda: False)], asyncio.Event(), patience)

    assert not any(is_alive(process_id) for process_id in starts(path))


async def test_supervisor_stops_everything_when_a_role_keeps_dying(tmp_path: Path) -> None:
    steady, dying = tmp_path / "steady", tmp_path / "dying"
    roles = [role(dying, LIVES_ONCE), role(steady, after=("dying",))]

    running = asyncio.create_task(supervise(roles, asyncio.Event(), PATIENCE))
    await eventually_async(lambda: bool(starts(steady)))
    os.kill(starts(dying)[0], signal.SIGKILL)

    with pytest.raises(RoleError, match=r"dying keeps dying \(last status 3\)"):
        await running
    assert len(starts(dying)) == 1 + len(PATIENCE.back_off)
    assert not is_alive(starts(steady)[0])


def test_supervisor_names_a_taken_port_and_the_variable_that_changes_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = ("127.0.0.1", taken.getsockname()[1])
        pages = Role("pages", ("true",), lambda: True, (), address, "LINEWATCH_PAGES_PORT")

        with pytest.raises(RoleError, match=rf"port {address[1]} .* set LINEWATCH_PAGES_PORT"):
            refuse_taken_ports([pages])
