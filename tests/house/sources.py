"""The project's own files, as the house rules read them."""

from __future__ import annotations

import ast
import gc
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PURE = (
    "dashboard/domain/",
    "dashboard/wire/",
    "dashboard/detect/",
    "dashboard/alert/compose.py",
    "dashboard/alert/digest_text.py",
    "dashboard/alert/incident_text.py",
    "dashboard/alert/rejection_text.py",
    "dashboard/alert/fee_chart.py",
)
NOT_OURS = re.compile(r"(^|/)(\.\w|node_modules/|build/|dist/)")


@dataclass(frozen=True)
class Source:
    """A Python file: its path from the root and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Return the syntax tree, parsed when it is asked for: many rules need none.

        Without the collector, which would look through all earlier trees again and again.
        """
        gc.disable()
        try:
            return ast.parse(self.text)
        finally:
            gc.enable()

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Return every node of the tree."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def functions(self) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
        """Return every function, methods and nested ones included."""
        return tuple(
            node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        )

    @cached_property
    def classes(self) -> tuple[ast.ClassDef, ...]:
        return tuple(node for node in self.nodes if isinstance(node, ast.ClassDef))

    def dotted_names(self) -> Iterator[tuple[int, str]]:
        """Yield every name the code reads, as `a.b.c`, with its line."""
        for node in self.nodes:
            if isinstance(node, ast.Attribute | ast.Name):
                yield node.lineno, _dotted(node)

    def imported_names(self) -> Iterator[tuple[int, str]]:
        """Yield every name the code imports, as `a.b.c`, with its line."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)

    def comments(self) -> Iterator[tuple[int, str]]:
        """Yield every comment with its line."""
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def _dotted(node: ast.expr) -> str:
    """Return a name as it is written; what is no name, as a call, is an ellipsis."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "…"


@cache
def sources_of_product() -> tuple[Source, ...]:
    """Return the code that ships, and the door of the pages."""
    return tuple(_read(path) for path in [*ROOT.glob("app.py"), *_sorted("dashboard", "*.py")])


@cache
def sources_of_tests() -> tuple[Source, ...]:
    """Return the tests and what they build on."""
    return tuple(_read(path) for path in _sorted("tests", "*.py"))


def all_sources() -> tuple[Source, ...]:
    """Return every Python file of the project."""
    return sources_of_product() + sources_of_tests()


def sources_of_decisions() -> tuple[Source, ...]:
    """Return the modules that decide and touch nothing."""
    return tuple(source for source in sources_of_product() if source.path.startswith(PURE))


@cache
def markdown_files() -> tuple[Path, ...]:
    """Return every page of documentation."""
    return tuple(_sorted(".", "*.md"))


def _sorted(folder: str, pattern: str) -> list[Path]:
    found = (ROOT / folder).rglob(pattern)
    return sorted(path for path in found if not NOT_OURS.search(_name(path)))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _read(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    return Source(_name(path), text)


def declared_packages(*groups: str) -> set[str]:
    """Return the names of what running and tracing need, and of what these groups need."""
    declared = project()
    lines = [
        *declared["project"]["dependencies"],
        *declared["project"]["optional-dependencies"]["tracing"],
        *(line for group in groups for line in declared["dependency-groups"][group]),
    ]
    return {canonicalize_name(Requirement(line).name) for line in lines if isinstance(line, str)}


def optional_packages() -> set[str]:
    """Return the names of what extras need."""
    extras = project()["project"]["optional-dependencies"]
    return {canonicalize_name(Requirement(line).name) for each in extras.values() for line in each}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
