"""Repeat open incidents to Alertmanager, which forgets them when it restarts or hears no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from dashboard.alert.channels.alertmanager import (
    FIRES_FOR,
    AlertmanagerChannel,
    PushedAlert,
    labels_of,
)
from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.incident_text import describe
from dashboard.alert.message import MaySend
from dashboard.domain.clock import Clock
from dashboard.domain.condition import INSTALLATION, Transition
from dashboard.domain.foreign_text import visible
from dashboard.domain.quantity import NetworkId
from dashboard.store.alerts.alert_status import OpenIncident, firing_incidents
from dashboard.store.engine.engine import Store

PERIOD: Final = timedelta(minutes=1)
_NOBODYS: Final = UUID(int=0)


class AlertRepeater:
    """Pushes what is open now to one Alertmanager, with the labels of the first push.

    What it pushed last time and is over by now, it ends: its end may have been pushed before.
    """

    def __init__(
        self,
        store: Store,
        channel: AlertmanagerChannel,
        networks: Mapping[NetworkId, NetworkName],
        links: Links,
        clock: Clock,
    ) -> None:
        """Push nothing yet."""
        self._store = store
        self._channel = channel
        self._networks = networks
        self._links = links
        self._clock = clock
        self._pushed: dict[str, PushedAlert] = {}

    def work(self, may_send: MaySend) -> None:
        """Push all that is open; raises DeliveryError and StoreError."""
        with self._store.read() as connection:
            incidents = firing_incidents(connection)
        now = {each.subject.key(): self._alert(each) for each in incidents}
        over = [
            replace(alert, ends_at=self._clock())
            for key, alert in self._pushed.items()
            if key not in now
        ]
        if now or over:
            self._channel.push([*now.values(), *over], may_send)
        self._pushed = now

    def _alert(self, incident: OpenIncident) -> PushedAlert:
        subject = incident.subject
        is_ours = subject.network_id == INSTALLATION
        named = NetworkName("" if is_ours else f"network {subject.network_id}")
        network = self._networks.get(subject.network_id, named)
        title = visible(network.title)
        opening = Transition(
            _NOBODYS, subject, None, incident.state, incident.opened_at, incident.grounds
        )
        text = describe(opening, None, title)
        return PushedAlert(
            labels_of(
                str(subject.kind),
                None if is_ours else int(subject.network_id),
                title,
                rule=visible(subject.rule),
                dimension=visible(subject.dimension),
            ),
            {"summary": text.headline, "description": text.opening},
            incident.opened_at,
            self._clock() + FIRES_FOR,
            self._links.page("alerts", subject.network_id),
        )
