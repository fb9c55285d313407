"""Group commit: which items share a transaction, which fail together, and callers that leave."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import anyio
import pytest

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.serve.rpc.reports import LARGEST_GROUP, GroupCommit, QueueFull
from tests.waiting import PATIENCE, eventually_async


class Disk:
    """Keeps what it is given, a group at a time, as slowly as it is told."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.trouble: dict[str, Exception] = {}
        self.is_free = threading.Event()
        self.is_free.set()

    def commit(self, items: Sequence[str]) -> list[str]:
        assert self.is_free.wait(PATIENCE)
        for item in items:
            if item in self.trouble:
                raise self.trouble[item]
        self.groups.append(list(items))
        return [f"kept {item}" for item in items]

    def held(self) -> set[str]:
        return {item for group in self.groups for item in group}


async def test_items_that_come_while_one_is_written_share_the_next_transaction() -> None:
    disk = Disk()
    saves = GroupCommit(disk.commit, most_waiting=100)
    disk.is_free.clear()

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(saves.write, [str(number)])
        await anyio.lowlevel.checkpoint()
        disk.is_free.set()

    assert disk.held() == set("0123456789")
    assert len(disk.groups) <= 2


async def test_every_caller_is_told_of_his_own_items_in_their_order() -> None:
    saves = GroupCommit(Disk().commit, most_waiting=100)
    told: dict[str, list[str | Exception]] = {}

    async def write(name: str) -> None:
        told[name] = await saves.write([f"{name}{number}" for number in range(3)])

    async with anyio.create_task_group() as tasks:
        for name in "abc":
            tasks.start_soon(write, name)

    assert told == {name: [f"kept {name}{number}" for number in range(3)] for name in "abc"}


async def test_many_items_at_once_leave_room_for_other_writers_between_them() -> None:
    disk = Disk()
    saves = GroupCommit(disk.commit, most_waiting=1)

    outcomes = await saves.write([str(number) for number in range(LARGEST_GROUP * 2 + 1)])

    assert outcomes == [f"kept {number}" for number in range(LARGEST_GROUP * 2 + 1)]
    assert [len(group) for group in disk.groups] == [LARGEST_GROUP, LARGEST_GROUP, 1]


async def test_store_that_is_away_fails_the_group_and_not_the_next_one() -> None:
    disk = Disk()
    saves = GroupCommit(disk.commit, most_waiting=100)
    disk.trouble = {"b": StoreUnavailable("the disk is full")}

    assert await saves.write(["a", "b"]) == [disk.trouble["b"]] * 2
    assert await saves.write(["c"]) == ["kept c"]
    assert disk.held() == {"c"}


@pytest.mark.parametrize("trouble", [StoreError("refused"), ValueError("unforeseen")])
async def test_item_that_cannot_be_kept_does_not_spoil_its_neighbours(trouble: Exception) -> None:
    disk = Disk()
    saves = GroupCommit(disk.commit, most_waiting=100)
    disk.trouble = {"bad": trouble}

    assert await saves.write(["a", "bad", "b"]) == ["kept a", trouble, "kept b"]


async def test_items_beyond_the_queue_are_refused_and_not_kept() -> None:
    disk = Disk()
    saves = GroupCommit(disk.commit, most_waiting=2)
    disk.is_free.clear()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(saves.write, ["under way"])
        await eventually_async(lambda: disk_is_busy(saves))
        tasks.start_soon(saves.write, ["first", "second"])
        await anyio.lowlevel.checkpoint()

        with pytest.raises(QueueFull):
            await saves.write(["third"])

        disk.is_free.set()
    assert disk.held() == {"under way", "first", "second"}
    assert await saves.write(["third"]) == ["kept third"]


async def test_item_of_a_caller_who_left_is_kept_whole() -> None:
    disk = Disk()
    saves = GroupCommit(disk.commit, most_waiting=100)
    disk.is_free.clear()

    with anyio.move_on_after(0.01):
        await saves.write(["a", "b"])
    disk.is_free.set()

    await eventually_async(lambda: disk.held() == {"a", "b"})


async def test_nothing_to_keep_is_kept_at_once() -> None:
    disk = Disk()

    assert await GroupCommit(disk.commit, most_waiting=1).write([]) == []
    assert disk.groups == []


def disk_is_busy(saves: GroupCommit[str, str]) -> bool:
    """Whether everything that was handed over is being written."""
    return saves.waiting == 0


async def test_thread_that_cannot_be_had_is_told_to_all_who_wait_and_ends_with_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    saves = GroupCommit(Disk().commit, most_waiting=100)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", _refuse_to_start)
        with anyio.fail_after(PATIENCE):
            failed = await saves.write(["a", "b"])

    assert [type(each) for each in failed] == [RuntimeError, RuntimeError]
    assert await saves.write(["c"]) == ["kept c"]


def _refuse_to_start(_thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
