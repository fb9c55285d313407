"""What stages keep of the settings is taken by name, so a name that differs would be left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from inspect import signature

import pytest
from msgspec import Struct
from msgspec.structs import fields

from dashboard.alert.bounces import ImapServer
from dashboard.alert.channels.apprise_service import AppriseChannel
from dashboard.alert.channels.http_to_public_addresses import HttpRules
from dashboard.alert.channels.smtp import SmtpServer
from dashboard.domain.fees.gas import GasPeriods
from dashboard.domain.people.sign_in import Issuer, Proxy, SignInPolicy
from dashboard.serve.dependencies import ServeDependencies, ServeLimits
from dashboard.settings import MailSettings, NetworkSettings
from dashboard.settings.channels import ChannelSettings
from dashboard.settings.mail import BounceSettings
from dashboard.settings.schema import (
    IssuerSettings,
    PagesSettings,
    PollSettings,
    ProxySettings,
    ServeSettings,
    SignInSettings,
    fill,
)
from dashboard.transport.connection_limits import ConnectionLimits
from dashboard.web.upload_bound import UploadLimits

LEFT: tuple[tuple[Callable[..., object], type[Struct], str], ...] = (
    (SmtpServer, MailSettings, "trust"),
    (ImapServer, BounceSettings, "timeout trust"),
    (AppriseChannel, ChannelSettings, "watch"),
    (HttpRules, ChannelSettings, "trust watch"),
    (UploadLimits, PagesSettings, "longest"),
    (SignInPolicy, SignInSettings, "public_url site"),
    (Issuer, IssuerSettings, "name"),
    (Proxy, ProxySettings, "label networks url"),
    (GasPeriods, PollSettings, ""),
    (GasPeriods, NetworkSettings, ""),
    (ConnectionLimits, ServeSettings, "unfinished"),
    (ServeLimits, ServeSettings, "connections refresh_period"),
    (
        ServeDependencies,
        ServeSettings,
        (
            "allowed_hosts authentication_throttle clock counters has_page key_limiter key_sync "
            "limits networks new_id sessions store"
        ),
    ),
)
"""Each record with the section that fills it, and what it has besides."""


@pytest.mark.parametrize(("kind", "section", "left"), LEFT)
def test_record_of_a_stage_calls_its_settings_as_they_are_called(
    kind: Callable[..., object], section: type[Struct], left: str
) -> None:
    known = {each.name for each in fields(section)}

    assert sorted(signature(kind).parameters.keys() - known) == left.split()


@dataclass(frozen=True)
class _Periods:
    gas_period: timedelta
    history_period: timedelta | None = None
    name: str = "usual"


def test_last_section_that_says_something_wins_and_what_is_given_beside_before_all() -> None:
    common = _Periods(timedelta(seconds=4), timedelta(minutes=10), "common")
    own = _Periods(timedelta(seconds=9), None, "own")

    assert fill(_Periods, common, own, name="beside") == _Periods(
        timedelta(seconds=9), timedelta(minutes=10), "beside"
    )
    assert fill(_Periods, gas_period=timedelta(1)) == _Periods(timedelta(1))
