"""What the queries of every page are answered from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.detect.holding import ConditionRules, HoldRule
from dashboard.domain.audit import Action, Detail
from dashboard.domain.clock import Clock
from dashboard.domain.condition import INSTALLATION, Subject
from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.quantity import NetworkId
from dashboard.domain.reason import Reason, parse_reason
from dashboard.show.queries.network_status import NetworkCard
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store


@dataclass(frozen=True, slots=True)
class Source:
    """The store, the networks of this installation, and the clock; shared by all sessions.

    `actor` is whom the audit log names for what is done through it. With less than `low_space`
    bytes free on the disk of the store, people are told.
    """

    store: Store
    networks: tuple[NetworkCard, ...]
    now: Clock
    actor: str = "pages"
    low_space: int = 0

    def note(
        self,
        connection: Connection,
        action: Action,
        subject: str,
        details: Mapping[str, Detail] | None = None,
    ) -> None:
        """Write an act of ours into the audit log."""
        note_action(connection, self.now(), self.actor, action, subject, details)

    def card(self, network_id: NetworkId) -> NetworkCard | None:
        """Return what is told of a network, None for one that left the configuration."""
        return next((card for card in self.networks if card.network_id == network_id), None)

    def network_name(self, network_id: NetworkId) -> str:
        """Return the name of a network; one that left the configuration is told by its id."""
        if network_id == INSTALLATION:
            return "this installation"
        card = self.card(network_id)
        return f"Network {network_id}" if card is None else card.name

    def narrowed(self, network_id: NetworkId | None, text: str) -> tuple[NetworkId | None, str]:
        """Read a search that is a network's title, in either case, as that network.

        Returns the network to search, and the words that are left to search for.
        """
        titled = {each.network_id for each in self.networks if each.name.lower() == text.lower()}
        if len(titled) == 1 and (network_id is None or network_id in titled):
            return titled.pop(), ""
        return network_id, text

    def rule_of(self, subject: Subject) -> HoldRule:
        """Return how long a change of this condition is seen before it holds."""
        card = self.card(subject.network_id)
        rules = ConditionRules() if card is None else card.rules
        return rules.of(subject.kind)

    def is_simulated(self, network_id: NetworkId) -> bool:
        """Whether a network is made up."""
        card = self.card(network_id)
        return card is not None and card.is_simulated

    def reason_of(self, stored: StoredRejection) -> Reason:
        """Read a rejection's reason, with the limit that its network has where it names none."""
        card = self.card(stored.network_id)
        limits = None if card is None else card.module_limits
        return parse_reason(stored.record.reason_message, limits)
