"""A reload while roles are still starting reaches each of them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from dashboard.supervise import Patience, supervise
from dashboard.wiring.clock import utc_now
from dashboard.wiring.reloads import Reload
from dashboard.wiring.roles import Role, RoleDeaths
from tests.waiting import eventually_async


async def test_reload_before_a_role_has_started_is_done_when_it_starts(tmp_path: Path) -> None:
    stop, gives_data = asyncio.Event(), asyncio.Event()
    first, second = tmp_path / "first", tmp_path / "second"
    ready: list[bool] = []

    async def first_is_ready() -> bool:
        ready.extend([True] * first.exists())
        return first.exists()

    async def second_is_ready() -> bool:
        return second.exists()

    async def has_data() -> bool:
        return gives_data.is_set()

    roles = [
        Role("first", first_is_ready, has_data=has_data),
        Role("second", second_is_ready, after=("first",)),
    ]
    reload = Reload(lambda: roles)

    def work(name: str) -> None:
        with (tmp_path / name).open("a") as file:
            file.write("started\n")
        os.read(0, 1)

    work_done = supervise(
        roles, work, stop, RoleDeaths(tmp_path, utc_now), Patience(after=5, grace=2), reload
    )
    running = asyncio.create_task(work_done)
    await eventually_async(lambda: bool(ready), what="the first role's start")
    asked = asyncio.create_task(reload.ask())
    await eventually_async(lambda: len(ready) == 2, what="the first role's new start")
    gives_data.set()
    said = await asked
    stop.set()
    await running

    assert said == ""
    assert second.read_text() == "started\n"
