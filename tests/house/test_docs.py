"""House rules of the documentation: links lead somewhere, commands and options exist."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.house.sources import ROOT, all_sources, markdown_files

LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
MODULE = re.compile(r"`([\w/]+\.py)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
CODE = re.compile(r"^```\w*\n(.*?)^```|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
PAGES = pytest.mark.parametrize(
    "page", markdown_files(), ids=lambda page: str(page.relative_to(ROOT))
)


@PAGES
def test_link_leads_to_a_file_and_heading_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    lost = [path + anchor for path, anchor in LINK.findall(text) if not _exists(page, path, anchor)]

    assert lost == []


@PAGES
def test_module_that_a_page_names_exists(page: Path) -> None:
    modules = [f"/{source.path}" for source in all_sources()]

    lost = {
        name
        for name in MODULE.findall(page.read_text(encoding="utf-8"))
        if not any(module.endswith(f"/{name}") for module in modules)
    }

    assert lost == set()


@PAGES
def test_test_that_a_page_names_exists(page: Path) -> None:
    named = TEST.findall(page.read_text(encoding="utf-8"))

    lost = [
        name
        for file, name in named
        if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]

    assert lost == []


@PAGES
def test_make_command_of_a_page_exists(page: Path) -> None:
    targets = set(
        re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )

    named = {
        name for line in _code_lines(page) for name in re.findall(r"^(?:\$ )?make ([a-z]+)", line)
    }

    assert named - targets == set()


@PAGES
def test_linewatch_command_of_a_page_exists_with_its_options(page: Path) -> None:
    lines = [line.partition(" #")[0] for line in _code_lines(page)]
    commands = [line for line in lines if re.match(r"(?:\$ )?linewatch(?: |$)", line)]

    unknown = {command: word for command in commands if (word := _unknown_word(command))}

    assert unknown == {}


def _exists(page: Path, path: str, anchor: str) -> bool:
    target = page.parent / path if path else page
    if not target.exists() or not anchor:
        return target.exists()
    headings = HEADING.findall(target.read_text(encoding="utf-8"))
    return anchor in {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
    }


def _code_lines(page: Path) -> Iterator[str]:
    """Yield each line of code blocks and each piece of code within a sentence."""
    for block, span in CODE.findall(page.read_text(encoding="utf-8")):
        yield from (block or span).splitlines()


def _unknown_word(line: str) -> str | None:
    """Follow a command line through the groups; return the first word that does not exist."""
    command: click.Command = _root()
    context = click.Context(command)
    words = iter(line.removeprefix("$ ").split()[1:])
    for word in words:
        if word.startswith("--"):
            name, equals, _ = word.partition("=")
            if name not in _options(command):
                return word
            if not equals and _takes_a_value(command, name):
                next(words, None)
        elif isinstance(command, click.Group) and re.fullmatch("[a-z-]+", word):
            found = command.get_command(context, word)
            if found is None:
                return word
            command, context = found, click.Context(found, parent=context)
    return None


def _root() -> click.Group:
    """Return the group that holds every command."""
    module = importlib.import_module("dashboard.cli.main")
    return next(value for value in vars(module).values() if isinstance(value, click.Group))


def _takes_a_value(command: click.Command, name: str) -> bool:
    options = (each for each in command.params if isinstance(each, click.Option))
    return any(name in each.opts and not each.is_flag for each in options)


def _options(command: click.Command) -> set[str]:
    named = (
        name for parameter in command.params for name in parameter.opts + parameter.secondary_opts
    )
    return {*named, "--help"}
