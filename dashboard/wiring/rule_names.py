"""What names in rules stand for here: the configured networks and channels, time zones."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rule import Rule
from dashboard.domain.rule_table import RuleNames
from dashboard.errors import InputError
from dashboard.settings import Settings
from dashboard.settings.rule_file import read_rule_file
from dashboard.wiring.networks import shown_networks


def rule_names(settings: Settings) -> RuleNames:
    """Return the networks by their titles and by the names of their tables, and the channels."""
    named = {name: NetworkId(each.network_id) for name, each in settings.networks.items()}
    titled = {each.title: each.network_id for each in shown_networks(settings)}
    return RuleNames(named | titled, is_time_zone, settings.channels)


def rules_of_text(names: RuleNames, text: str) -> tuple[Rule, ...]:
    """Return the rules that a person wrote on a page; InputError names every mistake."""
    read = read_rule_file("the file", text, names)
    if read.mistakes:
        raise InputError("; ".join(map(str, read.mistakes)))
    return read.rules


def is_time_zone(name: str) -> bool:
    """Whether the time zone database has a zone of this name."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
