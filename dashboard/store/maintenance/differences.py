"""Where two ways of counting the same do not come to the same."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import BigInteger, Select, func, literal, select, type_coerce, union_all

_NONE: Final = literal(0, BigInteger)


def differing(held: Select[Any], anew: Select[Any]) -> Select[Any]:
    """Select the keys of which the two say different numbers, with what is `kept` and `counted`.

    Both have the same columns, the last of which is the number; a key that one of them lacks is
    zero there. Keys are called as in `held` and typed as in `anew`.
    """
    *keys, kept = held.subquery().c
    *groups, counted = anew.subquery().c
    names = [key.name for key in keys]
    ours = [
        type_coerce(key, group.type).label(key.name)
        for key, group in zip(keys, groups, strict=True)
    ]
    theirs = [group.label(name) for group, name in zip(groups, names, strict=True)]
    pile = union_all(
        select(*ours, kept.label("kept"), _NONE.label("counted")),
        select(*theirs, _NONE, counted),
    ).subquery()
    *places, one, other = pile.c
    sums = func.sum(one), func.sum(other)
    told = select(*places, sums[0].label("kept"), sums[1].label("counted"))
    return told.group_by(*places).having(sums[0] != sums[1])
