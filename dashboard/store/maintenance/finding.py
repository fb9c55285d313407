"""What verifying finds: what is wrong, and what helps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

RESTORE: Final = "restore a backup from before: `linewatch restore FILE`"
REBUILD: Final = (
    "run `linewatch rebuild`, which computes it again from the data that it is derived from"
)

_LISTED: Final = 10


class Finding(NamedTuple):
    """Something that is not as it must be, and what helps.

    `is_rebuildable`: it is derived from other data that the store holds.
    """

    what: str
    remedy: str
    is_rebuildable: bool = False


def rebuildable(what: str) -> Finding:
    """Return what can be computed again."""
    return Finding(what, REBUILD, is_rebuildable=True)


def first_of(found: Iterable[Finding], more: str) -> Iterator[Finding]:
    """Yield the first findings one by one, then how many `more` there are."""
    rest = iter(found)
    yield from islice(rest, _LISTED)
    left = {True: 0, False: 0}
    for each in rest:
        left[each.is_rebuildable] += 1
    for is_rebuildable, many in left.items():
        if many:
            what = f"{more}: {many:,} more"
            yield rebuildable(what) if is_rebuildable else Finding(what, RESTORE)
