"""What every test shares: the loop of asynchronous tests and the patience of generated ones."""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

from tests.canaries import canaries_in
from tests.databases import DATABASES, new_store
from tests.golden_texts import GoldenTexts
from tests.offline.sitecustomize import LOG, Guard

# Several workers share two cores, so the time of one example says nothing.
settings.register_profile("linewatch", parent=settings(), deadline=None)
settings.load_profile("linewatch")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run choose the database of all tests that do not ask for both, or the whole matrix."""
    parser.addoption("--database", choices=DATABASES, default=DATABASES[0])
    parser.addoption("--rewrite-golden", action="store_true", help="write tests/golden anew")
    parser.addoption("--full", action="store_true", help="the whole matrix: make test-full")


_LEFT: Final = pytest.StashKey[Path]()
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - its own folder below belongs to one user
_LEAST_MEMORY: Final = 6 * 2**30


def pytest_configure(config: pytest.Config) -> None:
    """Keep this process and all that it starts on this machine, its files in memory."""
    _put_files_into_memory()
    descriptor, name = tempfile.mkstemp(prefix="linewatch-left-")
    os.close(descriptor)
    config.stash[_LEFT] = Path(name)
    guard = str(Path(__file__).parent / "offline")
    os.environ[LOG] = name
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (guard, os.environ.get("PYTHONPATH"))))
    sys.addaudithook(Guard(Path(name)))


def _put_files_into_memory() -> None:
    """Let temporary folders be in memory where there is much: tests wait for disks otherwise.

    With that the tests of a store take a third of the time. A folder that was named stays, and so
    does the disk where memory is short, as in a container.
    """
    if "TMPDIR" in os.environ or not _MEMORY.is_dir():
        return
    if shutil.disk_usage(_MEMORY).free < _LEAST_MEMORY:
        return
    folder = _MEMORY / f"linewatch-tests-{os.getuid()}"
    folder.mkdir(mode=0o755, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


_TESTS: Final = Path(__file__).parent
_COMPUTING: Final = frozenset({"house", "model", "unit"})
"""Folders whose tests mostly compute; those of all others wait for processes half of their time."""

_WAITING: Final = ("browser", "story", "faults", "conformance", "integration")
"""The others, those with the longest files first: a long one at the end would run alone."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mix files that wait with files that compute, so that neither kind is left for the end.

    One kind after the other, workers first fought for the cores and then left them idle. Tests
    that are marked so run only with `--full`.
    """
    if not config.getoption("--full"):
        left_out = [item for item in items if item.get_closest_marker("full")]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    kinds: dict[bool, list[Path]] = {True: [], False: []}
    for path in files:
        kinds[_folder(path) in _COMPUTING].append(path)
    kinds[False].sort(key=lambda path: _WAITING.index(_folder(path)))
    kinds[True].sort(key=lambda path: "store" not in path.parts)  # its files are the longest
    places = {
        path: place / len(paths) for paths in kinds.values() for place, path in enumerate(paths)
    }
    items[:] = [item for path in sorted(files, key=places.__getitem__) for item in files[path]]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import all tests without the collector, which takes a sixth of that time for nothing."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _folder(path: Path) -> str:
    return path.relative_to(_TESTS).parts[0]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take the notes of the guard away."""
    config.stash[_LEFT].unlink(missing_ok=True)


@pytest.fixture(autouse=True)
def nothing_leaves_this_machine(pytestconfig: pytest.Config) -> Iterator[None]:
    """Fail with each test in which something was asked that is not on this machine."""
    log = pytestconfig.stash[_LEFT]
    yield
    left = log.read_text(encoding="utf-8")
    if left:
        log.write_text("", encoding="utf-8")
        pytest.fail(f"something would have left this machine:\n{left}")


_ASKED: Final = re.compile(r"^\w+ +(httpx|httpcore|websockets\.client|asyncio)\b.*$", re.MULTILINE)
"""Lines in which clients of the tests name the addresses that they ask."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail with each test that prints or logs a secret of the tests."""
    report = yield
    if call.when == "teardown" and report.passed:
        said = "\n".join(content for _, content in report.sections)
        if leaks := canaries_in(_ASKED.sub("", said)):
            report.outcome, report.longrepr = "failed", f"a secret was printed or logged: {leaks}"
    return report


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> GoldenTexts:
    """Return what compares texts with those that were read and found good."""
    return GoldenTexts(is_rewritten=pytestconfig.getoption("--rewrite-golden"))


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """Name the database of a test: the one that the run was given."""
    name: str = request.config.getoption("--database")
    return name


@pytest.fixture
def store_url(database: str, tmp_path: Path) -> Iterator[str]:
    """Yield the address of a new store."""
    with new_store(database, tmp_path) as url:
        yield url


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, as the product does."""
    return "asyncio"


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Put `__main__` back: Streamlit's AppTest takes its place, and spawned processes run it."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
