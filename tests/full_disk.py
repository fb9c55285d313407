"""A disk that takes nothing more, as this process sees it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

from tests.processes import shared_launcher


@contextmanager
def disk_that_takes_nothing() -> Iterator[None]:
    """Let every write to a file fail; Python ignores the signal that comes with it.

    The launcher of commands writes files when it starts, so it is there before.
    """
    shared_launcher()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
