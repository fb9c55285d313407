"""A reason in a word or two."""

from __future__ import annotations

import pytest

from dashboard.domain.rejections.reasons import ReasonKind, name_of


@pytest.mark.parametrize(
    ("kind", "module", "name"),
    [
        (ReasonKind.OVER_LIMIT, "HUB", "HUB"),
        (ReasonKind.OVER_LIMIT, None, "module not named"),
        (ReasonKind.MODULE_UNDEFINED, None, "module undefined"),
    ],
)
def test_reason_is_named_by_its_module_or_else_by_its_kind(
    kind: ReasonKind, module: str | None, name: str
) -> None:
    assert name_of((kind, module)) == name
