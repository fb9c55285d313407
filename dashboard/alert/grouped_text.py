"""The message about several changes: counted, the first of them named, all of them in a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from dashboard.alert.compose import (
    ActionLinks,
    MessageTemplates,
    NetworkName,
    actions_of,
    link_of,
    network_named,
    text_of,
    title_of,
)
from dashboard.alert.incident_text import tone_of
from dashboard.alert.message import Attachment, Message
from dashboard.alert.occasion import Occasion, occasion_of
from dashboard.alert.rejection_text import name_of
from dashboard.domain.alerts.condition import INSTALLATION, SubjectKind
from dashboard.domain.alerts.incident import Incident, IncidentEvent, NotifiedChange
from dashboard.domain.alerts.kinds.kind import IncidentText
from dashboard.domain.alerts.kinds.rejection_rate import LOOK_AT_REJECTIONS
from dashboard.domain.alerts.notification import FIRST_MEMBERS, Notification
from dashboard.domain.csv_tables import write_csv
from dashboard.domain.formatting import counted, moment, moment_in, short_hash, span
from dashboard.domain.markup import unlinked, unlinked_name, visible
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import or_unknown
from dashboard.domain.rejections.reasons import in_brief, overrun, parse_reason
from dashboard.domain.tracking.statements import are_in_dispute, statements_in_words

_HEADER: Final = (
    *("noticed_at", "network_id", "network", "change", "transaction", "label", "attempted_at"),
    *("sender", "nonce", "stage", "module", "count", "limit", "overrun", "block", "dated"),
    *("first_seen_at", "reason", "endpoints_say"),
)
_NAMED_IN_SUBJECT: Final = 2
"""How many changes of networks have their states named in the subject."""

_UNRECORDED: Final = "reason not kept"
_TONES: Final = ("alarm", "notable", "relief")
"""From the most to the least alarming."""


class ChangeLine(NamedTuple):
    """One change in the text: since when it holds, whom it concerns, what happened, and where.

    `link` is empty if there is none. A rejection has a `stage`, any other change a `state`.
    """

    at: str
    name: str
    said: str
    stage: str = ""
    link: str = ""
    state: str = ""


class Cause(NamedTuple):
    """What rejections in the text are counted by."""

    network: str
    cause: str
    stage: str


class _Grouped(Struct):
    """What a message says of its changes, which it sees once each, in order.

    `lines` are the first rejections, `others` the first of all other changes, which would be lost
    among them. The message goes over `channel`.
    """

    templates: MessageTemplates
    channel: str = ""
    lines: list[ChangeLine] = field(default_factory=list)
    others: list[ChangeLine] = field(default_factory=list)
    causes: Counter[Cause] = field(default_factory=Counter)
    networks: dict[NetworkId, NetworkName] = field(default_factory=dict)
    many: int = 0
    new: int = 0
    of_networks: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    tones: set[str] = field(default_factory=set)

    def take(self, change: NotifiedChange) -> tuple[str | int | None, ...]:
        """Count a change, name it if it is among the first, and return its row of the table."""
        transition = change.transition
        network_id = transition.subject.network_id
        network = self.networks.setdefault(network_id, network_named(network_id, self.templates))
        self.many += 1
        self.tones.add(tone_of(transition, is_over=change.ended is not None))
        began_at = transition.began_at
        self.first_at = min(began_at, self.first_at or began_at)
        self.last_at = max(began_at, self.last_at or began_at)
        if transition.subject.kind is SubjectKind.TRANSACTION:
            self._take_rejection(change, network)
        else:
            self._take_other(change, network)
        return _row(change, network)

    def _take_rejection(self, change: NotifiedChange, network: NetworkName) -> None:
        self.new += not change.is_changed_record
        cause, stage = _UNRECORDED, ""
        if change.rejection is not None:
            record = change.rejection.record
            limits = network.line_limits.at(change.rejection.dated_at)
            cause = in_brief(parse_reason(record.reason_message, limits))
            stage = str(record.tx_rejection_stage) if record.is_staged else ""
        self.causes[Cause(visible(network.title), cause, stage)] += 1
        if len(self.lines) < FIRST_MEMBERS:
            text = self._text_of(change, network)
            said = text.subject.partition(" · ")[0]
            said += ", endpoints disagree" if are_in_dispute(change.statements) else ""
            tx_hash = change.transition.subject.tx_hash
            short = "" if tx_hash is None else short_hash(tx_hash)
            name = name_of(change)
            link = "" if tx_hash is None else self.templates.links.lookup(tx_hash)
            whole = name if short in {name, ""} else f"{name} ({short})"
            self.lines.append(ChangeLine(_clock(change), whole, said, stage, link))

    def _take_other(self, change: NotifiedChange, network: NetworkName) -> None:
        self.of_networks += 1
        if len(self.others) < FIRST_MEMBERS:
            text = self._text_of(change, network)
            title = visible(network.title)
            said = (text.subject or text.headline).removesuffix(f" · {title}")
            link = link_of(change, text, self.templates.links)
            state = f"{change.transition.after.word}{'' if change.ended is None else ' (over)'}"
            self.others.append(ChangeLine(_clock(change), title, said, link=link, state=state))

    def _text_of(self, change: NotifiedChange, network: NetworkName) -> IncidentText:
        return text_of(change, network, self.templates.zone, self.channel)

    @property
    def unnamed(self) -> int:
        """How many rejections the text does not name one by one."""
        return self.many - self.of_networks - len(self.lines)

    @property
    def unnamed_others(self) -> int:
        """How many other changes it does not name."""
        return self.of_networks - len(self.others)

    @property
    def spans_days(self) -> bool:
        """Whether the changes are on several days, so that a time of day is not enough."""
        return len({at.date() for at in (self.first_at, self.last_at) if at is not None}) > 1

    @property
    def where(self) -> str:
        """The network, or how many there are; a change without a network is of Linewatch itself."""
        titles = [visible(each.title) for key, each in self.networks.items() if key != INSTALLATION]
        several = [f"{len(titles)} networks"] if len(titles) > 1 else titles
        itself = ["Linewatch itself"] if INSTALLATION in self.networks else []
        return " and ".join(several + itself)

    @property
    def about(self) -> NetworkId:
        """The network, if there is exactly one."""
        return next(iter(self.networks)) if len(self.networks) == 1 else INSTALLATION

    @property
    def simulated(self) -> list[str]:
        """Return the networks with simulated data."""
        return [visible(each.title) for each in self.networks.values() if each.is_simulated]

    @property
    def is_simulated(self) -> bool:
        """Whether all data is simulated."""
        return 0 < len(self.simulated) == len(self.networks)

    @property
    def how_real(self) -> str:
        """What the subject adds if some of the data is simulated."""
        partly = " (partly simulated data)" if self.simulated else ""
        return " (simulated data)" if self.is_simulated else partly

    @property
    def variables(self) -> dict[str, object]:
        """The variables of the templates."""
        about = {"network": self.where, "is_simulated": self.is_simulated, "tone": self.tone}
        causes = self.causes.most_common(FIRST_MEMBERS)
        named = {"grouped": self, "causes": causes, "spans_days": self.spans_days}
        named["has_networks"] = len(self.networks) > 1
        return named | about | {"partly_simulated": " and ".join(self.simulated)}

    @property
    def tone(self) -> str:
        """The look of the message: that of the most alarming change."""
        return next((each for each in _TONES if each in self.tones), "notable")


def compose_grouped(
    notification: Notification,
    templates: MessageTemplates,
    changes: Iterable[NotifiedChange],
    beside: Sequence[Incident] = (),
    events: Sequence[IncidentEvent] = (),
    settled: Sequence[Incident] = (),
    critical: Sequence[str] = (),
) -> Message:
    """Compose one message about several changes; the same ones give the same message.

    `changes` are all of them in the order of events; each is read once and not kept, except for its
    row in the attached table. If the notification has none of its own, they are the last of each of
    its incidents. `beside` are incidents whose state a summary tells, although it reports no change
    of them; `events` are what people did to its incidents; `settled` are those of which somebody
    took care already; `critical` are the critical rules of those that are open.
    """
    grouped = _Grouped(templates, notification.recipient.channel)
    table = write_csv(_HEADER, map(grouped.take, changes)).encode("utf-8-sig")
    attached = Attachment(f"linewatch-{notification.dated:%Y%m%d-%H%M%S}.csv", "text/csv", table)
    more = "more " if notification.in_reply_to and notification.is_of_changes else ""
    zone, links = templates.zone, templates.links
    actions = actions_of(notification, links)
    occasion = occasion_of(notification, zone, *events, incidents=grouped.many, critical=critical)
    steps = () if occasion.is_done else occasion.steps or _steps(grouped, actions)
    incidents = counted(grouped.many, "incident") if notification.is_of_incidents else ""
    said = " · ".join(filter(None, (incidents or _subject(grouped, more), _counted_beside(beside))))
    subject = occasion.subject(f"{said} · {grouped.where}{grouped.how_real}")
    variables = {
        "subject": subject,
        "headline": f"{incidents or _counted(grouped, more)} on {grouped.where}",
        "period": _period(grouped, templates),
        "preheader": occasion.said[0] if occasion.word else _preheader(grouped, occasion),
        "occasion": replace(occasion, steps=steps),
        "kicker": occasion.kicker or ("Several changes" if notification.incident else "Summary"),
        **_beside(beside, settled, notification, templates),
        "file": attached.name,
        "rule": "" if notification.incident is None else unlinked(notification.incident.rule),
        **grouped.variables | ({"tone": "relief"} if occasion.is_done else {}),
        "link": links.page("alerts", grouped.about),
        "link_label": "See them all",
        "written": f"wrote this on {moment_in(notification.dated, zone)}",
        "has_links": bool(links.public_url),
        "actions": actions,
    }
    pair = templates.grouped
    text, html = pair.text.render(variables), pair.html.render(variables)
    return Message(subject, text, html, attachments=(attached,), unsubscribe=actions.unsubscribe)


def _steps(grouped: _Grouped, actions: ActionLinks) -> tuple[str, ...]:
    """Say what to do about many rejections; other changes say it beside them."""
    if not grouped.causes:
        return ()
    take = "Acknowledge them with the link in this mail: everybody sees that you work on them."
    return (*((take,) if actions.acknowledge else ()), *LOOK_AT_REJECTIONS)


def _counted_beside(beside: Sequence[Incident]) -> str:
    """Count the incidents without a change: those that wait for somebody, and others."""
    waiting = sum(each.is_open and not each.owner for each in beside)
    said = [counted(waiting, "reminder")] if waiting else []
    if others := len(beside) - waiting:
        said.append(counted(others, "other incident"))
    return ", ".join(said)


def _beside(
    beside: Sequence[Incident],
    settled: Sequence[Incident],
    notification: Notification,
    templates: MessageTemplates,
) -> dict[str, object]:
    """Say what state each of these incidents is in, up to a limit."""
    several = {
        "Already resolved": [
            title_of(each, templates.networks) for each in settled if each.was_cut_short
        ],
        "Already acknowledged": [
            _taken(each, templates) for each in settled if not each.was_cut_short
        ],
        "Incidents without a change": [_standing(each, notification, templates) for each in beside],
    }
    named = {title: lines[:FIRST_MEMBERS] for title, lines in several.items() if lines}
    more = {title: max(0, len(lines) - FIRST_MEMBERS) for title, lines in several.items()}
    return {"standing": named, "more_standing": more}


def _taken(incident: Incident, templates: MessageTemplates) -> str:
    title = title_of(incident, templates.networks)
    return f"{title}: acknowledged by {unlinked_name(incident.owner)}"


def _standing(incident: Incident, notification: Notification, templates: MessageTemplates) -> str:
    lasted = span((incident.resolved_at or notification.dated) - incident.opened_at)
    stands = f"nobody has acknowledged it for {lasted}"
    if not incident.is_open:
        stands = f"resolved after {lasted}"
    elif incident.owner:
        return _taken(incident, templates)
    return f"{title_of(incident, templates.networks)}: {stands}"


def _subject(grouped: _Grouped, more: str) -> str:
    """Return the beginning of the subject: the most frequent reason, or the first other change."""
    if not grouped.causes:
        others = _states(grouped.others[1:], grouped.of_networks - 1)
        return " · ".join(filter(None, (grouped.others[0].said, others)))
    by_cause: Counter[str] = Counter()
    for key, many in grouped.causes.items():
        by_cause[key.cause] += many
    [(cause, _)] = by_cause.most_common(1)
    rest = len(by_cause) - 1
    beside = f" and {counted(rest, 'other reason')}" if rest else ""
    return f"{cause}{beside} · {_counted(grouped, more)}"


def _counted(grouped: _Grouped, more: str) -> str:
    """Say how many changes there are, and of which kinds."""
    rejections = grouped.many - grouped.of_networks
    word = "rejection" if grouped.new == rejections else "changed record"
    if 0 < grouped.new < rejections:
        word = "new or changed rejection"
    said = [counted(rejections, f"{more}{word}")] if rejections else []
    if grouped.of_networks:
        states = _states(grouped.others, grouped.of_networks) if rejections else ""
        said.append(states or counted(grouped.of_networks, f"{more}change"))
    return ", ".join(said)


def _states(others: Sequence[ChangeLine], many: int) -> str:
    """Name the states of other changes if they fit into a subject, else count them."""
    if many > _NAMED_IN_SUBJECT:
        return counted(many, "other change")
    return ", ".join(each.state for each in others)


def _period(grouped: _Grouped, templates: MessageTemplates) -> str:
    """Say from when to when the changes happened, as the lists date them."""
    begin, end = (
        "" if at is None else moment_in(at, templates.zone)
        for at in (grouped.first_at, grouped.last_at)
    )
    return begin if begin == end else f"{begin} to {end}"


def _preheader(grouped: _Grouped, occasion: Occasion) -> str:
    commonest = grouped.causes.most_common(3)
    said = [f"{many:,} {key.cause} {key.stage}".strip() for key, many in commonest]
    critical = ["Critical"] if occasion.is_critical else []
    return " · ".join(critical + (said or [each.said for each in grouped.others[:3]]))


def _clock(change: NotifiedChange) -> str:
    return moment(change.transition.began_at)


def _row(change: NotifiedChange, network: NetworkName) -> tuple[str | int | None, ...]:
    """Return the row of a change; unknown cells are empty."""
    transition = change.transition
    tx_hash = transition.subject.tx_hash
    said = "record changed" if change.is_changed_record else transition.after.word
    attempted = None if change.attempted_at is None else change.attempted_at.isoformat()
    about = (
        *(transition.at.isoformat(), transition.subject.network_id, network.title, said),
        *(str(tx_hash or transition.subject.kind), change.label, attempted),
    )
    said_by = statements_in_words(change.statements)
    if change.rejection is None:
        return (*about, *[None] * (len(_HEADER) - len(about) - 1), said_by)
    record = change.rejection.record
    limits = network.line_limits.at(change.rejection.dated_at)
    reason = parse_reason(record.reason_message, limits)
    times = overrun(reason)
    return (
        *about,
        *(or_unknown(record.sender), or_unknown(record.nonce), str(record.tx_rejection_stage)),
        *(reason.module, reason.count, reason.limit, None if times is None else f"{times:.2f}"),
        record.block_number,
        or_unknown(None if record.timestamp is None else record.timestamp.isoformat()),
        *(change.rejection.first_seen_at.isoformat(), record.reason_message, said_by),
    )
