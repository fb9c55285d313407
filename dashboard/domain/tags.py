"""Tags of tracked transactions: words that people mark with #, to filter and to write rules by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from dashboard.domain.foreign_text import visible
from dashboard.errors import InputError

LONGEST_TAGS: Final = 200
"""Characters that somebody may type as the tags of a transaction."""

MOST_TAGS: Final = 300
"""Tags that are typed, or read, for one transaction."""

_TAG: Final = re.compile(r"(?<![\w#])#(\w[\w-]{0,39})")
_SEPARATORS: Final = re.compile(r"[\s,;]+")
_QUOTED: Final = 40


def tags_in(text: str) -> frozenset[str]:
    """Return the words of a text that begin with #, without that, in lower case."""
    return frozenset(tag.lower() for tag in _TAG.findall(text))


def typed_tags(text: str) -> frozenset[str]:
    """Read tags that are typed as such, with # or without; InputError names what is none.

    InputError also where there are more than `MOST_TAGS`.
    """
    found = set[str]()
    for word in filter(None, _SEPARATORS.split(text)):
        if len(found) >= MOST_TAGS:
            raise InputError(f"they are more than {MOST_TAGS}: keep those that people look for")
        tag = word.removeprefix("#").lower()
        if tags_in(f"#{tag}") != {tag}:
            raise InputError(
                f"“{visible(word, _QUOTED)}” is no tag: write letters, digits, - and _, "
                "at most 40, with blanks between tags"
            )
        found.add(tag)
    return frozenset(found)


def written_tags(tags: Iterable[str]) -> str:
    """Write tags as people read them: sorted, each behind #, with blanks between them."""
    return " ".join(f"#{tag}" for tag in sorted(tags))
