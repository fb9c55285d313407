"""Configuration: read and checked once when a role starts."""

from dashboard.settings.load import load_settings
from dashboard.settings.mail import MailSettings
from dashboard.settings.schema import ApiKeySettings, EndpointSettings, NetworkSettings, Settings

__all__ = [
    "ApiKeySettings",
    "EndpointSettings",
    "MailSettings",
    "NetworkSettings",
    "Settings",
    "load_settings",
]
