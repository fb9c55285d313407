"""One mail of each kind, as people get them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import Any, Final
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from dashboard.alert.channels.mime import parse_sender, write_mail
from dashboard.alert.compose import Links, MessageContext, NetworkName, compose
from dashboard.alert.grouped_text import compose_grouped
from dashboard.alert.message import Message, MessageHeaders
from dashboard.alert.message_writer import load_templates
from dashboard.alert.verification_mails import message_of_verification
from dashboard.domain.alerts.condition import (
    INSTALLATION,
    DigestGrounds,
    Grounds,
    NetworkDigest,
    State,
    Subject,
    SubjectKind,
)
from dashboard.domain.alerts.incident import (
    Incident,
    IncidentEvent,
    IncidentEventKind,
    IncidentState,
    NotifiedChange,
)
from dashboard.domain.alerts.kinds.disk import SpaceGrounds
from dashboard.domain.alerts.kinds.stale_fees import AgeGrounds
from dashboard.domain.alerts.notification import Notification, NotificationKind, Recipient
from dashboard.domain.fees.busy_spells import BusyContext, FeePoint, UsualSpells
from dashboard.domain.health.observation import Operation
from dashboard.domain.people.verification import Verification, request_mail
from dashboard.domain.quantity import Address, NetworkId, TxHash, Wei
from dashboard.domain.rejections.exclusion import RejectionStage, StoredRejection
from dashboard.domain.rejections.line_limits import LineLimits, ModuleLimits
from tests.builders import (
    A_MOMENT,
    ANOTHER_NETWORK,
    GWEI,
    a_notification,
    a_record,
    a_rejection,
    a_suggestion,
    a_transition,
    an_id,
    an_incident,
    seconds,
    suggested_gas_fees,
)
from tests.mail_sample_changes import (
    ABOVE,
    ACTIONS,
    BELOW,
    BY_ADA,
    MEASURED,
    OF_RULES,
    SILENCE,
)

SENDER: Final = "Linewatch <linewatch@watch.example>"
TO: Final = "oncall@watch.example"
_BY_TWO: Final = (
    *(BY_ADA(IncidentEventKind.ACKNOWLEDGED), BY_ADA(IncidentEventKind.ACKNOWLEDGED)),
    IncidentEvent(A_MOMENT, IncidentEventKind.ACKNOWLEDGED, actor="Bob"),
)
TX_HASH: Final = TxHash.parse("0x2d6a" + "4be1" * 14 + "800e")
_LIMITS: Final = ModuleLimits("Linea limits", "1.4", "", {"MMU": 2_097_152})
TEMPLATES: Final = load_templates(
    {ANOTHER_NETWORK: NetworkName("Linea", line_limits=LineLimits((_LIMITS,)))},
    Links("https://watch.example", b"a key of the samples only"),
    ZoneInfo("Europe/Zurich"),
)
_LINKLESS: Final = replace(TEMPLATES, links=Links())


def sample_kinds() -> list[str]:
    """Return the names of the kinds."""
    return list(_samples())


def mail_sample(kind: str) -> Message:
    """Return the message of a kind."""
    return _samples()[kind]()


def _samples() -> dict[str, Callable[[], Message]]:
    return {
        "rejection": _rejection,
        "rejection without links": partial(
            compose, _rejected(), _LINKLESS, MessageContext(_known())
        ),
        "changed": _changed_record,
        "storm": _storm,
        "summary": _summary,
        "daily digest": _digest,
        "busy": _busy,
        "calm": partial(_of, SubjectKind.BUSYNESS, State.CALM, BELOW, State.BUSY),
        "silent": partial(_of, SubjectKind.EXCLUSION_API, State.SILENT, SILENCE),
        "answers": partial(_of, SubjectKind.EXCLUSION_API, State.ANSWERING, None, State.SILENT),
        "stale": partial(
            _of,
            SubjectKind.FEES,
            State.STALE,
            AgeGrounds(Operation.BUSY_THRESHOLD, A_MOMENT - seconds(400), timedelta(minutes=1)),
        ),
        "disk": partial(
            _of,
            SubjectKind.DISK,
            State.LOW_ON_SPACE,
            SpaceGrounds(410_000_000, 500_000_000),
            network=INSTALLATION,
        ),
        **{kind: partial(_of, *case) for kind, case in MEASURED.items()},
        **{kind: partial(_of_incident, kind) for kind in ACTIONS},
        "resolved": _resolved,
        "several reminders": partial(_several, NotificationKind.REMINDER),
        "several acknowledged": partial(_several, NotificationKind.ACKNOWLEDGED, *_BY_TWO),
        "after maintenance": partial(_after, "maintenance window 3 by Ada: upgrade of the nodes"),
        "after quiet hours": partial(_after, "quiet hours of the rule night shift"),
        "verification": _verification,
    }


def as_mail(message: Message) -> bytes:
    """Return a message as a mail server takes it."""
    headers = MessageHeaders(
        "<00000000-0000-0000-0000-000000001742@watch.example>", TO, A_MOMENT + seconds(4)
    )
    return write_mail(message, headers, parse_sender(SENDER)).as_bytes()


def _version(reason: str, **record: object) -> StoredRejection:
    fields = {
        "tx_hash": TX_HASH,
        "sender": Address.parse("0x" + "5f3c" * 10),
        "nonce": 71,
        "reason_message": reason,
        **record,
    }
    return a_rejection(record=a_record(**fields), network_id=ANOTHER_NETWORK)


def _of_incident(kind: str) -> Message:
    """Return the message about what became of an incident of rejections."""
    what, state, event = ACTIONS[kind]
    owner = "Ada" if event is None else event.owner or event.actor
    incident = _incident(
        incident_id=an_id(0x3F9C2A10 << 96),
        state=state,
        owner=owner if state is IncidentState.ACKNOWLEDGED else "",
        opened_at=A_MOMENT - timedelta(minutes=30),
        transitions=12,
    )
    notification = replace(_rejected(), kind=what, incident=incident, created_at=A_MOMENT)
    events = () if event is None else (event,)
    return compose(notification, TEMPLATES, MessageContext(_known(), events=events))


def _resolved() -> Message:
    notification = _notification_of(SubjectKind.BUSYNESS, State.CALM, BELOW, State.BUSY)
    opened_at = A_MOMENT - timedelta(minutes=14)
    incident = _incident(
        state=IncidentState.RESOLVED, owner="Ada", opened_at=opened_at, resolved_at=A_MOMENT
    )
    change = replace(notification.first, opened_at=opened_at)
    return compose(replace(notification, incident=incident), TEMPLATES, MessageContext(change))


def _several(kind: NotificationKind, *events: IncidentEvent) -> Message:
    """Return the message about several incidents themselves."""
    silent = _notification_of(SubjectKind.EXCLUSION_API, State.SILENT, SILENCE)
    changes = [*map(_one_of_many, (1, 5)), silent.first]
    notification = replace(_rejected(), kind=kind, incident=None)
    return compose_grouped(notification, TEMPLATES, changes, events=events)


def _verification() -> Message:
    """Return the mail that asks whether alerts may be sent to an address."""
    asked = request_mail(Verification(Recipient("mail", TO)), [], A_MOMENT)
    return message_of_verification(asked, TEMPLATES.links, A_MOMENT)


def _after(held_for: str) -> Message:
    """Return the summary of what was held back."""
    end = A_MOMENT + timedelta(hours=2)
    notification = replace(
        _rejected(), member_count=9, held_for=held_for, release_at=end, closed_at=end
    )
    return compose_grouped(notification, TEMPLATES, map(_one_of_many, range(1, 10)))


def _incident(**changes: Any) -> Incident:  # noqa: ANN401 - any field
    """Return an incident of rejections on the network of the samples."""
    group = (("network", str(ANOTHER_NETWORK)), ("module", "ADD"), ("stage", "RPC"))
    return an_incident(**({"group": group} | changes))


def _rejected(before: State | None = None) -> Notification:
    transition = a_transition(
        subject=Subject.transaction(ANOTHER_NETWORK, TX_HASH),
        before=before,
        at=A_MOMENT + seconds(4),
    )
    reason = f"Transaction {TX_HASH} line count for module ADD=676331 is above the limit 524288"
    return a_notification(
        transition=transition, rejection=_version(reason), incident=_incident(rule="rejections")
    )


def _known() -> NotifiedChange:
    return replace(_rejected().first, label="Case 1742", attempted_at=A_MOMENT - seconds(9))


def _rejection() -> Message:
    return compose(_rejected(), TEMPLATES, MessageContext(_known()))


def _changed_record() -> Message:
    notification = _rejected(State.REJECTED)
    later = _version(
        "TX_MODULE_LINE_COUNT_OVERFLOW(MMU)",
        tx_rejection_stage=RejectionStage.SEQUENCER,
        block_number=16_123_456,
        timestamp=A_MOMENT + seconds(60),
    )
    change = replace(
        _known(),
        transition=notification.transition,
        rejection=later,
        previous=notification.rejection,
    )
    return compose(notification, TEMPLATES, MessageContext(change))


def _storm() -> Message:
    """Return the message about what followed a first rejection."""
    changes = [_one_of_many(number) for number in range(1, 120)]
    notification = replace(
        _rejected(),
        member_count=len(changes),
        closed_at=A_MOMENT + seconds(34),
        in_reply_to="<00000000-0000-0000-0000-000000001741@watch.example>",
        incident=_incident(rule="rejected"),
    )
    return compose_grouped(notification, TEMPLATES, changes)


def _digest() -> Message:
    """Return the digest of a day on which one network was not watched for a while."""
    day = timedelta(days=1)
    figures = (
        NetworkDigest(
            ANOTHER_NETWORK,
            113,
            is_whole=False,
            busy=0.042,
            gaps=1,
            unwatched=timedelta(minutes=25),
        ),
        NetworkDigest(
            NetworkId(59_141), 0, is_whole=True, busy=None, gaps=0, unwatched=timedelta()
        ),
    )
    grounds = DigestGrounds(
        A_MOMENT - day, A_MOMENT, is_weekly=False, networks=figures, opened=3, open=1, unassigned=1
    )
    change = a_transition(
        subject=Subject(SubjectKind.DIGEST, INSTALLATION),
        before=None,
        after=State.REPORTED,
        grounds=grounds,
    )
    notification = replace(_rejected(), rejection=None, incident=None, kind=NotificationKind.DIGEST)
    return compose(replace(notification, transition=change), TEMPLATES)


def _summary() -> Message:
    """Return the message after an outage of the mail server."""
    busy, silent = (
        _notification_of(kind, after, grounds).first
        for kind, after, grounds in (
            (SubjectKind.BUSYNESS, State.BUSY, ABOVE),
            (SubjectKind.EXCLUSION_API, State.SILENT, SILENCE),
        )
    )
    changes = [busy, *map(_one_of_many, range(1, 9)), silent]
    notification = replace(
        _rejected(),
        member_count=len(changes),
        release_at=A_MOMENT + seconds(30),
        closed_at=A_MOMENT + timedelta(hours=1),
        incident=None,
    )
    return compose_grouped(notification, TEMPLATES, changes)


def _one_of_many(number: int) -> NotifiedChange:
    """Return one rejection of a storm: most for one reason, some at another stage."""
    tx_hash = TxHash(sha256(bytes([number])).digest())
    reason = (
        f"Transaction line count for module ADD={524_288 + 911 * number} is above the limit 524288"
    )
    stage = RejectionStage.RPC
    if number % 5 == 0:
        reason, stage = "TX_MODULE_LINE_COUNT_OVERFLOW(MMU)", RejectionStage.SEQUENCER
    return NotifiedChange(
        a_transition(
            number,
            subject=Subject.transaction(ANOTHER_NETWORK, tx_hash),
            at=A_MOMENT + seconds(number / 4),
        ),
        _version(reason, tx_hash=tx_hash, tx_rejection_stage=stage),
        label=f"Payroll {number}" if number % 3 == 0 else "",
    )


def _busy() -> Message:
    notification = _notification_of(SubjectKind.BUSYNESS, State.BUSY, ABOVE)
    since = A_MOMENT - timedelta(days=1)
    fees = (
        FeePoint(since + timedelta(minutes=5 * step), *[Wei(_fee_at(step))] * 2)
        for step in range(276)
        if not 100 < step < 112
    )
    rising = (
        FeePoint(A_MOMENT - timedelta(minutes=5 * step), *[Wei((23 - step) * GWEI)] * 2)
        for step in range(11, -1, -1)
    )
    around = BusyContext(
        grounds=ABOVE,
        since=since,
        until=A_MOMENT,
        suggested=suggested_gas_fees(
            low=a_suggestion(1_100_000_000, 25_500_000_000),
            medium=a_suggestion(1_600_000_000, 28_400_000_000),
            high=a_suggestion(2_400_000_000, 31_300_000_000),
            estimated_base_fee=ABOVE.fee,
        ),
        suggested_at=A_MOMENT - seconds(2),
        fees=(*fees, *rising),
        usual=UsualSpells(9, timedelta(minutes=14), timedelta(minutes=52), is_of_hour=True),
    )
    return compose(notification, TEMPLATES, MessageContext(notification.first, around))


def _fee_at(step: int) -> int:
    """Return a fee that goes up and down in waves, and a little at every step."""
    wave = abs(step % 92 - 46) / 46
    return round((9 + 6 * wave + step * 7919 % 13 / 12) * GWEI)


def _of(
    kind: SubjectKind,
    after: State,
    grounds: Grounds | None,
    before: State | None = None,
    network: NetworkId = ANOTHER_NETWORK,
) -> Message:
    notification = _notification_of(kind, after, grounds, before, network)
    opened_at = None if after.is_open else A_MOMENT - timedelta(minutes=14)
    change = replace(notification.first, opened_at=opened_at)
    return compose(notification, TEMPLATES, MessageContext(change))


def _notification_of(
    kind: SubjectKind,
    after: State,
    grounds: Grounds | None,
    before: State | None = None,
    network: NetworkId = ANOTHER_NETWORK,
) -> Notification:
    tx_hash = TX_HASH if kind is SubjectKind.INCLUSION else None
    rule, dimension = ("night shift", "mail") if kind in OF_RULES else ("", "")
    subject = Subject(kind, network, tx_hash, rule, dimension)
    transition = a_transition(
        subject=subject, before=before, after=after, at=A_MOMENT, grounds=grounds
    )
    return a_notification(transition=transition, rejection=None, incident=_incident(rule=rule))
