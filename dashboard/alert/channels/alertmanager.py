"""Push to Alertmanager (API v2): each incident is one alert, which fires until it is over."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from dashboard.alert.channels.http_to_public_addresses import (
    HttpRequest,
    HttpRules,
    HttpTarget,
    exchange,
    judge,
)
from dashboard.alert.message import MaySend, Message, MessageHeaders, always
from dashboard.domain.alerts.condition import SubjectKind
from dashboard.domain.quantity import Clock
from dashboard.domain.secret import Secret
from dashboard.wire.decoding import format_timestamp, parse_timestamp

_PATH: Final = "/api/v2/alerts"

_AT_ONCE: Final = 500
"""How many alerts one push carries: a body of a few hundred kilobytes."""

FIRES_FOR: Final = timedelta(minutes=5)
"""How long an alert fires after a push: it ends by itself if this worker ends and no other takes
over."""

REJECTION_FIRES_FOR: Final = timedelta(minutes=15)
"""The same for a rejection, which is not pushed again: nothing ever undoes it."""

_TEST_FIRES_FOR: Final = timedelta(minutes=1)
_MAIL_FIRES_FOR: Final = timedelta(days=1)

_NAMES: Final = {
    SubjectKind.TRANSACTION: "LinewatchTransactionRejected",
    SubjectKind.BUSYNESS: "LinewatchNetworkBusy",
    SubjectKind.FEES: "LinewatchFeesStale",
    SubjectKind.GAS_API: "LinewatchGasApiSilent",
    SubjectKind.EXCLUSION_API: "LinewatchExclusionApiSilent",
    SubjectKind.LINE_LIMITS: "LinewatchLineLimitsEnded",
    SubjectKind.DISK: "LinewatchDiskFilling",
    SubjectKind.REJECTION_RATE: "LinewatchRejectionRate",
    SubjectKind.FEE_LIMIT: "LinewatchFeeLimit",
    SubjectKind.INCLUSION: "LinewatchTransactionIncluded",
    SubjectKind.COVERAGE: "LinewatchCoverageGap",
    SubjectKind.WORKER: "LinewatchWorkerSilent",
    SubjectKind.DELIVERY: "LinewatchDeliveryFailing",
    SubjectKind.ADDRESS: "LinewatchAddressBounces",
    SubjectKind.CREDITS: "LinewatchCreditsShort",
    SubjectKind.EXPIRY: "LinewatchExpiry",
}


class PushedAlert(Struct, frozen=True):
    """One alert: the same `labels` are the same alert. `link` is empty if there is no page."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    starts_at: datetime
    ends_at: datetime
    link: str = ""

    def form(self) -> dict[str, object]:
        """Return it in the form of the API."""
        form: dict[str, object] = {
            "labels": {name: text for name, text in self.labels.items() if text},
            "annotations": dict(self.annotations),
            "startsAt": format_timestamp(self.starts_at),
            "endsAt": format_timestamp(max(self.ends_at, self.starts_at)),
        }
        return form | ({"generatorURL": self.link} if self.link else {})


def labels_of(
    condition: str, network_id: int | None, network: str, **more: str | None
) -> dict[str, str]:
    """Return the labels of a condition: the same from its opening to its end."""
    labels = {
        "alertname": _NAMES.get(SubjectKind(condition), "Linewatch"),
        "condition": condition,
        "network": network,
        "network_id": "" if network_id is None else str(network_id),
    }
    return labels | {name: text or "" for name, text in more.items()}


def alerts_of(payload: Mapping[str, Any], now: datetime) -> list[PushedAlert]:
    """Return the alerts in a message, one for each change that it names."""
    data = payload["data"]
    annotations = {"summary": data["subject"], "description": data["text"]}
    if payload["type"] == "test":
        labels = {"alertname": "LinewatchTest"}
        return [PushedAlert(labels, annotations, now, now + _TEST_FIRES_FOR)]
    if "members" not in data:
        return [_alert_of_mail(data, annotations, now)]
    members, link = data["members"], data["link"] or ""
    if len(members) == 1:
        return [_alert_of(members[0], annotations, link, now)]
    return [_alert_of(each, _annotations(each), link, now) for each in members]


def _annotations(member: Mapping[str, Any]) -> Mapping[str, str]:
    """Describe one change of many, without the text about all of them."""
    reason = (member["transaction"] or {}).get("reason")
    return {"summary": member["headline"], "description": reason or member["headline"]}


def _alert_of(
    member: Mapping[str, Any], annotations: Mapping[str, str], link: str, now: datetime
) -> PushedAlert:
    network, transaction = member["network"] or {}, member["transaction"] or {}
    labels = labels_of(
        member["condition"],
        network.get("id"),
        network.get("title", ""),
        rule=member["rule"],
        dimension=member["dimension"],
        stage=transaction.get("stage"),
        tx_hash=transaction.get("hash"),
    )
    fires_for = REJECTION_FIRES_FOR if transaction else FIRES_FOR
    ends_at = now + fires_for if member["isOpen"] else parse_timestamp(member["at"])
    return PushedAlert(labels, annotations, parse_timestamp(member["openedAt"]), ends_at, link)


def _alert_of_mail(
    data: Mapping[str, Any], annotations: Mapping[str, str], now: datetime
) -> PushedAlert:
    """Return the alert for failing mail, which fires until mail works again, or for a day."""
    labels = {"alertname": "LinewatchMailFailing", "severity": data["severity"]}
    over = data.get("endedAt")
    ends_at = now + _MAIL_FIRES_FOR if over is None else parse_timestamp(over)
    return PushedAlert(labels, annotations, parse_timestamp(data["since"]), ends_at)


class AlertmanagerChannel:
    """Pushes to one Alertmanager; `username` and `password` if it requires a login."""

    def __init__(
        self,
        target: HttpTarget,
        clock: Clock,
        rules: HttpRules,
        username: str = "",
        password: Secret = Secret(""),  # noqa: B008 - it holds nothing and never changes
    ) -> None:
        base = target.path.partition("?")[0].rstrip("/")
        self._target = replace(target, path=f"{base}{_PATH}")
        self._clock = clock
        self._rules = rules
        login = f"{username}:{password.reveal()}".encode()
        self._login = Secret(b64encode(login).decode() if username else "")
        self._secrets = (self._login, password)

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:  # noqa: ARG002 - an alert is recognised by its labels
        """Push the alerts of a message; raises as `judge` does, and DeliveryBlocked."""
        return self.push(alerts_of(message.payload, self._clock()), may_send)

    def push(self, alerts: Sequence[PushedAlert], may_send: MaySend = always) -> str:
        """Push alerts, again or for the first time, a few hundred at once; return the last answer.

        If one push fails, the next attempt starts over: pushing the same alert twice changes
        nothing.
        """
        answer = ""
        for begin in range(0, len(alerts), _AT_ONCE):
            answer = self._push(alerts[begin : begin + _AT_ONCE], may_send)
        return answer

    def _push(self, alerts: Sequence[PushedAlert], may_send: MaySend) -> str:
        body = json.dumps([each.form() for each in alerts], ensure_ascii=True).encode()
        request = HttpRequest(lambda: (body, self._headers()), secrets=self._secrets)
        return judge(exchange(self._target, request, self._rules, may_send))

    def _headers(self) -> dict[str, str]:
        login = {"Authorization": f"Basic {self._login.reveal()}"} if self._login else {}
        return {"Content-Type": "application/json", **login}
