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
"""Tags of one transaction; those of its label and note alone are always fewer."""

LONGEST_TAG: Final = 40
"""Characters of one tag."""

TAGS_LEFT_OUT: Final = f"without its tags, since it would have more than {MOST_TAGS}: remove some"
"""What became of tags that are too many with those that a transaction has."""

_TAG: Final = re.compile(rf"(?<![\w#])#(\w[\w-]{{0,{LONGEST_TAG - 1}}})")
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
                f"at most {LONGEST_TAG}, with blanks between tags"
            )
        found.add(tag)
    return frozenset(found)


def own_tags(tags: str, *texts: str) -> frozenset[str]:
    """Return those of written tags that do not come from the label or the note."""
    return tags_in(tags) - tags_in(" ".join(texts))


def written_tags(tags: Iterable[str]) -> str:
    """Write tags as people read them: sorted, each behind #, with blanks between them."""
    return " ".join(f"#{tag}" for tag in sorted(tags))
