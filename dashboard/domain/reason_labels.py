"""Labels of reasons, in a word or two: the module that one names, or its kind."""

from __future__ import annotations

from typing import Final, TypeAlias

from dashboard.domain.reason_parser import ReasonKind

Named: TypeAlias = tuple[ReasonKind, str | None]
"""What a reason names: its kind, and the module where it tells one."""

KIND_NAMES: Final = {
    ReasonKind.OVER_LIMIT: "module not named",
    ReasonKind.INVALID_COUNT: "lines not counted",
    ReasonKind.OTHER_RULE: "another rule",
    ReasonKind.UNPARSED: "unknown reason",
}
"""What a reason is called that names no module; no module has a blank in its name."""


def name_of(named: Named) -> str:
    """Return what is shown of a reason in few words."""
    kind, module = named
    return module or KIND_NAMES.get(kind, kind.value.replace("_", " "))
