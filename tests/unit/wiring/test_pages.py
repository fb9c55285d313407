"""The lifespan of the pages: entered again where it ended, and refused in one of many processes."""

from __future__ import annotations

import asyncio
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from dashboard.application.application import current
from dashboard.errors import RoleError
from dashboard.settings.load import places_in_full
from dashboard.settings.presets import PROJECT
from dashboard.wiring.pages import pages_lifespan
from tests.databases import new_sqlite_store


async def live(times: int, *, starts_the_rest: bool) -> None:
    for _ in range(times):
        async with pages_lifespan(starts_the_rest=starts_the_rest)(None):
            current().now()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEWATCH_HOME", str(tmp_path))
    new_sqlite_store(tmp_path / "linewatch.sqlite")


async def test_pages_start_again_in_the_process_in_which_they_ended() -> None:
    await live(2, starts_the_rest=False)


async def test_pages_find_their_files_from_another_folder_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.toml").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    named = {"LINEWATCH_HOME": ".", "LINEWATCH_CONFIG": "own.toml"}

    for name, value in places_in_full(named).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(PROJECT)

    await live(1, starts_the_rest=False)


def live_as_a_worker_of_uvicorn() -> None:
    asyncio.run(live(1, starts_the_rest=True))


def test_pages_in_one_of_several_processes_are_refused_in_words() -> None:
    context = multiprocessing.get_context("fork")
    with (
        ProcessPoolExecutor(1, context) as processes,
        pytest.raises(RoleError, match="start uvicorn without --workers"),
    ):
        processes.submit(live_as_a_worker_of_uvicorn).result()
