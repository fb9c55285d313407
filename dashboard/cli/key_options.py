"""Options that say what an API key may do, shared by the commands that set it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Final, TypeVar, cast

import click

from dashboard.cli.options import Parsed, chosen
from dashboard.domain.api_key import KeyLimits, parse_rate
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.errors import InputError
from dashboard.show.queries.network_status import NetworkProfile
from dashboard.wire.method_names import METHODS, method_mistake

ALL: Final = "all"
DEFAULT: Final = "default"

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class GivenLimits:
    """The options as given; None and the empty tuple where an option was not given."""

    networks: tuple[str, ...]
    methods: tuple[str, ...]
    rate: str | None
    burst: int | str | None
    report: bool | None

    def is_empty(self) -> bool:
        """Whether no option was given."""
        return not (self.networks or self.methods) and (self.rate, self.burst, self.report) == (
            None,
            None,
            None,
        )

    def applied_to(self, limits: KeyLimits, profiles: tuple[NetworkProfile, ...]) -> KeyLimits:
        """Return the limits with what the options change; InputError where they contradict."""
        if self.networks:
            limits = replace(limits, network_ids=_network_ids(self.networks, profiles))
        if self.methods:
            is_all = ALL in self.methods
            limits = replace(limits, methods=None if is_all else frozenset(self.methods))
        if self.rate is not None:
            rate = None if self.rate == DEFAULT else parse_rate(self.rate)
            limits = replace(limits, requests_per_second=rate)
        if self.burst is not None:
            limits = replace(limits, burst=self.burst if isinstance(self.burst, int) else None)
        if self.report is not None:
            limits = replace(limits, may_report=self.report)
        complaint = method_mistake(limits.methods, may_report=limits.may_report)
        if complaint is not None:
            raise InputError(f"--method {complaint} (--report, --no-report)")
        return limits


def _network_ids(
    texts: tuple[str, ...], profiles: tuple[NetworkProfile, ...]
) -> frozenset[NetworkId] | None:
    if ALL in texts:
        return None
    found = (chosen(text, profiles) for text in texts)
    return frozenset(profile.network_id for profile in found if profile is not None)


def limits(command: Command) -> Command:
    """Add the options, handed to the command as one value `given`."""

    @wraps(command)
    def gathered(**options: Any) -> object:  # noqa: ANN401 - whatever the command takes
        named = {name: options.pop(name) for name in GivenLimits.__slots__}
        return command(given=GivenLimits(**named), **options)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return cast("Command", gathered)


def _method(text: str) -> str:
    if text not in (ALL, *METHODS):
        known = ", ".join(METHODS)
        raise InputError(f"{shorten(text)} is no method: choose from {known}, or {ALL}")
    return text


def _rate(text: str) -> str:
    if text != DEFAULT:
        parse_rate(text)
    return text


def _burst(text: str) -> int | str:
    if text == DEFAULT:
        return text
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < _DIGITS and int(text)):
        raise InputError(
            f"{shorten(text)} is no burst: write how many calls may come at once, such as 100, "
            f"or {DEFAULT}"
        )
    return int(text)


_DIGITS: Final = 10

_OPTIONS: Final = (
    click.option(
        "--network",
        "networks",
        multiple=True,
        metavar="NAME|ID",
        help=f"Only this network, by name or chain id; repeatable. {ALL}: every network.",
    ),
    click.option(
        "--method",
        "methods",
        multiple=True,
        type=Parsed("method", _method),
        help=f"Only this method or gas operation; repeatable. {ALL}: every one. "
        f"There are {', '.join(METHODS)}.",
    ),
    click.option(
        "--rate",
        type=Parsed("rate", _rate),
        help="How often it may call: 50/s, 600/m, 1000/h or none; a batch counts as its calls. "
        f"{DEFAULT}: requests_per_second of [serve].",
    ),
    click.option(
        "--burst",
        type=Parsed("calls", _burst),
        help="How many calls may come at once, so also the largest batch. "
        f"{DEFAULT}: as many as one second allows, at least 10.",
    ),
    click.option(
        "--report/--no-report",
        "report",
        default=None,
        help="Whether nodes may report rejections with it. A new key may not.",
    ),
)
