"""Watched senders: which addresses are watched, on which networks, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dashboard.application.context import ApplicationSubject
from dashboard.application.listing import Column, Listing, time_column
from dashboard.domain.people.access import Action, Actor, Detail
from dashboard.domain.quantity import Address, NetworkId
from dashboard.domain.rejections.exclusion import or_unknown
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.errors import InputError
from dashboard.store.access.audit_log import note_action
from dashboard.store.rejections.counts import GroupCount, GroupCounts, Grouping, count_by
from dashboard.store.tracking.senders import (
    WatchedSender,
    senders_watched,
    unwatch_sender,
    watch_sender,
)


class WatchedSenders(ApplicationSubject):
    def watched(self, network_id: NetworkId | None = None) -> tuple[WatchedSender, ...]:
        """Return the addresses that are watched on a network, or on any, the latest first."""
        with self._context.store.read_recent() as connection:
            found = senders_watched(connection)
        return tuple(each for each in found if network_id in {None, *each.network_ids})

    def watch(
        self,
        senders: Sequence[Address],
        network_ids: Sequence[NetworkId],
        label: str,
        by: Actor,
    ) -> tuple[bool, ...]:
        """Watch addresses on those networks that allow it; return for each whether it is new.

        InputError if none allows it: only nodes that report to our own serve name senders.
        """
        able = tuple(each for each in network_ids if self._can_watch_senders(each))
        if not able:
            raise InputError(
                "senders can be watched only where nodes report to our own serve, and none of "
                "these networks does: track transactions by hash, or "
                "use the preset own-serve and point its nodes here"
            )
        with self._context.store.write() as connection:
            for each in senders:
                details: dict[str, Detail] = {"networks": able, "label": label}
                note_action(connection, by, Action.WATCH_SENDER, str(each), details)
            return tuple(
                watch_sender(connection, WatchedSender(each, able, by.at, label))
                for each in senders
            )

    def unwatch(self, sender: Address, by: Actor) -> bool:
        """Stop watching an address; False if it was not watched. Tracked hashes stay tracked."""
        by.require(Action.UNWATCH_SENDER)
        with self._context.store.write() as connection:
            was_watched = unwatch_sender(connection, sender)
            if was_watched:
                note_action(connection, by, Action.UNWATCH_SENDER, str(sender))
        return was_watched

    def rank(self, wanted: RejectionFilter, limit: int) -> GroupCounts:
        """Count rejections by sender, the largest number first."""
        with self._context.store.read_recent() as connection:
            return count_by(connection, Grouping.SENDER, wanted, None, limit)

    def listing(self) -> Listing[WatchedSender]:
        context = self._context
        return Listing(
            "senders",
            (
                time_column("since", "watchedAt", lambda each: each.watched_at),
                Column("sender", lambda each: str(each.sender), "from"),
                Column(
                    "networks",
                    lambda each: ", ".join(map(context.label, each.network_ids)),
                    "networks",
                    lambda each: [
                        {"networkId": network_id, "network": context.network_name(network_id)}
                        for network_id in each.network_ids
                    ],
                ),
                Column("label", lambda each: each.label, "label"),
            ),
            "No sender is watched.",
        )

    def _can_watch_senders(self, network_id: NetworkId) -> bool:
        profile = self._context.profile(network_id)
        return profile is not None and profile.sees_all_reports


RANKED: Final[Listing[GroupCount]] = Listing(
    "senders",
    (
        Column(
            "sender",
            lambda each: or_unknown(each.key),
            "from",
            lambda each: None if each.key is None else str(each.key),
        ),
        Column("rejections", lambda each: each.count, "rejections"),
    ),
    "No such rejection is stored.",
)
