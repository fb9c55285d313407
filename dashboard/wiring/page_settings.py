"""What pages and commands know of the settings."""

from __future__ import annotations

from functools import partial

from dashboard.settings import Settings
from dashboard.show.queries.context import PageSettings
from dashboard.wiring.answer_file import answer_file
from dashboard.wiring.channels import configured_recipients, message_domain
from dashboard.wiring.failing_roles import failing_roles


def page_settings(settings: Settings) -> PageSettings:
    """Return what is needed to answer a question; what only pages ask for is left out."""
    alerts = settings.alerts
    return PageSettings(
        low_space=settings.store.low_space,
        public_url=settings.pages.public_url,
        recipients=configured_recipients(settings),
        largest_hourly=alerts.largest_hourly,
        heartbeat_period=alerts.heartbeat_period if alerts.heartbeat_url else None,
        domain=message_domain(settings),
        answers=answer_file(),
        failing_roles=partial(failing_roles, settings.home),
    )
