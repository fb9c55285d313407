"""Settings chosen on the page Settings: checked like the file, which wins over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from msgspec import UNSET
from msgspec.structs import replace

from dashboard.application.context import ChoosableSetting
from dashboard.domain.secret import MASK, Secret
from dashboard.domain.tracking.transaction_cost import CoinPrice
from dashboard.errors import InputError
from dashboard.settings.check_keys import Inspector, kind_at, not_a_setting
from dashboard.settings.check_together import check_together
from dashboard.settings.choosable import choosable_paths
from dashboard.settings.layers import Mistake, SettingPath, named
from dashboard.settings.schema import Settings
from dashboard.settings.values import parse_price
from dashboard.store.chosen_settings import LOGIN, PASSWORD, ChosenValue

Chosen = Mapping[str, ChosenValue]


def with_chosen(settings: Settings, chosen: Chosen) -> tuple[Settings, list[Mistake]]:
    """Return the settings with the choices applied, and the mistakes in these.

    A value in the file or a variable stays. A choice that cannot be read is left out.
    """
    inspector = Inspector((), _decode)
    mail: dict[str, object] = {}
    networks = dict(settings.networks)
    for path in choosable_paths(settings.networks):
        name = ".".join(path)
        if name not in chosen or name in settings.fixed:
            continue
        value = inspector.read(_revealed(chosen[name]), kind_at(path, Settings), path)
        if value is UNSET:
            continue
        if path[0] == "mail":
            mail[path[-1]] = value
        else:
            networks[path[1]] = replace(networks[path[1]], coin_price=value)
    changed = replace(settings, mail=replace(settings.mail, **mail), networks=networks)
    remarks = [(path, text) for path, text in check_together(changed) if path[0] == "mail"]
    return changed, inspector.found or [Mistake(named(path), text) for path, text in remarks]


def choosable_settings(settings: Settings, chosen: Chosen) -> Iterator[ChoosableSetting]:
    """Yield each setting that may be chosen: its present value and origin."""
    changed, _ = with_chosen(settings, chosen)
    for path in choosable_paths(settings.networks):
        name = ".".join(path)
        fixed = settings.fixed.get(name, "")
        yield ChoosableSetting(
            name,
            _plain(_value_at(path, changed)),
            fixed or ("page Settings" if name in chosen else "default"),
            is_fixed=bool(fixed),
            default=_plain(_value_at(path, settings)),
        )


def chosen_among(settings: Settings, chosen: Chosen) -> Iterator[ChoosableSetting]:
    """Yield the choices that are in force."""
    for each in choosable_settings(settings, chosen):
        if each.name in chosen and not each.is_fixed:
            yield each


def refuse_wrong_choice(settings: Settings, before: Chosen, after: Chosen) -> None:
    """Raise InputError if a choice is not allowed, or is wrong; it names the remedy."""
    changed = {each for each in {*before, *after} if before.get(each) != after.get(each)}
    known = [".".join(path) for path in choosable_paths(settings.networks)]
    for name in sorted(changed & after.keys()):
        if name in settings.fixed:
            where = settings.fixed[name]
            raise InputError(f"the setting {name} is set in {where}, which wins: change it there")
        if name not in known:
            hint = not_a_setting(name, known).partition("; ")[2]
            raise InputError(
                f"the setting {named([name])} is not changed on the page Settings: "
                f"{hint or 'write it into the settings file'}"
            )
    _, mistakes = with_chosen(settings, after)
    if mistakes:
        raise InputError("; ".join(f"the setting {each}" for each in mistakes))
    _refuse_password_elsewhere(settings, after, changed)


def _refuse_password_elsewhere(settings: Settings, after: Chosen, changed: set[str]) -> None:
    """Let no password go to another server than the one for which it was given."""
    elsewhere = [each for each in LOGIN if each in changed]
    if not elsewhere or "mail.smtp_host" not in {*after, *settings.fixed}:
        return
    if PASSWORD in settings.fixed and settings.mail.password:
        raise InputError(
            f"the setting {elsewhere[0]} belongs to the password in {settings.fixed[PASSWORD]}: "
            "set it there"
        )
    if PASSWORD in after and PASSWORD not in changed:
        raise InputError(
            f"the setting {PASSWORD} was given for another server or user: give it again with "
            f"{elsewhere[0]}"
        )


def _decode(kind: object, value: object) -> object:
    """Read our own types; a password is taken literally, and names neither file nor variable."""
    if kind is not Secret:
        return parse_price(value)
    if not isinstance(value, str):
        raise ValueError("a password is text")  # noqa: TRY004 - becomes a mistake with its name
    return Secret(value)


def _revealed(value: ChosenValue) -> object:
    return value.reveal() if isinstance(value, Secret) else value


def _value_at(path: SettingPath, settings: Settings) -> object:
    if path[0] == "mail":
        return getattr(settings.mail, path[-1])
    return settings.networks[path[1]].coin_price


def _plain(value: object) -> str | int | list[str]:
    """Format a value as in TOML; empty for None, a mask for a password."""
    if isinstance(value, Secret):
        return MASK if value else ""
    if isinstance(value, CoinPrice):
        return str(value)
    return "" if value is None else cast("str | int | list[str]", value)
