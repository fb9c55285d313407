"""Configuration: read once at the start of a role, checked whole, handed on as plain values."""

from dashboard.settings.load import load_settings
from dashboard.settings.schema import (
    ApiKeySettings,
    EndpointSettings,
    MailSettings,
    NetworkSettings,
    Settings,
)

__all__ = [
    "ApiKeySettings",
    "EndpointSettings",
    "MailSettings",
    "NetworkSettings",
    "Settings",
    "load_settings",
]
