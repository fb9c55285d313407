"""What verifying finds: what is wrong, and what helps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

RESTORE: Final = "restore a backup from before: `linewatch restore FILE`"
MEND: Final = "run `linewatch verify --mend`, which makes it anew of what it is made of"

_NAMED: Final = 10


class Finding(NamedTuple):
    """Something that is not as it must be, and what helps.

    `is_mendable`: it follows from what the store holds, and can be made anew of that.
    """

    what: str
    remedy: str
    is_mendable: bool = False


def mendable(what: str) -> Finding:
    """Return what can be made anew."""
    return Finding(what, MEND, is_mendable=True)


def named(found: Iterable[Finding], more: str) -> Iterator[Finding]:
    """Tell the first of what was found one by one, and how many `more` there are."""
    rest = iter(found)
    yield from islice(rest, _NAMED)
    left = {True: 0, False: 0}
    for each in rest:
        left[each.is_mendable] += 1
    for is_mendable, many in left.items():
        if many:
            what = f"{many:,} more {more}"
            yield mendable(what) if is_mendable else Finding(what, RESTORE)
