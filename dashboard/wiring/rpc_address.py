"""Where JSON-RPC is asked: below the configured address by key, or that address itself."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from dashboard.domain.secret import Secret
from dashboard.settings import EndpointSettings

_WEBSOCKET: Final = ("wss://", "ws://")


def rpc_address(settings: EndpointSettings) -> Secret:
    """Return the whole address, with the key where there is one."""
    if settings.key is None:
        return settings.url
    base = settings.url.reveal().rstrip("/")
    return Secret(f"{base}/{_folder(base)}/{quote(settings.key.reveal(), safe='')}")


def key_advice(settings: EndpointSettings) -> str:
    """Say what helps where the key is refused, which many servers say of a wrong address too."""
    base = settings.url.reveal().rstrip("/")
    folder = _folder(base)
    if settings.key is None:
        return (
            f"no key stands beside url, so url has to end in /{folder}/KEY with a valid one; or "
            "write it without that path, and key beside it"
        )
    doubled = next((each for each in (folder, "v3", "ws") if base.endswith(f"/{each}")), None)
    if doubled is not None:
        return f"url ends in /{doubled}, and /{folder}/KEY is added to it: leave /{doubled} out"
    return f"check the API key, and that it belongs at /{folder}/KEY below url"


def forbidden_advice(settings: EndpointSettings) -> str:
    """Say what helps where a question is forbidden.

    Servers of WebSockets say that of every path that they do not have, so of a wrong address too.
    """
    if settings.key is None:
        return "check the address; no key stands beside it, and one inside it may not ask this"
    if settings.url.reveal().startswith(_WEBSOCKET):
        return f"the settings of the API key do not allow this, or {key_advice(settings)}"
    return "the settings of the API key do not allow this"


def _folder(base: str) -> str:
    return "ws/v3" if base.startswith(_WEBSOCKET) else "v3"
