"""House rules of all code, and of tests: what the linter cannot say or says too late."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import packages_distributions

import pytest
from packaging.utils import canonicalize_name

from tests.golden_texts import GOLDEN
from tests.house.sources import (
    ROOT,
    Source,
    all_sources,
    declared_packages,
    optional_packages,
    sources_of_decisions,
    sources_of_product,
    sources_of_tests,
)

MODULE_LINES = 400
FUNCTION_LINES = 40
REASONED = re.compile(
    r"# (noqa: [A-Z]+\d+(, ?[A-Z]+\d+)*|type: ignore\[[a-z, -]+\]|pragma: no (cover|branch))"
    r" +(-|#) ?\w"
)
EXEMPTION = re.compile(r"#\s*(noqa|type:\s*ignore|pragma|ruff:|mypy:|fmt:)", re.IGNORECASE)
CLOCKS = {"now", "utcnow", "today", "monotonic", "perf_counter", "time_ns", "uuid4"}
FORBIDDEN = re.compile(
    r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)"
    r"|(\w+\.)*skipTest"
    r"|(monkeypatch|\w*patch)\.(setattr|delattr|object)"
    r"|unittest\.mock(\..*)?"
    r"|time\.sleep"
    r"|pytest\.mark\.timeout"  # there is one patience, in tests/waiting.py
    r"|(\w+\.)*TestClient"  # it runs an app without its server, and Streamlit's once a process
)
OURS = {"dashboard", "tests"}
UNIMPORTED = {"httptools", "sniffio", "tzdata"}
"""What another library imports for us, once it is told to, or finds its data in."""


def test_module_opens_with_one_line_that_says_what_it_is_about() -> None:
    offences = [
        source.path
        for source in all_sources()
        if not re.fullmatch(r"[^\n]*[.:](\n\n.*)?", ast.get_docstring(source.tree) or "", re.DOTALL)
    ]

    assert offences == []


def test_module_fits_four_hundred_lines() -> None:
    lengths = {source.path: source.text.count("\n") for source in all_sources()}

    assert {path: lines for path, lines in lengths.items() if lines > MODULE_LINES} == {}


def test_function_fits_forty_lines() -> None:
    offences = [
        f"{source.path}:{function.lineno} {function.name} has {_length(function)} lines"
        for source in all_sources()
        for function in source.functions
        if _length(function) > FUNCTION_LINES
    ]

    assert offences == []


def test_exemption_from_a_tool_names_its_rule_and_its_reason() -> None:
    offences = [
        f"{source.path}:{line} {comment}"
        for source in all_sources()
        if EXEMPTION.search(source.text)
        for line, comment in source.comments()
        if EXEMPTION.search(comment) and not REASONED.search(comment)
    ]

    assert offences == []


def test_time_of_day_is_asked_of_the_one_clock_that_cuts_it_as_the_store_does() -> None:
    askers = {
        source.path
        for source in sources_of_product()
        for _, name in source.dotted_names()
        if name in {"datetime.now", "time.time"}
    }

    assert askers == {"dashboard/wiring/clock.py", "dashboard/poll/scheduler.py"}


def test_pure_module_takes_the_time_as_an_argument() -> None:
    offences = [
        f"{source.path}:{line} {name}"
        for source in sources_of_decisions()
        for line, name in source.dotted_names()
        if name.rpartition(".")[2] in CLOCKS and "." in name
    ]

    assert offences == []


def test_no_folder_is_called_pages() -> None:
    # Streamlit serves the files of such a folder directly, past the main script and its sign-in.
    assert [path for path in (ROOT / "dashboard").rglob("pages") if path.is_dir()] == []


def test_test_neither_skips_nor_patches_nor_sleeps() -> None:
    offences = [
        f"{source.path}:{line} {name}"
        for source in sources_of_tests()
        for line, name in [*source.dotted_names(), *source.imported_names()]
        if FORBIDDEN.fullmatch(name)
    ]

    assert offences == []


def test_file_with_tests_is_found_by_pytest() -> None:
    offences = [
        source.path
        for source in sources_of_tests()
        if any(True for _ in _test_names(source))
        and not (ROOT / source.path).name.startswith("test_")
    ]

    assert offences == []


def test_golden_file_is_compared_by_a_test() -> None:
    tests = "".join(source.text for source in sources_of_tests())
    files = [file.relative_to(GOLDEN).with_suffix("").as_posix() for file in GOLDEN.rglob("*.txt")]

    assert [name for name in files if f'"{name}"' not in tests] == []


@pytest.mark.parametrize(
    ("sources", "groups"),
    [(sources_of_product, ()), (sources_of_tests, ("dev",))],
    ids=["run", "dev"],
)
def test_import_is_of_a_declared_package(
    sources: Callable[[], tuple[Source, ...]], groups: tuple[str, ...]
) -> None:
    declared = declared_packages(*groups) | optional_packages()

    offences = {package: path for package, path in _imported(sources()) if package not in declared}

    assert offences == {}


def test_declared_package_is_imported_when_running() -> None:
    imported = {package for package, _ in _imported(sources_of_product())}

    assert declared_packages() - imported == UNIMPORTED
    assert optional_packages() <= imported


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a definition without its decorators and its docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def _test_names(source: Source) -> list[str]:
    return [function.name for function in source.functions if function.name.startswith("test_")]


def _imported(sources: Iterable[Source]) -> set[tuple[str, str]]:
    """Return the packages that are imported, each with a file that does it.

    Of a name that several packages share, those that are declared count, if there is one.
    """
    known, declared = packages_distributions(), declared_packages("dev")
    tops = {
        (name.partition(".")[0], source.path)
        for source in sources
        for _, name in source.imported_names()
    }
    return {
        (package, path)
        for top, path in tops
        if top not in sys.stdlib_module_names and top not in OURS
        for packages in [{canonicalize_name(each) for each in known.get(top, [top])}]
        for package in packages & declared or packages
    }
