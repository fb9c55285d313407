"""House rules of all code: what the linter cannot say or says too late."""

from __future__ import annotations

import ast
import re

from tests.house.sources import ROOT, all_sources, sources_of_decisions, sources_of_product

MODULE_LINES = 400
FUNCTION_LINES = 40
REASONED = re.compile(
    r"# (noqa: [A-Z]+\d+(, ?[A-Z]+\d+)*|type: ignore\[[a-z, -]+\]|pragma: no (cover|branch))"
    r" +(-|#) ?\w"
)
EXEMPTION = re.compile(r"#\s*(noqa|type:\s*ignore|pragma|ruff:|mypy:|fmt:)", re.IGNORECASE)
CLOCKS = {"now", "utcnow", "today", "monotonic", "perf_counter", "time_ns", "uuid4"}


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


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a definition without its decorators and its docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines
