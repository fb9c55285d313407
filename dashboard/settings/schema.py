"""Every setting with its type; their defaults, units and reasons are in config/default.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from inspect import signature
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

from msgspec import Meta, Struct

from dashboard.domain.fees.suggestion import FeePolicy
from dashboard.domain.health.retention import Retention
from dashboard.domain.people.access import Role
from dashboard.domain.secret import Secret
from dashboard.domain.tracking.transaction_cost import USUAL_COIN, CoinPrice
from dashboard.settings.budgets import BudgetSettings
from dashboard.settings.channels import ChannelSettings
from dashboard.settings.mail import BounceSettings, MailSettings, RecipientSettings
from dashboard.settings.tls import TlsSettings
from dashboard.settings.values import (
    ByteSize,
    FreeSpace,
    KeptFor,
    Rate,
)

Made = TypeVar("Made")
Port = Annotated[int, Meta(ge=1, le=65535)]
Positive = Annotated[int, Meta(ge=1)]
Prefix = Annotated[str, Meta(pattern="^[a-z][a-z0-9]{0,31}$", description="a lower-case word")]
Coin = Annotated[str, Meta(pattern="^[A-Za-z0-9]{1,12}$", description="a short word such as ETH")]
ChainId = Annotated[int, Meta(ge=1, le=2**63 - 1)]


class StoreSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[store]: where data is stored, and for how long."""

    url: Secret
    read_url: Secret
    read_lag: timedelta
    allow_clear_text: bool
    backup_before_upgrade: bool
    low_space: FreeSpace
    keep_fees: KeptFor
    keep_fee_minutes: KeptFor
    keep_rejections: KeptFor
    keep_notifications: KeptFor
    keep_untracked_answers: KeptFor
    keep_saved_lookups: KeptFor
    keep_audit_log: KeptFor
    keep_credits: KeptFor
    keep_coverage_gaps: KeptFor

    @property
    def retention(self) -> Retention:
        kept = [name for name in self.__struct_fields__ if name.startswith("keep_")]
        return Retention(
            **{each.removeprefix("keep_"): getattr(self, each).length for each in kept}
        )


class PagesSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[pages]: the Streamlit pages."""

    host: str
    port: Port
    public_url: str
    lookup_deadline: timedelta
    uploads_per_session: ByteSize
    uploads_in_all: ByteSize


class IssuerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[sign_in.issuers.NAME]: one OpenID Connect provider, and what its groups may do here.

    `url` is its issuer identifier, `label` the text of the button, `scopes` what is requested,
    `groups` the claim that lists the groups of a person. `roles` gives groups their roles; "*" is
    everybody.
    """

    url: str
    client_id: Annotated[str, Meta(min_length=1)]
    roles: Annotated[dict[str, Role], Meta(min_length=1)]
    client_secret: Secret = Secret("")
    label: str = ""
    scopes: str = "openid profile email"
    groups: Annotated[str, Meta(min_length=1)] = "groups"


class ProxySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[sign_in.proxy]: a reverse proxy that says in a header who somebody is.

    `addresses` are those from which it connects; without any, no header is believed.
    `groups_header` lists groups separated by `groups_separator`, `roles` gives them roles; "*" is
    everybody.
    """

    addresses: list[str]
    header: str
    groups_header: str
    groups_separator: Annotated[str, Meta(min_length=1, max_length=1)]
    roles: dict[str, Role]
    sign_out_url: str


class SignInSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[sign_in]: who may open the pages, and for how long one sign-in lasts."""

    accounts: bool
    issuers: dict[str, IssuerSettings]
    proxy: ProxySettings
    second_factor: list[Role]
    idle: timedelta
    longest: timedelta

    @property
    def is_on(self) -> bool:
        """Whether pages are shown only to people who sign in."""
        return self.accounts or bool(self.issuers or self.proxy.addresses)


class HttpSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[http]: for pages, serve and devnet alike."""

    allowed_hosts: list[str]


class ApiKeySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[serve.keys.NAME]: one key that clients of our own APIs present.

    `networks` are names or ids, `methods` bare names of methods and gas operations; None is all.
    `rate` is how often it may call, by default `requests_per_second` of [serve]; `burst` how many
    calls may come at once. `report`: whether it may save rejections.
    """

    key: Secret
    secret: Secret | None = None
    networks: list[str | int] | None = None
    methods: list[str] | None = None
    rate: Rate | None = None
    burst: Positive | None = None
    report: bool = True


class ServeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[serve]: the two APIs that we serve ourselves."""

    host: str
    port: Port
    method_prefixes: Annotated[list[Prefix], Meta(min_length=1)]
    largest_body: ByteSize
    largest_batch: Positive
    waiting_reports: Positive
    largest_subscriptions: Positive
    largest_queue: ByteSize
    quiet_timeout: timedelta
    largest_head: ByteSize
    largest_connections: Positive
    largest_connections_per_address: Annotated[int, Meta(ge=0)]
    head_timeout: timedelta
    body_timeout: timedelta
    idle_timeout: timedelta
    reading_timeout: timedelta
    ping_period: timedelta
    ping_timeout: timedelta
    stop_timeout: timedelta
    cors_origins: list[str]
    default_network_id: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    log_requests: bool
    metrics_key: Secret
    page: bool
    oldest_fees: timedelta
    requests_per_second: Annotated[int, Meta(ge=0)]
    wrong_keys_per_minute: Annotated[int, Meta(ge=0)]
    keys: dict[str, ApiKeySettings]


class DevnetSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[devnet]: the embedded simulated chain."""

    mode: Literal["auto", "on", "off"]
    host: str
    port: Port
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    networks: Annotated[int, Meta(ge=1, le=3)]
    key: Secret
    line_limits_end: datetime | None = None


FEWEST_CALLS: Final = 10
"""Calls about one transaction in seven days, which find most rejections hours late."""


class PollSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[poll]: how often upstream is asked, and for how long."""

    gas_period: timedelta
    history_period: timedelta
    threshold_period: timedelta
    exclusion_tick: timedelta
    calls_per_transaction: Annotated[int, Meta(ge=FEWEST_CALLS, le=10_000)]
    request_timeout: timedelta
    answer_deadline: timedelta
    largest_batch: Positive


class WorkerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[worker]: the lease of the active worker."""

    lease: timedelta


class AlertSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[alerts]: how long a condition lasts before it opens or closes, and how many messages go."""

    busy_pending: timedelta
    busy_keep_firing: timedelta
    silence_pending: timedelta
    silence_keep_firing: timedelta
    stale_pending: timedelta
    fallback: str
    fallback_after: timedelta
    heartbeat_url: Secret
    heartbeat_period: timedelta
    heartbeat_allow_private: bool
    largest_hourly: Positive


_NAME: Final = "at most 40 letters, digits, spaces, dots, hyphens and underscores"
EndpointName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9 ._-]{0,40}$", description=_NAME)]

OWN_SERVE: Final = "own-serve"
"""The `url` of an endpoint that is our own serve, wherever that listens."""


class EndpointSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One address of an upstream: with `key` it goes into the path, with `secret` into Basic.

    `allow_clear_text`: the key may leave this machine without TLS. `name` tells several apart.
    `budget` names a table of [budgets].
    """

    url: Secret
    name: EndpointName = ""
    key: Secret | None = None
    secret: Secret | None = None
    method_prefix: Prefix = "chain"
    allow_clear_text: bool = False
    budget: str = ""

    @property
    def is_own_serve(self) -> bool:
        return self.url.reveal() == OWN_SERVE


class ExclusionSettings(EndpointSettings, frozen=True, forbid_unknown_fields=True):
    """An exclusion endpoint; over `websocket_url` it is asked first, and over `url` otherwise."""

    websocket_url: Secret | None = None


BlockNumber = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class LimitPeriodSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[[networks.NAME.limit_periods]]: the table of module limits from `since` on, before `until`.

    `table` is written as `module_limits` is.
    """

    table: Annotated[str, Meta(min_length=1)]
    since: datetime | None = None
    until: datetime | None = None


class NetworkSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[networks.NAME]: one network with its optional endpoints.

    `exclusions` are further exclusion endpoints: `ask_exclusions` says whether each is asked if
    those before it do not answer, or all are. `preset` names a file of config/networks with the
    values that are not written here. `block_time` is the usual time between blocks; it dates a
    history. Periods that are None are those of [poll]. `nodes` stand by for `node`; one that is
    `node_lag` blocks behind another is left. `stalled_after`: a node whose newest block is older
    gives the worker no fees. `serve_fees`: our own serve follows the nodes, if there are any, and
    serves their fees. `module_limits` names a table or file, which applies outside of the
    `limit_periods`. Line limits end at a time or with a block; `after_limits` says how often
    transactions first seen after that are asked about. Pages show costs in `coin`, and in money if
    `coin_price` is set. `fees` has what differs from [fees].
    """

    network_id: ChainId
    preset: str = ""
    title: str = ""
    exclusion: ExclusionSettings | None = None
    exclusions: list[ExclusionSettings] = []
    ask_exclusions: Literal["in order", "all"] = "in order"
    gas: EndpointSettings | None = None
    node: EndpointSettings | None = None
    nodes: list[EndpointSettings] = []
    node_lag: Positive = 3
    stalled_after: timedelta | None = None
    block_time: timedelta | None = None
    gas_period: timedelta | None = None
    history_period: timedelta | None = None
    threshold_period: timedelta | None = None
    serve_fees: bool = True
    module_limits: str = ""
    limit_periods: list[LimitPeriodSettings] = []
    line_limits_end: datetime | None = None
    line_limits_end_block: BlockNumber | None = None
    after_limits: Literal["seldom", "never"] = "seldom"
    coin: Coin = USUAL_COIN
    coin_price: CoinPrice | None = None
    fees: FeePolicy | None = None

    @property
    def ends_limits(self) -> bool:
        """Whether line limits end at a known time, or with a known block."""
        return self.line_limits_end is not None or self.line_limits_end_block is not None

    @property
    def all_exclusions(self) -> dict[str, ExclusionSettings]:
        """The exclusion endpoints by name, the preferred one first; a single one has no name."""
        found = (*((self.exclusion,) if self.exclusion is not None else ()), *self.exclusions)
        if len(found) == 1:
            return {"": found[0]}
        return {each.name or f"endpoint {place}": each for place, each in enumerate(found, 1)}

    @property
    def asks_all(self) -> bool:
        """Whether every exclusion endpoint is asked about each transaction."""
        return self.ask_exclusions == "all"

    @property
    def all_nodes(self) -> tuple[EndpointSettings, ...]:
        """The nodes that are asked, the preferred one first."""
        return (*((self.node,) if self.node is not None else ()), *self.nodes)

    @property
    def stalls_after(self) -> timedelta | None:
        """How old a node's newest block may be; None: any age."""
        if self.stalled_after is not None or self.block_time is None:
            return self.stalled_after
        return max(timedelta(minutes=5), 30 * self.block_time)


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration; `home` is the state folder, absolute.

    `fixed` has what a file or a variable sets of the settings that people could choose on the page
    Settings.
    """

    home: Path
    store: StoreSettings
    http: HttpSettings
    sign_in: SignInSettings
    pages: PagesSettings
    serve: ServeSettings
    devnet: DevnetSettings
    fees: FeePolicy
    tls: TlsSettings
    poll: PollSettings
    worker: WorkerSettings
    alerts: AlertSettings
    mail: MailSettings
    channels: dict[str, ChannelSettings]
    recipients: dict[str, RecipientSettings]
    bounces: BounceSettings
    budgets: dict[str, BudgetSettings]
    networks: dict[str, NetworkSettings]
    fixed: Mapping[str, str] = {}

    @property
    def has_devnet(self) -> bool:
        """Whether the embedded chain is one of the networks."""
        return self.devnet.mode == "on" or (self.devnet.mode == "auto" and not self.networks)

    @property
    def has_development_key(self) -> bool:
        """Whether serve accepts the published key: devnet alone, loopback, no key configured."""
        return self.has_devnet and not self.networks and not self.serve.keys


def fill(kind: Callable[..., Made], *sections: object, **beside: object) -> Made:
    """Make a stage's record of the settings, whose fields are named as settings are."""
    for name in signature(kind).parameters.keys() - beside.keys():
        said = (getattr(each, name, None) for each in reversed(sections))
        value = next((each for each in said if each is not None), None)
        if value is not None:
            beside[name] = value
    return kind(**beside)
