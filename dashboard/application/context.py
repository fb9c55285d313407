"""What the subjects read from, and answers that all open pages share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar

import msgspec
from msgspec import Struct

from dashboard.application.network_status import NetworkProfile
from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.domain.alerts.condition import INSTALLATION, Subject
from dashboard.domain.alerts.hourly_cap import LARGEST_HOURLY, HourlyCap
from dashboard.domain.alerts.notification import NO_DOMAIN, Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_table import ANY_NAMES, RuleNames
from dashboard.domain.fees.busy_spells import HoldPeriods
from dashboard.domain.formatting import unnamed_network
from dashboard.domain.health.budgets import Budget
from dashboard.domain.health.mail_outages_and_failing_roles import FailingRole
from dashboard.domain.people.access import NO_KEYS, Actor, ConfiguredKeys
from dashboard.domain.people.recipients import NOTHING_CONFIGURED, ConfiguredRecipients
from dashboard.domain.people.sign_in import SignInPolicy
from dashboard.domain.quantity import Clock, NetworkId
from dashboard.domain.rejections.answer_template import AnswerFile
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.rejections.line_limits import NO_TABLES, ModuleLimits
from dashboard.domain.rejections.reasons import Reason, parse_reason
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.domain.tracking.transaction_cost import read_coin_price
from dashboard.errors import InputError, SettingsError
from dashboard.store.alerts.alert_status import open_incidents
from dashboard.store.alerts.notification_search import NotificationFilter, search_notifications
from dashboard.store.chosen_settings import ChosenValue, chosen_values
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.fees.latest import LatestGas, latest_gas
from dashboard.store.rejections.search import search

T = TypeVar("T")
P = ParamSpec("P")
Asked = TypeVar("Asked", bound="ApplicationSubject")


class _SharedAnswer(Struct, Generic[T]):
    """The answer to one question, None until it is computed; `lock` is held meanwhile."""

    lock: Lock = msgspec.field(default_factory=Lock)
    answer: tuple[datetime, T] | None = None


class TtlCache(Generic[T]):
    """Caches each answer for `lifetime`; while it is recomputed, other callers get the old one.

    Callers wait if there is no answer, or only one older than two lifetimes. Nobody waits for the
    answer of another key. Errors are not cached: the next caller computes again. Old answers are
    dropped when a new key is added.
    """

    def __init__(self, lifetime: timedelta, clock: Clock) -> None:
        self._lifetime = lifetime
        self._clock = clock
        self._lock = Lock()
        self._slots: dict[Hashable, _SharedAnswer[T]] = {}

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the cached answer for `key`, recomputed if it has expired."""
        slot = self._slots.get(key) or self._new_slot(key)
        kept = self._kept(slot, 1)
        if kept is not None:
            return kept[1]
        old = self._kept(slot, 2)
        if not slot.lock.acquire(blocking=old is None) and old is not None:
            return old[1]
        try:
            kept = self._kept(slot, 1)
            if kept is None:
                slot.answer = kept = (self._clock(), compute())
            return kept[1]
        finally:
            slot.lock.release()

    def clear(self) -> None:
        """Drop all answers, after a page changed what is stored."""
        with self._lock:
            self._slots.clear()

    def _new_slot(self, key: Hashable) -> _SharedAnswer[T]:
        """Drop slots without a current answer; return the slot of a key, new if needed."""
        with self._lock:
            self._slots = {
                each: slot
                for each, slot in self._slots.items()
                if slot.lock.locked() or self._kept(slot, 2) is not None
            }
            return self._slots.setdefault(key, _SharedAnswer())

    def _kept(self, slot: _SharedAnswer[T], lifetimes: int) -> tuple[datetime, T] | None:
        """Return the answer of a slot unless it is older than so many lifetimes."""
        answer = slot.answer
        if answer is None or timedelta() <= self._clock() - answer[0] < lifetimes * self._lifetime:
            return answer
        return None


class ShownSetting(Struct, frozen=True):
    """One setting in force, as text; a value that may be secret is masked.

    `source` says where it was set. `default` is empty if the value is the default, or if there is
    none; `meaning` is empty if there is no description.
    """

    name: str
    value: str
    source: str
    is_default: bool
    default: str = ""
    meaning: str = ""

    @property
    def section(self) -> str:
        return self.name.partition(".")[0]

    def holds(self, words: str) -> bool:
        """Whether all these words occur in it, ignoring case."""
        text = f"{self.name} {self.value} {self.source} {self.meaning}".lower()
        return all(word in text for word in words.lower().split())


class SettingChange(Struct, frozen=True):
    """What a reload would change: the value of a setting now and after it.

    Both are texts, empty if the setting does not exist; values that may be secret are masked.
    `needs_restart`: a reload refuses the change.
    """

    name: str
    running: str
    after: str
    needs_restart: bool = False


LONGEST_SETTINGS: Final = 100_000
"""Characters of a text of settings that can be checked."""


class CheckedText(Struct, frozen=True):
    """What is wrong with a text of settings, and what a reload with it would change.

    `unread` names settings that refer to files and variables, which were not read.
    """

    mistakes: tuple[str, ...] = ()
    changes: tuple[SettingChange, ...] = ()
    unread: tuple[str, ...] = ()


class ConfigurationState(Struct, frozen=True):
    """The settings with which this process started, and how their files changed since.

    `own_file` is where a person sets them; it may not exist. `changed` is what differs in the files
    now, `mistakes` what is wrong with them now.
    """

    settings: tuple[ShownSetting, ...]
    own_file: str
    started_at: datetime
    changed: tuple[SettingChange, ...] = ()
    mistakes: tuple[str, ...] = ()


class ChoosableSetting(Struct, frozen=True):
    """A setting that people may choose on a page: its value now, and where it comes from.

    A password is masked. `is_fixed`: the file or variable in `source` sets it and takes precedence.
    `default` applies if nothing is chosen; `chosen_at` and `chosen_by` belong to the latest choice.
    """

    name: str
    value: str | int | list[str]
    source: str
    is_fixed: bool
    default: str | int | list[str]
    chosen_at: datetime | None = None
    chosen_by: str = ""


class Choosing(Protocol):
    """How the files of this process and people's choices combine."""

    def settings(self, chosen: Mapping[str, ChosenValue]) -> Iterable[ChoosableSetting]:
        """Return each choosable setting with these choices applied."""

    def refuse_wrong(
        self, before: Mapping[str, ChosenValue], after: Mapping[str, ChosenValue]
    ) -> None:
        """Raise InputError, with the remedy, if a choice is wrong or not allowed."""

    def send_trial(self, chosen: Mapping[str, ChosenValue], recipient: Recipient, by: Actor) -> str:
        """Send a test message; return the server's answer. DeliveryError if it was not taken."""


class PageSettings(Struct, frozen=True):
    """What pages know of the settings.

    Pages warn if less than `low_space` bytes are free on the disk of the store. `public_url` is
    where people open the pages; if it is empty, messages contain no links. `read_rules` parses a
    file of rules; its InputError names every mistake. `recipients` is what the settings say of
    recipients, `rule_names` what names in a rule refer to. `largest_hourly` is how many
    notifications one recipient gets within an hour, `heartbeat_period` how often a heartbeat is
    sent, None for never. `domain` is used in Message-IDs. `answers` is the file of answer
    templates, None if none is used. `keys` are the API keys in the settings. `limit_tables` are the
    public tables of module limits, `configuration` returns all settings, `check_text` checks a text
    as a settings file, without storing it. `failing_roles` are the roles that keep crashing on this
    machine. `sign_in` is the sign-in policy; None if pages are open to everybody who reaches them.
    `budgets` are those of the endpoints. `choosing` says which settings people may choose; None for
    none.
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
    keys: ConfiguredKeys = NO_KEYS
    limit_tables: tuple[ModuleLimits, ...] = ()
    configuration: Callable[[], ConfigurationState] | None = None
    check_text: Callable[[str], CheckedText] | None = None
    failing_roles: Callable[[], Sequence[FailingRole]] = tuple
    sign_in: SignInPolicy | None = None
    budgets: Sequence[Budget] = ()
    choosing: Choosing | None = None

    @property
    def hourly_cap(self) -> HourlyCap:
        return HourlyCap(self.largest_hourly, uncapped=self.recipients.alertmanagers)


NO_SETTINGS: Final = PageSettings()


@dataclass(frozen=True, slots=True)
class ApplicationContext:
    """The store, the networks of this installation, and the clock; shared by all sessions.

    `actor` is the name in the audit log if nobody is named.
    """

    store: Store
    networks: tuple[NetworkProfile, ...]
    now: Clock
    actor: str = "pages"
    settings: PageSettings = NO_SETTINGS
    _shared: dict[object, TtlCache[Any]] = field(default_factory=dict, repr=False, compare=False)

    def shared(self, question: object, lifetime: timedelta) -> TtlCache[Any]:
        return self._shared.setdefault(question, TtlCache(lifetime, self.now))

    def unnamed(self) -> Actor:
        """Return the actor if nobody is named: the pages, or the user of a command."""
        return Actor(self.actor, self.now())

    def profile(self, network_id: NetworkId) -> NetworkProfile | None:
        """Return the profile of a network, None if it was removed from the configuration."""
        return next(
            (profile for profile in self.networks if profile.network_id == network_id), None
        )

    def priced(
        self, connection: Connection, networks: Iterable[NetworkProfile]
    ) -> tuple[NetworkProfile, ...]:
        """Return the networks; people's chosen price applies if the settings file has none."""
        chosen = chosen_values(connection)
        return tuple(
            replace(each, coin_price=read_coin_price(chosen[each.price_setting]))
            if each.coin_price is None and each.price_setting in chosen
            else each
            for each in networks
        )

    def network_name(self, network_id: NetworkId) -> str:
        """Return the name of a network, or its id if it was removed from the configuration."""
        if network_id == INSTALLATION:
            return "this installation"
        profile = self.profile(network_id)
        return unnamed_network(network_id) if profile is None else profile.name

    def label(self, network_id: NetworkId) -> str:
        """Return its name for lists, which say if it is simulated."""
        name = self.network_name(network_id)
        return f"{name} (simulated)" if self.is_simulated(network_id) else name

    def has_data_of(self, network_id: NetworkId) -> bool:
        """Whether rejections, notifications, incidents or fees of a network are stored."""
        with self.store.read_recent() as connection:
            return bool(
                search(connection, RejectionFilter(network_id=network_id), 1)
                or search_notifications(connection, NotificationFilter(network_id=network_id), 1)
                or network_id in {each.subject.network_id for each in open_incidents(connection)}
                or latest_gas(connection, network_id, self.now()) != LatestGas()
            )

    def refuse_other_networks(self, network_ids: Iterable[NetworkId]) -> None:
        """Raise InputError for a network that is not configured."""
        known = {each.network_id: each.name for each in self.networks}
        for each in network_ids:
            if each not in known:
                names = ", ".join(f"{name} ({number})" for number, name in known.items()) or "none"
                raise InputError(f"{each} is not a network of this installation: {names}")

    def zone(self, name: str) -> tzinfo:
        """Return a time zone by name, by default that of [mail]; InputError if there is none."""
        known = self.settings.recipients
        try:
            return known.zones(name or known.zone)
        except SettingsError as error:
            raise InputError(f"the time zone {error}") from error

    def search_scope(self, network_id: NetworkId | None, text: str) -> tuple[NetworkId | None, str]:
        """Return the network to search and the words to search for.

        If the words are the name of a network, in either case, they select that network.
        """
        titled = {each.network_id for each in self.networks if each.name.lower() == text.lower()}
        if len(titled) == 1 and (network_id is None or network_id in titled):
            return titled.pop(), ""
        return network_id, text

    def rule_of(self, subject: Subject) -> HoldPeriods:
        """Return how long a change of this condition must last before it counts."""
        profile = self.profile(subject.network_id)
        rules = ConditionRules() if profile is None else profile.rules
        return rules.of(subject.kind)

    def is_simulated(self, network_id: NetworkId) -> bool:
        profile = self.profile(network_id)
        return profile is not None and profile.is_simulated

    def reason_of(self, stored: StoredRejection) -> Reason:
        """Parse a rejection's reason; the network's table gives a limit that it does not state."""
        profile = self.profile(stored.network_id)
        limits = NO_TABLES if profile is None else profile.line_limits
        return parse_reason(stored.record.reason_message, limits.at(stored.dated_at))


class ApplicationSubject:
    """The questions and acts of one subject.

    Each may raise StoreError, and an act InputError, which says what to do instead.
    """

    def __init__(self, context: ApplicationContext) -> None:
        self._context = context


def shared_for(
    lifetime: timedelta, *, until_write: bool = False
) -> Callable[[Callable[Concatenate[Asked, P], T]], Callable[Concatenate[Asked, P], T]]:
    """Cache the answer of a question for all callers, for each combination of arguments.

    With `until_write`, the next caller after an act of this process asks again.
    """

    def wrap(
        question: Callable[Concatenate[Asked, P], T],
    ) -> Callable[Concatenate[Asked, P], T]:
        @wraps(question)
        def asked(self: Asked, /, *args: P.args, **named: P.kwargs) -> T:
            context = self._context
            writes = context.store.writes if until_write else 0
            key = (writes, args, tuple(named.items()))
            answer: T = context.shared(question, lifetime).get(
                key, lambda: question(self, *args, **named)
            )
            return answer

        return asked

    return wrap
