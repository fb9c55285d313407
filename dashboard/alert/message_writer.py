"""Writes the messages of notifications, with what the store knows of their changes."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.alert.compose import MessageTemplates, compose
from dashboard.alert.message import Message
from dashboard.domain.notification import Notification
from dashboard.domain.notified_change import NotifiedChange
from dashboard.errors import DeliveryDeferred, StoreError
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.notified_changes import with_labels, with_previous


@dataclass(frozen=True, slots=True)
class MessageWriter:
    """Reads from the store what a message says beside its notification; used by many threads."""

    store: Store
    templates: MessageTemplates

    def write(self, notification: Notification) -> Message:
        """Write the message; DeliveryDeferred where the store cannot be read now."""
        opened_at = None if notification.incident is None else notification.incident.opened_at
        change = NotifiedChange(notification.transition, notification.rejection, opened_at)
        try:
            with self.store.read() as connection:
                [known] = with_labels(connection, [change])
                return compose(notification, self.templates, with_previous(connection, known))
        except StoreError as error:
            raise DeliveryDeferred(f"the message cannot be written: {error}") from error
