"""[recipients."NAME"]: the time zone, hours and digest of one recipient, and their check."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from dashboard.domain.active_hours import WeekSpan
from dashboard.domain.digest import DigestTime
from dashboard.domain.mail_address import MailAddress
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError, SettingsError
from dashboard.settings.layers import Remark
from dashboard.settings.mistakes import as_far_as_readable
from dashboard.settings.time_zone import zone_of


class RecipientSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[recipients."NAME"]: a mail address or a channel, which is trusted by being named here.

    Messages print times in `time_zone`, by default that of [mail]. Outside of the hours `active`
    they are held. A `digest` comes at its time, such as ``daily 08:00``.
    """

    time_zone: str = ""
    active: list[str] = []
    digest: str = ""


@as_far_as_readable
def check_recipients(
    recipients: Mapping[str, RecipientSettings], channels: Collection[str]
) -> Iterator[Remark]:
    """Yield recipients that are none, and zones and hours that cannot be read."""
    for name, each in recipients.items():
        path = ("recipients", name)
        if name not in channels and not is_mail_address(name):
            yield path, "is neither an email address nor a channel: write name@example.org"
        if each.time_zone:
            try:
                zone_of(each.time_zone)
            except SettingsError as error:
                yield (*path, "time_zone"), str(error)
        for span in each.active:
            try:
                WeekSpan.parse(span)
            except InputError as error:
                yield (*path, "active"), f"holds what cannot be read: {error}"
        if each.digest:
            yield from _check_digest(name, each.digest, channels)


def _check_digest(name: str, digest: str, channels: Collection[str]) -> Iterator[Remark]:
    path = ("recipients", name, "digest")
    if name in channels:
        yield path, "is that of a channel: digests go by mail"
    try:
        DigestTime.parse(digest)
    except InputError as error:
        yield path, f"cannot be read: {error}"


def is_mail_address(text: str) -> bool:
    """Whether mail can be sent there."""
    try:
        MailAddress.parse(text)
    except InputError:
        return False
    return True


def no_address(text: str) -> str:
    """Say that a text is not an email address."""
    return f"holds {shorten(text)}, which is not an email address: write name@example.org"
