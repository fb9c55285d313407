"""Chat and paging services through Apprise, which knows the API of each."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterable
from datetime import timedelta
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dashboard.alert.message import MaySend, Message, MessageHeaders, Stage, Watch, always, ignore
from dashboard.domain.markup import visible
from dashboard.domain.secret import Secret, quotes
from dashboard.errors import DeliveryBlocked, DeliveryWithheld, InputError

if TYPE_CHECKING:
    from apprise import Apprise, AppriseResult
    from apprise.logger import NotifyLogEntry

_SCHEME: Final = re.compile(r"([a-z0-9]{2,32})://[!-~]+", re.ASCII)
_GENERIC: Final = frozenset(
    {
        "json",
        "xml",
        "form",
        "apprise",
        "mailto",
        "amqp",
        "mqtt",
        "syslog",
        "rsyslog",
        "http",
        "file",
    }
)
"""Schemes that send to any address, or only within this machine; with a trailing s through TLS."""

_LOCAL: Final = frozenset({"dbus", "gio", "glib", "gnome", "kde", "macosx", "qt", "windows"})
_BRACKETS: Final = str.maketrans({"<": "\u2039", ">": "\u203a"})
"""Single quotation marks that look alike: chats treat the originals as links and calls."""

_QUOTED: Final = 200


def service_scheme(url: Secret) -> str:
    """Return the scheme of a service; InputError, which does not show the address, if unknown."""
    match = _SCHEME.fullmatch(url.reveal())
    if match is None:
        raise InputError("is not an Apprise address: write it as slack://… or pagerduty://…")
    scheme = match[1]
    if {scheme, scheme.removesuffix("s")} & (_GENERIC | _LOCAL):
        raise InputError(
            f"begins with {scheme}://, which is not a chat or paging service: take kind webhook, "
            "or mail"
        )
    return scheme


def inert(text: str) -> str:
    """Keep foreign text from mentioning people, or from hiding a link, in a chat."""
    shown = text.translate(_BRACKETS).replace("](", "] (")
    return re.sub(r"@(?=\S)", "\uff20", shown)  # Zulip takes @**all** as well


class AppriseChannel(Struct, frozen=True):
    """Sends the text of messages to one service.

    Services on hosts of your own need `allow_private`, since Apprise resolves names by itself. If
    `timeout` passes, the message may still arrive.
    """

    url: Secret
    timeout: timedelta
    allow_private: bool = False
    watch: Watch = ignore

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:  # noqa: ARG002 - services know no ids
        """Send one message; DeliveryBlocked for every failure: services do not say more."""
        service = self._service()
        if not may_send():
            raise DeliveryWithheld("the lease of this worker expired")
        answers: SimpleQueue[AppriseResult | Exception] = SimpleQueue()
        work = threading.Thread(target=_notify, args=(service, message, answers), daemon=True)
        work.start()
        try:
            answer = answers.get(timeout=self.timeout.total_seconds())
        except Empty:
            raise DeliveryBlocked("the service did not answer in time") from None
        if isinstance(answer, Exception):
            raise DeliveryBlocked("the library for chat services failed unexpectedly") from answer
        said: Iterable[NotifyLogEntry] = answer.logs()
        why = self._shown(" ".join(each.message for each in said))
        self.watch(Stage("answer", "accepted" if answer else why or "not accepted"))
        if not answer:
            raise DeliveryBlocked(f"the service did not accept it: {why or 'it says no more'}")
        return "accepted"

    def _service(self) -> Apprise:
        """Read the address; imported late, since the library takes 0.2 s and 36 MB."""
        import apprise  # noqa: PLC0415 - see above

        _keep_quiet()
        _use_no_proxy()
        scheme = service_scheme(self.url)
        asset = apprise.AppriseAsset(
            app_id="Linewatch", app_desc="Linewatch", http_redirects=False, secure_logging=True
        )
        service = apprise.Apprise.instantiate(
            self.url.reveal(), asset=asset, suppress_exceptions=True
        )
        if not isinstance(service, apprise.NotifyBase):
            raise DeliveryBlocked(
                f"Apprise cannot use the address of {scheme}://: check its url in [channels]"
            )
        forms: tuple[str, ...] = service.templates
        if not self.allow_private and any("{host" in each for each in forms):
            raise DeliveryBlocked(
                f"{scheme}:// is sent to a host of your own: set allow_private = true for it"
            )
        service.redirects, service.verify_certificate = False, True
        asked = apprise.Apprise(asset=asset)
        asked.add(service)
        return asked

    def _shown(self, text: str) -> str:
        """Return what the service said, unless it quotes a part of the address."""
        if quotes(text, re.split(r"[/?&=@:]", self.url.reveal())):
            return ""
        return visible(" ".join(text.split()), _QUOTED)


def _notify(
    service: Apprise, message: Message, answers: SimpleQueue[AppriseResult | Exception]
) -> None:
    """Run in a thread of its own, which is abandoned if it does not end."""
    try:
        result = service.notify(
            body=inert(message.text),
            title=inert(message.subject),
            body_format="text",
        )
        answers.put(result)
    except Exception as error:  # noqa: BLE001 - the top of a thread; a plugin may raise anything
        answers.put(error)


def _use_no_proxy() -> None:
    """Make the library contact services directly, as all other channels do.

    It uses Requests, which takes proxies from the environment, and they can only be turned off
    there. Nothing else in this process uses a proxy.
    """
    os.environ["no_proxy"] = "*"


def _keep_quiet() -> None:
    """Turn off the library's own logging, which may quote an address."""
    log = logging.getLogger("apprise")
    log.propagate = False
    if not log.handlers:
        log.addHandler(logging.NullHandler())
