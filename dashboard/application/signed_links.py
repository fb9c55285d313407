"""What the links in messages do: acknowledge, silence, unsubscribe, verify, each at most once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta, tzinfo
from typing import Final, TypeAlias
from uuid import UUID, uuid5

from msgspec import Struct

from dashboard.application.context import ApplicationContext, ApplicationSubject
from dashboard.application.incident_words import owner_words
from dashboard.application.incidents import Incidents
from dashboard.application.recipients import Recipients
from dashboard.application.silences import Silences, matchers_of
from dashboard.domain.alerts.incident import Incident, IncidentEventKind
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.signed_link import LinkFault, LinkPurpose, SignedLink, read_link
from dashboard.domain.alerts.silence import (
    LONGEST_REASON,
    Silence,
    SilenceKind,
    SilenceRequest,
    SilenceState,
)
from dashboard.domain.formatting import moment, moment_in
from dashboard.domain.markup import visible
from dashboard.domain.people.access import Actor, Role, parse_name
from dashboard.errors import InputError
from dashboard.store.alerts.notifications import link_key
from dashboard.store.alerts.recipients import read_directory

SILENCED_FOR: Final = {
    "1h": timedelta(hours=1),
    "8h": timedelta(hours=8),
    "24h": timedelta(hours=24),
}
"""How long a link can silence an incident, by the values of the form."""


LinkForm: TypeAlias = Mapping[str, str]
"""The submitted form of a link, by field; a mail program sends a field of its own."""


class LinkSubject(Struct, frozen=True):
    """What a link is about, for its page; `done` says what was already done, if anything.

    `state`, `severity`, `since` and `changes` belong to the incident, and are empty if there is
    none; `since` is in UTC and in the recipient's zone. `last` says which transaction was rejected
    last and why, empty if there is none. `preview` says what a silence would cover, or what is
    acknowledged as well.
    """

    link: SignedLink
    title: str
    state: str = ""
    severity: str = ""
    since: str = ""
    changes: int = 0
    last: str = ""
    done: str = ""
    preview: str = ""


class LinkResult(Struct, frozen=True):
    """What was done, now or before."""

    headline: str
    text: str


class LinkActions(ApplicationSubject):
    def __init__(self, context: ApplicationContext) -> None:
        super().__init__(context)
        self._incidents = Incidents(context)
        self._silences = Silences(context)
        self._recipients = Recipients(context)

    def read(self, text: str) -> SignedLink | LinkFault:
        """Return the content of one of our links, or why it cannot be used."""
        with self._context.store.read() as connection:
            key = link_key(connection)
        if key is None:
            return LinkFault.FORGED  # no link was ever signed
        return read_link(text, key, self._context.now())

    def about(self, link: SignedLink) -> LinkSubject:
        """Return what the page shows before it asks for confirmation."""
        if link.incident_id is None:
            return self._about_recipient(link)
        story = self._incidents.story(link.incident_id)
        if story is None:
            return LinkSubject(link, "An incident that is no longer stored")
        incident = story.incident
        return LinkSubject(
            link,
            self._incidents.title_of(incident),
            state=str(story.state),
            severity=incident.severity,
            since=moment_in(incident.opened_at, self._zone(link.recipient)),
            changes=incident.transitions,
            last=self._incidents.last_transaction(incident),
            done=self._acknowledged(incident) if link.purpose is LinkPurpose.ACKNOWLEDGE else "",
            preview=self._preview(link.purpose, incident),
        )

    def _acknowledged(self, incident: Incident) -> str:
        """Say that an incident is over, or who acknowledged it, and when; empty if nobody did."""
        if incident.resolved_at is not None:
            return f"It was resolved on {moment(incident.resolved_at)}."
        story = self._incidents.story(incident.incident_id) if incident.owner else None
        if story is None:
            return ""
        owned = {IncidentEventKind.ACKNOWLEDGED, IncidentEventKind.HANDED_OVER}
        at = next((each.at for each in reversed(story.events) if each.kind in owned), None)
        when = "" if at is None else f" on {moment(at)}"
        return f"It was {owner_words(incident)}{when}."

    def _zone(self, recipient: Recipient) -> tzinfo:
        with self._context.store.read() as connection:
            return read_directory(connection, self._context.settings.recipients).zone(recipient)

    def _about_recipient(self, link: SignedLink) -> LinkSubject:
        address = visible(link.recipient.address, 200)
        if link.purpose is LinkPurpose.VERIFY:
            is_done = self._recipients.is_verified(link.recipient)
            return LinkSubject(link, address, done=f"{address} is verified." if is_done else "")
        is_off = self._recipients.is_off(link.recipient)
        done = f"{address} is off already, so nothing is sent there." if is_off else ""
        return LinkSubject(link, address, done=done)

    def _preview(self, purpose: LinkPurpose, incident: Incident) -> str:
        if purpose is LinkPurpose.ACKNOWLEDGE:
            others = () if incident.owner else self._incidents.within(incident)
            return self._incidents.with_it(others)
        matchers = matchers_of(incident)
        named = ", ".join(map(self._silences.words_of, matchers))
        return f"{named}. {self._silences.preview(matchers)}"

    def act(self, link: SignedLink, form: LinkForm) -> LinkResult:
        """Do what the link is for; the second time, say what was done the first time.

        InputError if the form is incomplete, or if it cannot be done.
        """
        name = parse_name(form.get("name", "").strip() or link.recipient.address[:80])
        by = Actor(name, self._context.now(), Role.OPERATOR, "a link in a message")
        match link.purpose:
            case LinkPurpose.ACKNOWLEDGE:
                return self._acknowledge(link, form, by)
            case LinkPurpose.SILENCE:
                return self._silence(link, form, by)
            case LinkPurpose.UNSUBSCRIBE:
                return self._unsubscribe(link, by)
            case LinkPurpose.VERIFY:
                return self._verify(link, by)

    def _acknowledge(self, link: SignedLink, form: LinkForm, by: Actor) -> LinkResult:
        response = self._incidents.acknowledge(
            _incident_id(link), by, form.get("note", "").strip(), link.recipient
        )
        title = self._incidents.title_of(response.incident)
        owner = visible(response.incident.owner, 80)
        if response.event is None:
            return LinkResult("Acknowledged already", f"“{title}” is acknowledged by {owner}.")
        also = self._incidents.with_it(response.others)
        said = f"“{title}” is acknowledged by {owner}. {also}"
        return LinkResult("Acknowledged", said.rstrip())

    def _silence(self, link: SignedLink, form: LinkForm, by: Actor) -> LinkResult:
        length = SILENCED_FOR.get(form.get("for", "").strip())
        if length is None:
            raise InputError(f"say how long: {', '.join(SILENCED_FOR)}")
        incident = self._incidents.find(_incident_id(link))
        if incident is None:
            raise InputError("this incident is no longer stored")
        title = self._incidents.title_of(incident)
        request = SilenceRequest(
            uuid5(incident.incident_id, f"{link.recipient.address} {link.expires_at}"),
            SilenceKind.SILENCE,
            matchers_of(incident),
            by.at,
            by.at + length,
            form.get("note", "").strip()
            or f"by a link in a message about {title}"[:LONGEST_REASON],
        )
        silence, is_new = self._silences.add(request, by)
        return LinkResult("Silenced" if is_new else "Silenced already", self._said(silence, title))

    def _said(self, silence: Silence, title: str) -> str:
        now = self._context.now()
        verb = "was" if silence.state(now) is SilenceState.EXPIRED else "is"
        end = moment(silence.over_at)
        return (
            f"Nobody {verb} notified of “{title}” until {end}. Silence {silence.silence_id} was "
            f"made by {visible(silence.author, 80)}; the page Alerts ends it, or makes another."
        )

    def _unsubscribe(self, link: SignedLink, by: Actor) -> LinkResult:
        is_new = self._recipients.unsubscribe(link.recipient, by)
        address = visible(link.recipient.address, 200)
        headline = "Unsubscribed" if is_new else "Unsubscribed already"
        return LinkResult(
            headline,
            f"{address} gets nothing from this Linewatch any more. "
            "To turn it on again, use the page Alerts.",
        )

    def _verify(self, link: SignedLink, by: Actor) -> LinkResult:
        is_new = self._recipients.verify(link.recipient, by)
        address = visible(link.recipient.address, 200)
        said = f"Alerts are sent to {address} from now on, beginning with what is open now."
        if self._recipients.is_off(link.recipient):
            said = f"{address} is off, so nothing is sent there until the page Alerts turns it on."
        return LinkResult("Verified" if is_new else "Verified already", said)


def _incident_id(link: SignedLink) -> UUID:
    if link.incident_id is None:
        raise InputError("this link names no incident")
    return link.incident_id
