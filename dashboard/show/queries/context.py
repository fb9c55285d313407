"""What the queries of every page are answered from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from typing import Final

from dashboard.detect.condition_start_end import ConditionRules
from dashboard.domain.audit import Action, Actor, Detail
from dashboard.domain.clock import Clock
from dashboard.domain.condition import INSTALLATION, Subject
from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.failing_role import FailingRole
from dashboard.domain.module_limits import ModuleLimits
from dashboard.domain.notification import NO_DOMAIN
from dashboard.domain.notification_pace import LARGEST_HOURLY
from dashboard.domain.quantity import NetworkId
from dashboard.domain.reason_parser import Reason, parse_reason
from dashboard.domain.recipients import NOTHING_CONFIGURED, ConfiguredRecipients
from dashboard.domain.rule import Rule
from dashboard.domain.rule_table import ANY_NAMES, RuleNames
from dashboard.domain.spells import HoldPeriods
from dashboard.errors import InputError, SettingsError
from dashboard.show.queries.answers import AnswerFile
from dashboard.show.queries.network_status import NetworkProfile
from dashboard.show.queries.settings import ConfigurationState
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store


@dataclass(frozen=True, slots=True)
class PageSettings:
    """What pages know of the settings.

    With less than `low_space` bytes free on the disk of the store, pages warn. `public_url` is
    where people open them, empty where nobody said so: then messages hold no links.
    `read_rules` reads a file of rules; it raises InputError that names every mistake.
    `recipients` is what the settings say of them, `rule_names` what the names in a rule stand for.
    `largest_hourly` is how many notifications one recipient gets within an hour,
    `heartbeat_period` how often a heartbeat is sent, None where none is. Message-IDs stand below
    `domain`. `answers` is the file of templates for answers, None where none is used.
    `limit_tables` are the public tables of module limits, `configuration` returns all settings,
    `failing_roles` the roles that keep dying on this machine.
    """

    low_space: int = 0
    public_url: str = ""
    read_rules: Callable[[str], tuple[Rule, ...]] | None = None
    recipients: ConfiguredRecipients = NOTHING_CONFIGURED
    rule_names: RuleNames = ANY_NAMES
    largest_hourly: int = LARGEST_HOURLY
    heartbeat_period: timedelta | None = None
    domain: str = NO_DOMAIN
    answers: AnswerFile | None = None
    limit_tables: tuple[ModuleLimits, ...] = ()
    configuration: Callable[[], ConfigurationState] | None = None
    failing_roles: Callable[[], Sequence[FailingRole]] = tuple


NO_SETTINGS: Final = PageSettings()


@dataclass(frozen=True, slots=True)
class QueryContext:
    """The store, the networks of this installation, and the clock; shared by all sessions.

    `actor` is whom the audit log names for changes.
    """

    store: Store
    networks: tuple[NetworkProfile, ...]
    now: Clock
    actor: str = "pages"
    settings: PageSettings = NO_SETTINGS

    def audit(
        self,
        connection: Connection,
        action: Action,
        subject: str,
        details: Mapping[str, Detail] | None = None,
        by: Actor | None = None,
    ) -> None:
        """Write a change into the audit log; without `by`, `actor` made it now."""
        who = by or Actor(self.actor, self.now())
        note_action(connection, who.at, who.name, action, subject, details)

    def profile(self, network_id: NetworkId) -> NetworkProfile | None:
        """Return the profile of a network, None for one that left the configuration."""
        return next(
            (profile for profile in self.networks if profile.network_id == network_id), None
        )

    def network_name(self, network_id: NetworkId) -> str:
        """Return the name of a network; one that left the configuration is named by its id."""
        if network_id == INSTALLATION:
            return "this installation"
        profile = self.profile(network_id)
        return f"Network {network_id}" if profile is None else profile.name

    def zone(self, name: str) -> tzinfo:
        """Return a time zone by its name, empty for that of [mail]; InputError for no zone."""
        known = self.settings.recipients
        try:
            return known.zones(name or known.zone)
        except SettingsError as error:
            raise InputError(f"the time zone {error}") from error

    def search_scope(self, network_id: NetworkId | None, text: str) -> tuple[NetworkId | None, str]:
        """Return the network to search and the words to search for.

        Words that are the title of a network, in either case, stand for that network.
        """
        titled = {each.network_id for each in self.networks if each.name.lower() == text.lower()}
        if len(titled) == 1 and (network_id is None or network_id in titled):
            return titled.pop(), ""
        return network_id, text

    def rule_of(self, subject: Subject) -> HoldPeriods:
        """Return how long a change of this condition is seen before it holds."""
        profile = self.profile(subject.network_id)
        rules = ConditionRules() if profile is None else profile.rules
        return rules.of(subject.kind)

    def is_simulated(self, network_id: NetworkId) -> bool:
        """Whether a network is simulated."""
        profile = self.profile(network_id)
        return profile is not None and profile.is_simulated

    def reason_of(self, stored: StoredRejection) -> Reason:
        """Read a rejection's reason, with the limit that its network has where it names none."""
        profile = self.profile(stored.network_id)
        limits = None if profile is None else profile.module_limits
        return parse_reason(stored.record.reason_message, limits)
