"""The message about several changes: the first of them in the text, all of them in a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import Final

from dashboard.alert.compose import MessageTemplates, NetworkName
from dashboard.alert.incident_text import describe, tone_of
from dashboard.alert.message import Attachment, Message
from dashboard.domain.condition import INSTALLATION, State, SubjectKind
from dashboard.domain.foreign_text import visible
from dashboard.domain.formatting import moment_in
from dashboard.domain.notification import Notification, NotificationMember
from dashboard.domain.quantity import NetworkId
from dashboard.domain.reason_labels import name_of
from dashboard.domain.reason_parser import parse_reason
from dashboard.domain.spreadsheet import write_csv

_HEADER: Final = (
    *("noticed_at", "network_id", "network", "change", "transaction", "sender", "nonce", "stage"),
    *("module", "count", "limit", "block", "dated", "reason"),
)


def compose_gathered(
    notification: Notification, templates: MessageTemplates, members: Iterable[NotificationMember]
) -> Message:
    """Write one message about several changes; the same ones give the same message.

    The text names the first, which the notification carries itself; `members` are all of them, one
    row each in the attached table, and are read while this runs.
    """
    first = notification.members
    ids = sorted({each.transition.subject.network_id for each in first})
    known = {each: templates.networks.get(each, _unknown(each)) for each in ids}
    where = visible(known[ids[0]].title) if len(ids) == 1 else f"{len(ids)} networks"
    is_simulated = any(each.is_simulated for each in known.values())
    headline = f"{notification.member_count:,} {_what_they_are(first)} on {where}"
    names = {network_id: visible(each.title) for network_id, each in known.items()}
    lines = [line_of(each, names[each.transition.subject.network_id]) for each in first]
    subject = f"{headline}{' (simulated data)' if is_simulated else ''}"
    facts = {
        "subject": subject,
        "headline": headline,
        "preheader": lines[0],
        "network": where,
        "is_simulated": is_simulated,
        "tone": tone_of(first[-1].transition),
        "lines": lines,
        "others": notification.member_count - len(first),
        "link": templates.links.page("alerts", ids[0] if len(ids) == 1 else INSTALLATION),
        "changed_at": moment_in(notification.dated, templates.zone),
        "has_links": bool(templates.links.public_url),
    }
    titles = {network_id: each.title for network_id, each in templates.networks.items()}
    table = Attachment("changes.csv", "text/csv", table_of(members, titles))
    text, html = templates.gathered.text.render(facts), templates.gathered.html.render(facts)
    return Message(subject, text, html, attachments=(table,))


def line_of(member: NotificationMember, network: str) -> str:
    """Say a change in one line; `network` is its name, made visible."""
    transition, opening = member.transition, member.opening
    if transition.subject.tx_hash is None:
        since = None if opening is None else opening.opened_at
        said = describe(transition, since, network).headline
    else:
        why = "" if member.rejection is None else _why(member.rejection.record.reason_message)
        said = f"{transition.subject.tx_hash} {_change_of(member)} on {network}{why}"
    return f"{moment_in(transition.at, UTC)}  {said}"


def table_of(members: Iterable[NotificationMember], networks: Mapping[NetworkId, str]) -> bytes:
    """Write one row for each change, as CSV in UTF-8 with the mark that spreadsheets look for."""
    return write_csv(_HEADER, _rows(members, networks)).encode("utf-8-sig")


def _unknown(network_id: NetworkId) -> NetworkName:
    return NetworkName("Linewatch" if network_id == INSTALLATION else f"network {network_id}")


def _what_they_are(first: Sequence[NotificationMember]) -> str:
    """Name several changes by what the first of them have in common."""
    known = {each.transition.subject.kind for each in first}
    are_new = all(each.transition.before is None for each in first)
    return "rejections" if known == {SubjectKind.TRANSACTION} and are_new else "changes"


def _change_of(member: NotificationMember) -> str:
    """Name a change in a word or two."""
    transition = member.transition
    if transition.before is transition.after is State.REJECTED:
        return "record changed"
    return str(transition.after)


def _why(text: str) -> str:
    reason = parse_reason(text)
    return f": {name_of((reason.kind, reason.module))}"


def _rows(
    members: Iterable[NotificationMember], networks: Mapping[NetworkId, str]
) -> Iterator[tuple[str | int | None, ...]]:
    for each in members:
        transition, rejection = each.transition, each.rejection
        network_id = transition.subject.network_id
        about = (
            *(transition.at.isoformat(), network_id, networks.get(network_id, "")),
            *(_change_of(each), str(transition.subject.tx_hash or transition.subject.kind)),
        )
        if rejection is None:
            yield about
            continue
        record = rejection.record
        reason = parse_reason(record.reason_message)
        yield (
            *about,
            *(str(record.sender), str(record.nonce), str(record.tx_rejection_stage)),
            *(reason.module, reason.count, reason.limit, record.block_number),
            *(record.timestamp.isoformat(), visible(record.reason_message)),
        )
