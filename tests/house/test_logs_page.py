"""House rule of logs: the page lists every field of every event, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.house.sources import ROOT, Source, all_sources

IN_EVERY_LINE = {"timestamp", "level", "role", "subject", "event"}
OF_AN_EXCEPTION = {"exception"}
METHODS = {"debug", "info", "warning", "error", "exception", "critical"}


def test_page_of_logs_lists_every_field_and_no_other() -> None:
    page = (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")
    fields = {
        str(keyword.arg)
        for source in all_sources()
        if source.path.startswith("dashboard/")
        for call in _logged(source)
        for keyword in call.keywords
    }

    listed = set(re.findall(r"^\| `(\w+)` \| \w+ \|", page, re.MULTILINE))

    logged = (fields - {"exc_info"}) | IN_EVERY_LINE | OF_AN_EXCEPTION
    assert listed == logged, "list it in docs/logs.md, or take a field that is there"


def _logged(source: Source) -> Iterator[ast.Call]:
    """Yield each call of a logger of ours, which is named so."""
    for node in source.nodes:
        if isinstance(node, ast.Call):
            called = node.func
            is_method = isinstance(called, ast.Attribute) and called.attr in METHODS
            logger = called.value if isinstance(called, ast.Attribute) and is_method else called
            if isinstance(logger, ast.Name) and re.fullmatch(r"_?(\w+_)?log", logger.id.lower()):
                yield node
