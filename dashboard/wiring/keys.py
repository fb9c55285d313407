"""The API keys of the settings, for serve and the command line."""

from __future__ import annotations

from dashboard.domain.secret import Secret
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.keys.key_sync import ConfiguredKeys
from dashboard.settings import Settings
from dashboard.settings.key_limits import limits_of_key

DEVELOPMENT_KEY = "dev"


def configured_keys(settings: Settings) -> ConfiguredKeys:
    """Return the keys of the settings, or the development key, which has no limits."""
    default_rate = float(settings.serve.requests_per_second)
    if settings.has_development_key:
        secret = Secret(DEVELOPMENT_KEY)
        development = ApiKey.of("development", secret, secret)
        return ConfiguredKeys((development,), default_rate)
    keys = (
        ApiKey.of(name, own.key, own.secret).limited(limits_of_key(own, settings), default_rate)
        for name, own in settings.serve.keys.items()
    )
    return ConfiguredKeys(tuple(keys), default_rate)
