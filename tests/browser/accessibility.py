"""What axe finds wrong with a page, as people who see, hear or move otherwise would."""

from __future__ import annotations

from typing import Any, Final

from playwright.sync_api import Page

from tests.provision import NODE_FOLDER

_AXE: Final = NODE_FOLDER / "node_modules" / "axe-core" / "axe.min.js"
_RUN: Final = """
() => axe.run(document, {resultTypes: ['violations'], preload: false}).then((found) =>
  found.violations
    .filter((each) => ['serious', 'critical'].includes(each.impact))
    .map((each) => [each.id, each.impact, each.nodes.map((node) => node.html.slice(0, 160))]))
"""


def barriers(page: Page) -> list[Any]:
    """Return what is serious or critical, and stays: the rule, its impact, the elements.

    A page is judged once more if something was found: it may have been between two colours.
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_AXE.read_text(encoding="utf-8"))
    found: list[Any] = page.evaluate(_RUN) and page.evaluate(_RUN)
    return found
