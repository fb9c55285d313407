"""Retry a request that got no answer: a few times, with growing waits, within one deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import stamina

from dashboard.errors import UpstreamUnavailable

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How a request is retried after UpstreamUnavailable, and after no other error.

    `deadline` bounds all attempts and waits together. Each wait is twice the one before, plus
    a random share of `jitter`, so that clients that failed together do not return together.
    """

    attempts: int = 3
    deadline: timedelta = timedelta(seconds=30)
    first_wait: timedelta = timedelta(milliseconds=200)
    longest_wait: timedelta = timedelta(seconds=5)
    jitter: timedelta = timedelta(milliseconds=300)


async def with_retries(
    ask: Callable[[], Awaitable[Answer]], policy: RetryPolicy, name: str
) -> Answer:
    """Return what `ask` answers within the policy; `name` is the endpoint's, for the error."""
    try:
        async with asyncio.timeout(policy.deadline.total_seconds()):
            async for attempt in stamina.retry_context(
                on=UpstreamUnavailable,
                attempts=policy.attempts,
                timeout=None,  # the deadline above also ends an attempt that hangs
                wait_initial=policy.first_wait,
                wait_max=policy.longest_wait,
                wait_jitter=policy.jitter,
            ):
                with attempt:
                    return await ask()
    except TimeoutError:
        seconds = policy.deadline.total_seconds()
        raise UpstreamUnavailable(f"{name}: no answer within {seconds:g} s in all") from None
    raise AssertionError("a retry context answers or raises")  # pragma: no cover - for the types
