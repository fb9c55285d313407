"""What pages and commands know of the configuration, and whether its files have changed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from errno import EISDIR
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.context import (
    CheckedText,
    ChoosableSetting,
    ConfigurationState,
    PageSettings,
    ShownSetting,
)
from dashboard.application.network_status import NetworkProfile
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule_table import RuleNames
from dashboard.domain.people.access import Actor
from dashboard.domain.people.sign_in import Issuer, Proxy, SignInPolicy, Site
from dashboard.domain.quantity import Clock, NetworkId
from dashboard.domain.rejections.answer_template import AnswerFileState
from dashboard.errors import InputError, SettingsError
from dashboard.settings import Settings
from dashboard.settings.chosen import Chosen, choosable_settings, refuse_wrong_choice
from dashboard.settings.key_limits import configured_keys
from dashboard.settings.layers import read_text
from dashboard.settings.listing import (
    EffectiveSetting,
    changed_settings,
    check_pasted,
    effective_settings,
    value_text,
)
from dashboard.settings.load import own_file, read_configuration
from dashboard.settings.own_files import ANSWER_FILE, read_answer_file
from dashboard.settings.presets import FOLDER
from dashboard.settings.schema import ProxySettings, fill
from dashboard.settings.values import host_of, network_of, origin_of, zone_of
from dashboard.wiring.networks import (
    Network,
    budgets_of,
    cadence_of,
    condition_rules,
    cost_of,
    gas_periods,
    is_own_serve,
    line_limits,
    sees_all_reports,
    shown_networks,
)
from dashboard.wiring.recipients import configured_recipients, message_domain
from dashboard.wiring.roles import failing_roles


def page_settings(settings: Settings) -> PageSettings:
    """Return what questions need; what only pages ask for is left out."""
    alerts = settings.alerts
    return fill(
        PageSettings,
        *(settings.store, settings.pages, alerts),
        recipients=configured_recipients(settings),
        heartbeat_period=alerts.heartbeat_period if alerts.heartbeat_url else None,
        domain=message_domain(settings),
        answers=answer_file(settings.home),
        keys=configured_keys(settings),
        failing_roles=partial(failing_roles, settings.home),
        sign_in=sign_in_policy(settings),
        budgets=list(budgets_of(settings).values()),
        choosing=ChoosingSettings(settings),
        rule_names=rule_names(settings),
    )


def rule_names(settings: Settings) -> RuleNames:
    """Return the networks by their titles and by the names of their tables, and the channels."""
    named = {name: NetworkId(each.network_id) for name, each in settings.networks.items()}
    titled = {each.title: each.network_id for each in shown_networks(settings)}
    return RuleNames(named | titled, is_time_zone, settings.channels)


def is_time_zone(name: str) -> bool:
    try:
        zone_of(name)
    except SettingsError:
        return False
    return True


class ChoosingSettings(Struct, frozen=True):
    """The settings that people may choose besides those of the files, as in `Choosing`."""

    files: Settings

    def settings(self, chosen: Chosen) -> Iterable[ChoosableSetting]:
        """Return each with its chosen value."""
        return choosable_settings(self.files, chosen)

    def refuse_wrong(self, before: Chosen, after: Chosen) -> None:
        """Raise InputError if a choice is not allowed, or is wrong."""
        refuse_wrong_choice(self.files, before, after)

    def send_trial(self, chosen: Chosen, recipient: Recipient, by: Actor) -> str:
        """Send a test message; return the server's answer."""
        from dashboard.wiring.trials import send_trial  # noqa: PLC0415 - loads all clients

        return send_trial(recipient, self.files, chosen, by)


def sign_in_policy(settings: Settings) -> SignInPolicy | None:
    """Return for how long people sign in; None if pages are open."""
    given = settings.sign_in
    if not given.is_on:
        return None
    issuers = {
        name: fill(Issuer, each, name=name, label=each.label or name)
        for name, each in given.issuers.items()
    }
    public_url = settings.pages.public_url.rstrip("/")
    here = public_url or f"http://localhost:{settings.pages.port}"
    site = Site(origin_of(here), host_of(here) or "")
    proxy = _proxy(given.proxy) if given.proxy.addresses else None
    return fill(SignInPolicy, given, issuers=issuers, public_url=public_url, site=site, proxy=proxy)


def _proxy(given: ProxySettings) -> Proxy:
    header, groups_header = given.header.lower(), given.groups_header.lower()
    networks = tuple(map(network_of, given.addresses))
    return fill(Proxy, given, networks=networks, header=header, groups_header=groups_header)


class ShownConfiguration:
    """The settings of this process, one instance, made when it starts."""

    def __init__(self, clock: Clock, variables: Mapping[str, str] | None = None) -> None:
        """Keep what the files and variables say now; by default those of the environment."""
        self._variables = variables
        self._read = read_configuration(variables)
        settings = tuple(map(_shown, effective_settings(self._read)))
        self._state = ConfigurationState(settings, str(own_file(variables)), clock())

    def state(self) -> ConfigurationState:
        """Return the settings, with what is different or wrong in the present files."""
        now = read_configuration(self._variables)
        return replace(
            self._state,
            changed=tuple(changed_settings(self._read, now)) if now.is_whole else (),
            mistakes=tuple(map(str, now.mistakes())),
        )

    def check(self, text: str) -> CheckedText:
        """Check a text as if it were the settings file; it is neither stored nor logged."""
        return check_pasted(text, self._read)


def _shown(each: EffectiveSetting) -> ShownSetting:
    value, default = value_text(each.value), value_text(each.default)
    return ShownSetting(
        each.setting,
        value,
        _source(each),
        each.is_default,
        "" if value == default else default,
        each.meaning,
    )


def _source(each: EffectiveSetting) -> str:
    if each.is_default or each.location is None:
        return "default"
    source = Path(each.location.source)
    if source.parent == FOLDER:
        return f"preset {source.stem}"
    return str(replace(each.location, source=source.name))


class StoredAnswerFile:
    """The file `answers.toml`; one instance for the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[object, AnswerFileState] | None = None

    def read(self) -> AnswerFileState:
        """Return the present file; it is only parsed again if it changed."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return AnswerFileState(str(self._path))
        except OSError as error:
            return self._unreadable(error)
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if self._known is None or self._known[0] != stamp:
            self._known = (stamp, self._parsed())
        return self._known[1]

    def check(self, text: str) -> AnswerFileState:
        """Return what the file would be with this text."""
        content = read_answer_file(ANSWER_FILE, text)
        mistakes = tuple(map(str, content.mistakes))
        return AnswerFileState(str(self._path), text, content.templates, mistakes)

    @contextmanager
    def staged(self, text: str | None) -> Iterator[Callable[[], None]]:
        """Write a text beside the file; yield what lets it be the file, or for None removes that.

        InputError says why that fails; nothing is left beside the file.
        """
        try:
            if self._path.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with (
                _alone_in(self._path.parent),
                TemporaryDirectory(prefix=f".{ANSWER_FILE}.", dir=self._path.parent) as folder,
            ):
                beside = Path(folder, ANSWER_FILE)
                with beside.open("w", encoding="utf-8") as written:
                    written.write(text or "")
                    written.flush()
                    os.fsync(written.fileno())
                yield partial(self._put_in_force, None if text is None else beside)
        except OSError as error:
            raise InputError(
                f"{ANSWER_FILE} cannot be written ({error.strerror}): "
                "let this process write there, or change the file yourself"
            ) from error

    def _put_in_force(self, written: Path | None) -> None:
        if written is None:
            self._path.unlink(missing_ok=True)
        else:
            written.replace(self._path)

    def _parsed(self) -> AnswerFileState:
        try:
            return self.check(read_text(self._path))
        except OSError as error:
            return self._unreadable(error)
        except UnicodeDecodeError:
            remark = f"{ANSWER_FILE} is not UTF-8 text: save it as UTF-8"
            return AnswerFileState(str(self._path), mistakes=(remark,))

    def _unreadable(self, error: OSError) -> AnswerFileState:
        remark = f"{ANSWER_FILE} cannot be read: {error.strerror}"
        return AnswerFileState(str(self._path), mistakes=(remark,))


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Let one process or thread at a time change a file of this folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def answer_file(home: Path) -> StoredAnswerFile:
    """Return the file of this installation: beside the settings, or in the state folder.

    A service or a container may not write beside its settings. Its file is in the state folder,
    unless somebody else put one there.
    """
    beside = own_file().with_name(ANSWER_FILE)
    is_beside = beside.exists() or os.access(beside.parent, os.W_OK)
    return StoredAnswerFile(beside if is_beside else home / ANSWER_FILE)


def profile_of(network: Network, settings: Settings) -> NetworkProfile:
    """Return how a network is shown, and how often its figures are asked for."""
    endpoints = network.endpoints
    return fill(
        NetworkProfile,
        *(endpoints, network, gas_periods(network, settings)),
        name=network.title,
        has_gas=network.is_history_only or endpoints.gas is not None or bool(endpoints.all_nodes),
        has_exclusion=bool(endpoints.all_exclusions),
        exclusion_endpoints=tuple(endpoints.all_exclusions),
        asks_all=endpoints.asks_all,
        gas_source=gas_source(network, settings),
        sees_all_reports=sees_all_reports(network, settings),
        line_limits=line_limits(network),
        cost=cost_of(network, settings),
        cadence=cadence_of(network, settings),
        rules=condition_rules(settings),
        price_setting=_price_setting(network, settings),
    )


def _price_setting(network: Network, settings: Settings) -> str:
    """Return the name of the setting of the coin's price; empty for a simulated network."""
    of_file = {each.network_id: name for name, each in settings.networks.items()}
    name = of_file.get(network.network_id)
    return "" if name is None else f"networks.{name}.coin_price"


def gas_source(network: Network, settings: Settings) -> str:
    """Return the name of the preferred source of the network's fees."""
    if network.is_history_only:
        return "nobody"
    if network.endpoints.gas is None:
        return "the network's node"
    if is_own_serve(network.endpoints.gas, settings):
        return "this installation's own serve"
    return "the gas API"
