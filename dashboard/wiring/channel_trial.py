"""Send a test message now, over the channel that alerts would take, and say each step of it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from dashboard.alert.channels.stage import Watch
from dashboard.alert.message import Channel, MessageHeaders
from dashboard.alert.trial_message import message_of_trial
from dashboard.domain.audit import Action, Actor, Detail
from dashboard.domain.mail_address import MailAddress
from dashboard.domain.notification import Recipient
from dashboard.domain.quantity import shorten
from dashboard.errors import DeliveryError, DeliveryRefused, InputError
from dashboard.settings import Settings
from dashboard.settings.channels import MAIL
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.notifications import written_message_id
from dashboard.store.alerts.recipients import read_directory
from dashboard.store.engine.engine import Store
from dashboard.wiring.channels import (
    channel_of,
    configured_recipients,
    default_recipients,
    mail_channel,
    message_domain,
)


@dataclass(frozen=True, slots=True)
class TriedRecipient:
    """Whether a test message was taken, and the answer, or why it was not."""

    recipient: Recipient
    was_sent: bool
    answer: str


def recipients_to_try(address: str, channel: str, settings: Settings) -> list[Recipient]:
    """Return who gets a test message: an address, a channel, or all that get alerts by default.

    InputError for what is no address, and for a channel that is not configured.
    """
    if address:
        MailAddress.parse(address)
        return [Recipient(MAIL, address)]
    if not channel:
        return default_recipients(settings)
    if channel not in settings.channels:
        known = ", ".join(settings.channels) or "none"
        raise InputError(
            f"{shorten(channel)} is no channel of [channels]: there are {known}; --to is for mail"
        )
    return [Recipient(channel, channel)]


def try_recipient(
    recipient: Recipient, settings: Settings, store: Store, actor: Actor, watch: Watch
) -> TriedRecipient:
    """Send a test message, and log in the audit log that it was sent or refused."""
    headers = MessageHeaders(
        written_message_id(uuid4(), message_domain(settings)), recipient.address, actor.at
    )
    try:
        _require_reachable(recipient, settings, store)
        answer = _channel(recipient, settings, watch).send(message_of_trial(actor), headers)
        tried = TriedRecipient(recipient, was_sent=True, answer=answer)
    except DeliveryError as error:
        tried = TriedRecipient(recipient, was_sent=False, answer=str(error))
    with store.write() as connection:
        details: dict[str, Detail] = {
            "channel": recipient.channel,
            "sent": tried.was_sent,
            "answer": tried.answer,
        }
        note_action(connection, actor.at, actor.name, Action.TEST_SEND, recipient.address, details)
    return tried


def _require_reachable(recipient: Recipient, settings: Settings, store: Store) -> None:
    """Raise DeliveryRefused where nothing may be sent to a recipient, a test message neither."""
    with store.read() as connection:
        why = read_directory(connection, configured_recipients(settings)).withheld(recipient)
    if why:
        raise DeliveryRefused(f"{why}; `linewatch recipients list` shows more")


def _channel(recipient: Recipient, settings: Settings, watch: Watch) -> Channel:
    if recipient.channel == MAIL:
        return mail_channel(settings, watch)
    return channel_of(recipient.channel, settings, watch)
