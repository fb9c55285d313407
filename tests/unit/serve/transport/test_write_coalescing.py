"""Write coalescing changes the number of writes, neither their content nor their order."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from dashboard.transport.write_coalescing import CoalescingTransport

pytestmark = pytest.mark.anyio


class Transport:
    """Notes what is done to it."""

    def __init__(self) -> None:
        self.done: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def close(self) -> None:
        self.done.append("closed")

    def pause_reading(self) -> None:
        self.done.append("paused")

    def resume_reading(self) -> None:
        self.done.append("resumed")

    def is_closing(self) -> bool:
        return "closed" in self.done


def corked() -> tuple[Transport, CoalescingTransport]:
    transport = Transport()
    return transport, CoalescingTransport(cast("asyncio.Transport", transport))


async def test_writes_of_one_turn_leave_as_one() -> None:
    transport, cork = corked()

    cork.write(b"a")
    cork.write(b"b")
    await asyncio.sleep(0)
    cork.write(b"c")
    await asyncio.sleep(0)

    assert transport.done == [b"ab", b"c"]


async def test_writes_of_a_moment_leave_as_one_where_it_is_waited_for() -> None:
    transport = Transport()
    cork = CoalescingTransport(cast("asyncio.Transport", transport), 0.01)

    cork.write(b"a")
    await asyncio.sleep(0)
    cork.write(b"b")
    assert transport.done == []
    await asyncio.sleep(0.05)

    assert transport.done == [b"ab"]


async def test_much_leaves_at_once() -> None:
    transport, cork = corked()

    cork.write(b"x" * 65_537)

    assert transport.done == [b"x" * 65_537]


async def test_closing_sends_the_rest_first() -> None:
    transport, cork = corked()

    cork.write(b"last")
    cork.close()

    assert transport.done == [b"last", "closed"]
    assert cork.is_closing()


async def test_transport_whose_client_does_not_read_is_read_again_when_it_does() -> None:
    transport, cork = corked()

    cork.pause_for_client()
    cork.resume_reading()
    cork.resume_for_client()
    cork.pause_reading()
    cork.pause_for_client()
    cork.resume_for_client()

    assert transport.done == ["paused", "resumed", "paused", "paused"]
