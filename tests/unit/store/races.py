"""Races: contenders that start at one moment, as threads of one store or as real processes."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from typing import Final, Protocol, TypeVar

from dashboard.store.engine.engine import Store, open_store
from tests.waiting import PATIENCE

T = TypeVar("T")

CONTENDERS: Final = 3


class Race(Protocol):
    """Lets contenders loose on one store; returns what each of them got."""

    def __call__(self, url: str, contend: Callable[[Store, int], T], /) -> list[T]:
        """Call `contend` with a store and the contender's number."""


def race_of_threads(url: str, contend: Callable[[Store, int], T]) -> list[T]:
    """Let threads contend that share one open store."""
    together = threading.Barrier(CONTENDERS)

    def start(number: int) -> T:
        together.wait(PATIENCE)
        return contend(store, number)

    with open_store(url) as store, ThreadPoolExecutor(CONTENDERS) as threads:
        return list(threads.map(start, range(CONTENDERS)))


@contextmanager
def races_of_processes() -> Iterator[Race]:
    """Start processes that contend in every race; `contend` is a function they can import."""
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(CONTENDERS)
    with context.Pool(CONTENDERS, _enter, (together,)) as processes:

        def race(url: str, contend: Callable[[Store, int], T]) -> list[T]:
            turns = [(url, contend, number) for number in range(CONTENDERS)]
            return processes.starmap(_start, turns, chunksize=1)

        yield race


_together: list[Barrier] = []


def _enter(together: Barrier) -> None:
    """Take the barrier along; it cannot travel with a call."""
    _together.append(together)


def _start(url: str, contend: Callable[[Store, int], T], number: int) -> T:
    with open_store(url) as store:
        _together[0].wait(PATIENCE)
        return contend(store, number)
