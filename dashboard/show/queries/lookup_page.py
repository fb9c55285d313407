"""What the page Lookup asks: what a paste stands for, saved look-ups, and the live question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from dashboard.domain.paste import Paste, WrongText
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.domain.search import LONGEST_SEARCH, bare_beginning, parse_search
from dashboard.show.queries.context import QueryContext
from dashboard.show.queries.network_status import NetworkProfile
from dashboard.store.engine.connection import Connection
from dashboard.store.rejections.search import search
from dashboard.store.tracking.saved_lookups import save_lookup, saved_lookup
from dashboard.store.tracking.search import TrackedFilter, search_tracked

MOST_FOUND: Final = 25
"""At most so many transactions stand for words, and so many pieces of a paste are searched."""


class LookupQueries:
    """Every answer may raise StoreError."""

    def __init__(self, context: QueryContext) -> None:
        """Ask nothing yet."""
        self._context = context

    def save(self, hashes: Sequence[TxHash]) -> str:
        """Save the hashes for a link to pass on; return the id that the link names."""
        with self._context.store.write() as connection:
            return save_lookup(connection, hashes, self._context.now())

    def saved(self, lookup_id: str) -> tuple[TxHash, ...] | None:
        """Return the hashes of a look-up; None where it is not kept, or not any more."""
        with self._context.store.read() as connection:
            return saved_lookup(connection, lookup_id)

    def find(self, paste: Paste) -> Paste:
        """Replace what is no hash by the rejected or tracked transactions that it stands for.

        A part of a hash stands for the one that is known with it; a text that was pasted alone
        stands for all that a search finds.
        """
        hashes, wrong = list(paste.hashes), list[WrongText]()
        is_alone = not hashes and len(paste.wrong) == 1
        with self._context.store.read() as connection:
            for each in paste.wrong[:MOST_FOUND]:
                known = _matching_hashes(connection, each.text, is_alone=is_alone)
                if len(known) == 1 or is_alone:
                    hashes += known
                if len(known) > 1 and not is_alone:
                    why = f"matches {len(known)} known transactions; give more digits"
                    wrong.append(replace(each, why=why))
                elif not known:
                    wrong.append(each)
        once = tuple(dict.fromkeys(hashes))
        repeated = paste.repeated + len(hashes) - len(once)
        return Paste(once, repeated, (*wrong, *paste.wrong[MOST_FOUND:]))


def _matching_hashes(connection: Connection, text: str, *, is_alone: bool) -> list[TxHash]:
    """Return the hashes that a text stands for, the latest first; words count where `is_alone`."""
    found = parse_search(text)
    hashes = found.tx_hashes or found.beginning or bare_beginning(text)
    if len(text) > LONGEST_SEARCH or not (hashes or is_alone):
        return []
    words = "" if hashes else found.words
    rejected = RejectionFilter(beginning=hashes, sender=found.sender, search=words)
    known = [each.record.tx_hash for each in search(connection, rejected, MOST_FOUND)]
    if found.sender is None:
        tracked = TrackedFilter(tx_hashes=hashes, search=words)
        named = TrackedFilter(case_id=text.strip())  # "1742" may as well begin a hash
        for wanted in (named, tracked):
            known += [each.tx_hash for each in search_tracked(connection, wanted, MOST_FOUND)]
    return list(dict.fromkeys(known))[:MOST_FOUND]


LookUp: TypeAlias = Callable[[tuple[TxHash, ...], NetworkId | None], None]
"""Ask upstream about hashes now, on one network or all, and store the answers.

It has a deadline of its own and raises nothing for upstream trouble.
"""

AT_ONCE: Final = 500
"""Hashes of one question: what a gateway answers within its deadline, also in small batches."""


def ask_in_portions(
    look_up: LookUp, hashes: Sequence[TxHash], network_id: NetworkId | None = None
) -> Iterator[int]:
    """Ask about many hashes, each portion within a deadline of its own; yield how many are done."""
    for begin in range(0, len(hashes), AT_ONCE):
        some = tuple(hashes[begin : begin + AT_ONCE])
        look_up(some, network_id)
        yield begin + len(some)


def asking_cost(networks: Sequence[NetworkProfile], count: int) -> str:
    """Say what it costs to ask once about so many transactions; empty where it costs nothing."""
    charged = [each for each in networks if each.has_exclusion and each.question_credits]
    if not charged:
        return ""
    total = count * sum(each.question_credits for each in charged)
    names = ", ".join(f"{each.question_credits:,} on {each.name}" for each in charged)
    return f"Asking costs {total:,} credits: for each transaction {names}."
