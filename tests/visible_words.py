"""Collects every text that people read: `python -m tests.visible_words FILE`.

The texts of pages, mails, commands, answers and logs stand in one file, by module and in the order
of the code, so that somebody who writes can read them from top to bottom. They are read from the
code itself: what a page shows only in a storm is among them.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path
from typing import Final

from tests.house.sources import ROOT, Source, sources_of_product

_SILENT_FOLDERS: Final = ("dashboard/store/migrations/",)
_SILENT_CALLS: Final = frozenset({"compile", "text", "TypeVar", "NewType", "getattr", "setattr"})
"""Calls whose arguments are patterns, SQL and names."""

_SILENT_KEYWORDS: Final = re.compile(
    r"key|class_|gap|width|type_?|border|icon|role|id_?|style|bind|mode|encoding|errors|href|dash"
    r"|name_|fillcolor|color|shape|visible|[xy]ref|layer|side|ticks|anchor|url_path|scope|format"
    r"|align|\w*_alignment|label_visibility|hoverinfo"
)
"""Parameters that only code reads."""

_CODE: Final = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|PRAGMA|ALTER|DROP|BEGIN|COPY|SET LOCAL)\s"  # SQL
    r"|.*(\(\?|\\[dswb]|\bIS (NOT )?NULL\b|[\w\"]+ !?= ['\"\w{?]+$|\bBETWEEN \?)"  # patterns, SQL
    r"|.*([;{][a-z-]+:\S|-src |'none'|'self')|lw-|badge |\.st-key"  # styles
    r"|(margin-\w+|width|height|background): \S"
    r"|[\w.]+\(|-+[\w-]*$|[A-Z][a-z]?$|%[a-zA-Z]"  # calls, options, categories, times
    r"|[A-Za-z]+(-[A-Z][A-Za-z]*)+$|[a-z]+[A-Z]\w*$|[A-Z][a-z]+[A-Z]\w*$",  # headers, names of keys
    re.DOTALL,
)
_READ: Final = re.compile(r".*\S\s+(?=\S).*[a-z]{2}|.*[a-z]{2}.*\s[A-Z]|[A-Z][a-z]", re.DOTALL)
"""More than one word, or one with a capital letter."""

_HEADING: Final = re.compile(r"[A-Z][A-Z0-9 %]+")
"""What stands above a column of a command's table."""

_QUOTED: Final = re.compile(r""""([^"\n]*)"|'([^'\n]*)'|`([^`]*)`""")
_OF_STYLE: Final = re.compile(r'content: "([^"]*)"')

_WORD: Final = re.compile(r"[A-Za-z][a-z]+")
_TAG: Final = re.compile(
    r"<(?:style|script).*?</(?:style|script)>|<[^>]*>|{[%#].*?[%#]}", re.DOTALL
)
_OTHER_TEXTS: Final = ("*.txt", "*.html", "*.json", "*.js", "*.css")


@dataclass(frozen=True)
class VisibleText:
    """A text that people read, and where it stands; ``{…}`` is what is put into it."""

    path: str
    line: int
    text: str


def visible_texts() -> Iterator[VisibleText]:
    """Yield every text, by file and in the order of each."""
    for source in sources_of_product():
        if not source.path.startswith(_SILENT_FOLDERS):
            yield from _texts_of(source)
    for pattern in _OTHER_TEXTS:
        for file in sorted((ROOT / "dashboard").rglob(pattern)):
            yield from _texts_of_file(file)
    for file in sorted((ROOT / "config").rglob("*.toml")):
        yield from _texts_of_settings(file)


def texts_and_names() -> Iterator[VisibleText]:
    """Yield every text of the code that is not silent, single words and names of keys too."""
    for source in sources_of_product():
        for node, text in _unsilent(source):
            yield VisibleText(source.path, node.lineno, text)


def _texts_of(source: Source) -> Iterator[VisibleText]:
    states = set(_states(source.tree))
    is_command = source.path.startswith("dashboard/cli/")
    for node, text in _unsilent(source):
        is_heading = is_command and _HEADING.fullmatch(text) is not None
        if is_heading or id(node) in states or _is_read(text):
            yield VisibleText(source.path, node.lineno, text)


@cache
def _unsilent(source: Source) -> tuple[tuple[ast.expr, str], ...]:
    silent = _silent_nodes(source.tree)
    return tuple(
        (node, _bare(_text_of(node) or ""))
        for node in _in_order(source.tree)
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in silent
    )


def _in_order(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes as they stand in the code, and nothing inside of a text."""
    yield tree
    if not isinstance(tree, ast.JoinedStr):
        for child in ast.iter_child_nodes(tree):
            yield from _in_order(child)


def _text_of(node: ast.Constant | ast.JoinedStr) -> str | None:
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_part_of, node.values))
    return node.value if isinstance(node.value, str) else None


def _part_of(node: ast.expr) -> str:
    """Return a piece of a text; what is put in by its name, if that is short."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    names = re.findall(r"[a-z_]{3,}", ast.unparse(node))
    return f"{{{names[-1]}}}" if names else "{…}"


def _bare(text: str) -> str:
    """Leave out markup, styles and scripts."""
    bare = _TAG.sub(" ", text).strip() if "<" in text else text
    return re.sub(r"%{.*?}", "{…}", bare)


def _is_read(text: str) -> bool:
    return not _CODE.match(text) and _READ.match(text.strip()) is not None


def _silent_nodes(tree: ast.AST) -> set[int]:
    """Return what only code reads: docstrings, patterns, SQL, names of parameters and exports."""
    silent: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() as docstring):
                silent.add(id(docstring))
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if (
                name in _SILENT_CALLS
            ):
                silent.update(id(each) for each in ast.walk(node))
            case ast.keyword(arg=str(name), value=value) if _SILENT_KEYWORDS.fullmatch(name):
                silent.add(id(value))
            case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.FunctionDef(name="__repr__"):
                silent.update(id(each) for each in ast.walk(node))
            case _:
                pass
    return silent - set(_helps(tree))


def _states(tree: ast.AST) -> Iterator[int]:
    """Yield the values of enumerations: states, kinds and verdicts, each a word on some page."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and "StrEnum" in map(ast.unparse, node.bases):
            yield from (
                id(each.value)
                for each in node.body
                if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)
            )


def _helps(tree: ast.AST) -> Iterator[int]:
    """Yield the docstrings that a command prints as its help."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _is_command(node.decorator_list):
            first = node.body[0]
            if isinstance(first, ast.Expr):
                yield id(first.value)


def _is_command(decorators: list[ast.expr]) -> bool:
    return any(re.search(r"\.(command|group)\b", ast.unparse(each)) for each in decorators)


def _texts_of_file(file: Path) -> Iterator[VisibleText]:
    """Read a template, a page or a document of an API."""
    path, text = file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")
    if file.suffix == ".json":
        for said in _described(json.loads(text)):
            yield VisibleText(path, 1, said)
        return
    if file.suffix in {".js", ".css"}:
        yield from _texts_of_script(path, text)
        return
    bare = _TAG.sub(lambda tag: "\n" * tag[0].count("\n"), text)
    for number, line in enumerate(bare.splitlines(), start=1):
        said = " ".join(re.sub(r"{{.*?}}", "{…}", unescape(line)).split())
        if _WORD.search(said.replace("{…}", "")):
            yield VisibleText(path, number, said)


def _texts_of_script(path: str, text: str) -> Iterator[VisibleText]:
    """Read what a script of a browser writes, and what a style adds."""
    pattern = _QUOTED if path.endswith(".js") else _OF_STYLE
    for number, line in enumerate(text.splitlines(), start=1):
        for match in pattern.finditer(re.sub(r"(^|\s)(//|\*).*", "", line)):
            said = re.sub(r"\${.*?}", "{…}", next(filter(None, match.groups()), ""))
            if _is_read(said):
                yield VisibleText(path, number, said)


def _texts_of_settings(file: Path) -> Iterator[VisibleText]:
    """Read what a settings file says beside its values; lines that go on are joined."""
    path, said, begun = file.relative_to(ROOT).as_posix(), "", 0
    for number, line in enumerate([*file.read_text(encoding="utf-8").splitlines(), ""], start=1):
        before, mark, remark = line.partition("#")
        if said and (before.strip() or not mark):
            yield VisibleText(path, begun, said)
            said = ""
        begun = begun if said else number
        said = f"{said} {remark.strip()}".strip()


def _described(document: object) -> Iterator[str]:
    """Yield what an OpenAPI or OpenRPC document says to people."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name in {"description", "summary", "title"} and isinstance(value, str):
                yield value
            else:
                yield from _described(value)
    elif isinstance(document, list):
        for value in document:
            yield from _described(value)


def write_texts(file: Path) -> None:
    """Write them all, each module under its name."""
    lines, path = [], ""
    for each in visible_texts():
        if each.path != path:
            path = each.path
            lines.append(f"\n# {path}\n")
        lines.append(f"{each.line:4}  {' '.join(each.text.split())}")
    file.write_text("\n".join(lines).lstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_texts(Path(sys.argv[1]))
