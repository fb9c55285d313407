"""What people can ask and do, subject by subject, for pages, commands and links alike.

Questions and acts use the store. Only asking now waits for an upstream, within a deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeAlias

from msgspec import Struct

from dashboard.application.attention import Attention
from dashboard.application.chosen_settings import ChosenSettings
from dashboard.application.context import (
    NO_SETTINGS,
    ApplicationContext,
    ApplicationSubject,
    PageSettings,
    TtlCache,
    shared_for,
)
from dashboard.application.customer_answers import AnswerTexts
from dashboard.application.deliveries import Notifications
from dashboard.application.fees import Fees
from dashboard.application.health import InstallationHealth
from dashboard.application.health_troubles import absent_worker, health_troubles
from dashboard.application.incidents import Incidents
from dashboard.application.line_limits import LineLimitEnds, without_expected_outage
from dashboard.application.lookup import LookUp, Lookups, ask_in_portions
from dashboard.application.network_status import (
    Activity,
    NetworkProfile,
    NetworkStatus,
    conclude_status,
    read_all_figures,
)
from dashboard.application.overview import Overview, needed_attention
from dashboard.application.people import People
from dashboard.application.recipients import Recipients
from dashboard.application.rejections import Rejections
from dashboard.application.rules import AlertRules
from dashboard.application.senders import WatchedSenders
from dashboard.application.share_links import Sharing
from dashboard.application.signed_links import LinkActions
from dashboard.application.silences import Silences
from dashboard.application.tracked import TrackedTransactions
from dashboard.application.transaction_summary import TransactionSummary
from dashboard.application.watches import Watches
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import Clock, NetworkId, TxHash
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_csv import ListedTransaction, TrackResult
from dashboard.store.alerts.incidents import count_changes
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.transactions import tracked_among

LOOK_UP_DEADLINE: Final = timedelta(seconds=8)
RECENT: Final = timedelta(seconds=20)
"""How long the summaries of many hashes are cached: less than the refresh period of their page."""

_SHARED_FOR: Final = timedelta(seconds=1)

StatusesAsOf = tuple[datetime, tuple[NetworkStatus, ...]]


class Application(ApplicationSubject):
    """What people can ask and do; one for the process, shared by all sessions.

    Each subject is an attribute. Every question may raise StoreError. Answers that all viewers
    share are cached for a second. Answers that an act changes are read again after it: see
    `Store.writes`.
    """

    def __init__(
        self,
        store: Store,
        networks: Sequence[NetworkProfile],
        look_up: LookUp | None,
        clock: Clock,
        look_up_deadline: timedelta = LOOK_UP_DEADLINE,
        settings: PageSettings = NO_SETTINGS,
    ) -> None:
        """Read from `store`; `look_up` asks upstream, None if no upstream can be asked.

        `look_up_deadline` is the deadline of `look_up`, to be shown.
        """
        self.networks = tuple(networks)
        self.look_up_deadline = look_up_deadline
        self.look_up = look_up
        self.now = clock
        self._store = store
        context = ApplicationContext(store, self.networks, clock, settings=settings)
        super().__init__(context)
        self.context = context
        self.overview = Overview(context)
        self.fees = Fees(context)
        self.health = InstallationHealth(context)
        self.rejections = Rejections(context)
        self.line_limits = LineLimitEnds(context)
        self.tracked = TrackedTransactions(context)
        self.senders = WatchedSenders(context)
        self.alerts = Notifications(context)
        self.silences = Silences(context)
        self.recipients = Recipients(context)
        self.rules = AlertRules(context)
        self.watches = Watches(context)
        self.incidents = Incidents(context)
        self.links = LinkActions(context)
        self.lookups = Lookups(context)
        self.answers = AnswerTexts(context)
        self.people = People(context)
        self.sharing = Sharing(context)
        self.chosen_settings = ChosenSettings(context)
        self._needed: TtlCache[tuple[Attention, ...]] = TtlCache(_SHARED_FOR, clock)
        self._recent: TtlCache[tuple[TransactionSummary, ...]] = TtlCache(RECENT, clock)

    @property
    def store_name(self) -> str:
        """The name of the store in messages."""
        return self._store.name

    def network_name(self, network_id: NetworkId) -> str:
        return self.context.network_name(network_id)

    def network_statuses(self) -> tuple[NetworkStatus, ...]:
        """Return for each network whether it is busy, with its figures and their ages."""
        return self.statuses_as_of()[1]

    @shared_for(_SHARED_FOR)
    def statuses_as_of(self) -> StatusesAsOf:
        """Return the same with its moment, which is up to a second ago.

        Ages as of that moment are the same for all viewers.
        """
        now = self.now()
        with self._store.read_recent() as connection:
            networks = self.context.priced(connection, self.networks)
            figures = read_all_figures(connection, networks, now)
        ended = self.line_limits.ended()
        awaited = (without_expected_outage(each, ended) for each in figures)
        return now, tuple(conclude_status(each, now) for each in awaited)

    def needed_attention(
        self, statuses: Sequence[NetworkStatus], now: datetime
    ) -> tuple[Attention, ...]:
        """Return what needs attention on these networks now, the most urgent first."""
        key = (*(each.profile.network_id for each in statuses), now, self._store.writes)
        return self._needed.get(key, lambda: self._find_needed(statuses, now))

    def absent_worker(self) -> Attention | None:
        return absent_worker(self.health.health())

    @shared_for(_SHARED_FOR, until_write=True)
    def tracked_among(self, *hashes: TxHash) -> frozenset[TxHash]:
        with self._store.read_recent() as connection:
            return frozenset(tracked_among(connection, hashes))

    def summaries(self, hashes: Sequence[TxHash]) -> tuple[TransactionSummary, ...]:
        """Return what is known of each hash, in the order given; never from the cache."""
        return tuple(self.lookups.known(hashes))

    def recent_summaries(self, hashes: Sequence[TxHash]) -> tuple[TransactionSummary, ...]:
        """Return the same for many hashes, at most `RECENT` old, shared by all viewers."""
        return self._recent.get(tuple(hashes), lambda: self.summaries(hashes))

    def discard_recent_summaries(self) -> None:
        """Clear the cache of `recent_summaries`."""
        self._recent.clear()

    @property
    def can_watch(self) -> bool:
        """Whether any network has an exclusion endpoint, so that tracking can find anything."""
        return any(profile.has_exclusion for profile in self.networks)

    @property
    def can_ask(self) -> bool:
        """Whether any network can be asked about a hash now."""
        return self.look_up is not None and self.can_watch

    def ask_now(self, hashes: Sequence[TxHash]) -> Iterator[int]:
        """Ask every network with an exclusion endpoint about these hashes, and store the answers.

        Yields after each portion how many hashes are done; if the caller stops iterating, the rest
        is not asked.
        """
        if self.look_up is not None:
            yield from ask_in_portions(self.look_up, hashes)

    def track(
        self, hashes: Sequence[TxHash], remarks: Remarks, by: Actor
    ) -> tuple[TrackResult, ...]:
        """Track hashes on every network that can be asked; return the result of each."""
        network_ids = [each.network_id for each in self.networks if each.has_exclusion]
        listed = [ListedTransaction(line, each, remarks) for line, each in enumerate(hashes, 1)]
        return self.tracked.track(listed, network_ids, by)

    def _find_needed(
        self, statuses: Sequence[NetworkStatus], now: datetime
    ) -> tuple[Attention, ...]:
        only = statuses[0].profile.network_id if len(statuses) == 1 else None
        if len(self.networks) == 1:
            only = None  # include incidents of the installation
        unattended = self.incidents.unattended(only)
        titled = [(each, self.incidents.title_of(each)) for each in unattended]
        fresh = {
            each.profile.network_id for each in statuses if each.activity is not Activity.STALE
        }
        troubles = health_troubles(self.health.health(), now, fresh)
        with self._store.read() as connection:
            count = partial(count_changes, connection)
            return tuple(needed_attention(titled, troubles, statuses, now, count))


_registered: list[Application] = []


def register(application: Application) -> None:
    """Make this the application of all pages of the process."""
    _registered[:] = [application]


def is_registered() -> bool:
    """Whether pages can be shown; false while the process starts."""
    return bool(_registered)


def current() -> Application:
    return _registered[0]


class CommandRequest(Struct, frozen=True):
    """The arguments after `linewatch`, and the texts of the files that the command reads."""

    arguments: tuple[str, ...]
    files: Mapping[str, str]


class CommandResult(Struct, frozen=True):
    status: int
    output: str
    errors: str


RunCommand: TypeAlias = Callable[
    [CommandRequest, Application, Actor, Callable[[str], None]], CommandResult
]
"""Runs a command as an actor; the last argument raises NotAllowed for a subject that they may not
use. StoreError if the store cannot be used now."""

_commands: list[RunCommand] = []


def register_commands(run: RunCommand) -> None:
    """Let programs on other machines run commands here."""
    _commands[:] = [run]


def registered_commands() -> RunCommand | None:
    """Return what was registered; None if other machines cannot run commands here."""
    return _commands[0] if _commands else None
