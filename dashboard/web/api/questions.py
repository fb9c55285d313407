"""Endpoints of the management API that answer and change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar
from uuid import UUID

from dashboard.application.answers import AnswerContext, AnswerTexts
from dashboard.application.audit import AUDIT, AuditLog
from dashboard.application.delivery_listing import notification_listing
from dashboard.application.incident_words import incident_listing
from dashboard.application.keys import Keys
from dashboard.application.listing import Json, instant
from dashboard.application.lookup import lookup_form
from dashboard.application.network_status import NetworkStatus
from dashboard.application.people_listings import PEOPLE, SESSIONS
from dashboard.application.recipient_words import RECIPIENTS
from dashboard.application.rejections import rejection_listing
from dashboard.application.rules import rule_listing
from dashboard.application.sharing import SHARE_LINKS
from dashboard.application.tokens import TOKENS, Tokens
from dashboard.application.tracked import TrackedEntry
from dashboard.domain.alerts.rule_table import write_rule
from dashboard.domain.alerts.silence import SilenceKind
from dashboard.domain.people.access import Action
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.search import HashRange, RejectionFilter
from dashboard.errors import InputError
from dashboard.store.alerts.notification_search import NotificationFilter
from dashboard.store.tracking.search import TrackedFilter
from dashboard.web.api.endpoint import (
    Asked,
    Fields,
    Hashes,
    Moment,
    NotFound,
    Reply,
    Rows,
    Slice,
    Text,
    version_of,
)

Item = TypeVar("Item")
_CURSOR: Final = re.compile(r"(\d{1,15})\.(\d{1,6})", re.ASCII)
_THOUSAND: Final = 1_000


class OfNetwork(Fields):
    """What is asked of one network, or of all."""

    network_id: int | None = None


class RejectionQuery(Slice):
    """Which rejections, the latest arrival first."""

    network_id: int | None = None
    stage: RejectionStage | None = None
    module: Text | None = None
    sender: Text = ""
    tx_hash: Text = ""
    label: Text = ""
    search: Text = ""
    since: Moment | None = None
    until: Moment | None = None


class TrackedQuery(Slice):
    """Which tracked transactions, the latest first."""

    network_id: int | None = None
    search: Text = ""
    label: Text = ""
    case_id: Text = ""
    owner: Text = ""
    tag: Text = ""


class Lookup(Fields):
    """Which transactions; `ask` also asks every network now, which may cost credits."""

    hashes: Hashes
    ask: bool = False


class IncidentQuery(Fields):
    """Which incidents: the open ones, and with `resolved` the latest that ended."""

    network_id: int | None = None
    resolved: bool = False
    limit: Rows = 100


class AuditQuery(Slice):
    """Which entries, the latest first."""

    action: Action | None = None
    since: Moment | None = None
    until: Moment | None = None


def networks(asked: Asked) -> Reply:
    as_of, statuses = asked.application.statuses_as_of()
    return Reply({"asOf": instant(as_of), "networks": [_network(each) for each in statuses]})


def _network(status: NetworkStatus) -> Json:
    figures, profile = status.figures, status.profile
    wei = {
        "estimatedBaseFee": figures.base_fee,
        "baseFeePercentile": figures.base_fee_percentile,
        "busyThreshold": figures.busy_threshold,
    }
    fees: dict[str, Json] = {
        name: None if each is None else {"wei": str(each.value), "at": instant(each.asked_at)}
        for name, each in wei.items()
    }
    return {
        "networkId": profile.network_id,
        "network": profile.name,
        "isSimulated": profile.is_simulated,
        "activity": str(status.activity),
        "reason": status.activity_reason,
        **fees,
    }


def attention(asked: Asked) -> Reply:
    application = asked.application
    as_of, statuses = application.statuses_as_of()
    found: list[Json] = [
        {
            "what": each.headline.removesuffix(":"),
            "why": each.text,
            "remedy": each.advice,
            "severity": each.severity,
            "networkId": None if each.network is None else each.network.network_id,
        }
        for each in application.needed_attention(statuses, as_of)
    ]
    return Reply({"asOf": instant(as_of), "attention": found})


def rejections(asked: Asked) -> Reply:
    query: RejectionQuery = asked.query
    until, skipped = _from_cursor(query.cursor, query.until)
    wanted = RejectionFilter(
        network_id=_network_id(query.network_id),
        tx_rejection_stage=query.stage,
        module=query.module,
        sender=Address.parse(query.sender) if query.sender else None,
        tx_hashes=HashRange.of(TxHash.parse(query.tx_hash)) if query.tx_hash else None,
        label=query.label,
        search=query.search,
        since=query.since,
        until=until,
    )
    found = asked.application.rejections.latest(wanted, skipped + query.limit + 1)[skipped:]
    shown, cursor = _cut(found, query, lambda each: each.first_seen_at, until, skipped)
    listing = rejection_listing(asked.application.context)
    return Reply({listing.key: listing.forms(shown), "cursor": cursor})


def notifications(asked: Asked) -> Reply:
    query: Slice = asked.query
    until, skipped = _from_cursor(query.cursor, None)
    ask = asked.application.alerts
    found = ask.page(NotificationFilter(until=until), 1, skipped + query.limit + 1)[skipped:]
    shown, cursor = _cut(found, query, lambda each: each.notification.created_at, until, skipped)
    listing = notification_listing(asked.application.context)
    return Reply({"notifications": listing.forms(shown), "cursor": cursor})


def audit(asked: Asked) -> Reply:
    query: AuditQuery = asked.query
    until, skipped = _from_cursor(query.cursor, query.until)
    log = AuditLog(asked.application.context)
    found = log.entries(query.action, query.since, until, skipped + query.limit + 1)[skipped:]
    shown, cursor = _cut(found, query, lambda each: each.at, until, skipped)
    return Reply({AUDIT.key: AUDIT.forms(shown), "cursor": cursor})


def tracked(asked: Asked) -> Reply:
    query: TrackedQuery = asked.query
    if query.cursor and not (query.cursor.isascii() and query.cursor.isdecimal()):
        raise _bad_cursor()
    wanted = TrackedFilter(
        _network_id(query.network_id),
        search=query.search,
        label=query.label,
        case_id=query.case_id,
        owner=query.owner,
        tag=query.tag,
    )
    before = int(query.cursor) if query.cursor else None
    found = asked.application.tracked.page(wanted, query.limit + 1, before)
    shown = found[: query.limit]
    cursor = str(shown[-1].transaction.tracked_id) if len(found) > query.limit else None
    return Reply({"transactions": [tracked_form(each) for each in shown], "cursor": cursor})


def tracked_form(entry: TrackedEntry) -> dict[str, Json]:
    """Write a tracked transaction: what people said of it, and the verdict on each network."""
    said = entry.transaction
    return {
        "txHash": str(said.tx_hash),
        "networkIds": list[Json](said.network_ids),
        "trackedAt": instant(said.tracked_at),
        "attemptedAt": instant(said.attempted_at),
        "endsAt": instant(said.ends_at),
        "label": said.label,
        "note": said.note,
        "caseId": said.case_id,
        "owner": said.owner,
        "tags": said.tags,
        "verdicts": [
            {"networkId": each.profile.network_id, "verdict": str(each.verdict.kind)}
            for each in entry.findings
        ],
    }


def look_up(asked: Asked) -> Reply:
    wanted: Lookup = asked.body
    application = asked.application
    hashes = tuple(dict.fromkeys(map(TxHash.parse, wanted.hashes)))
    if wanted.ask and not application.can_ask:
        raise InputError("no network can be asked here: leave ask out to see what is known")
    for _ in application.ask_now(hashes) if wanted.ask else ():
        pass
    context = application.context
    templates = AnswerTexts(context).state().templates
    known = AnswerContext(
        context.now(), public_url=context.settings.public_url, templates=templates
    )
    return Reply(lookup_form(application.summaries(hashes), known))


def incidents(asked: Asked) -> Reply:
    query: IncidentQuery = asked.query
    ask, network_id = asked.application.incidents, _network_id(query.network_id)
    found = [*ask.open(network_id, query.limit)]
    found += ask.finished(network_id, query.limit) if query.resolved else []
    listing = incident_listing(ask.title_of)
    return Reply({listing.key: listing.forms(found)})


def incident(asked: Asked) -> Reply:
    ask = asked.application.incidents
    story = ask.story(incident_id(asked))
    if story is None:
        raise NotFound("there is no such incident")
    return Reply(incident_listing(ask.title_of).form(story))


def incident_id(asked: Asked) -> UUID:
    """Return which incident the path names, by the first digits of its id or by all."""
    return asked.application.incidents.named(asked.path["id"]).incident_id


def silences(kind: SilenceKind) -> Callable[[Asked], Reply]:
    def answer(asked: Asked) -> Reply:
        ask = asked.application.silences
        listing, stored = ask.listing(kind), ask.stored()
        found = [each for each in (*stored.unfinished, *stored.finished) if each.kind is kind]
        return Reply({listing.key: listing.forms(found)})

    return answer


def rule_document(asked: Asked) -> dict[str, Json]:
    """Return the rules in force as the document that is read and written back."""
    held = asked.application.rules.in_force()
    return {"rules": {each.rule.name: write_rule(each.rule) for each in held}}


def rules(asked: Asked) -> Reply:
    found = rule_document(asked)
    return Reply(found, etag=version_of(found))


def rule_states(asked: Asked) -> Reply:
    listing = rule_listing(asked.application.context)
    return Reply({listing.key: listing.forms(asked.application.rules.listed())})


def recipients(asked: Asked) -> Reply:
    ask = asked.application.recipients
    unreached: list[Json] = [each.place for each in ask.unreached()]
    return Reply({RECIPIENTS.key: RECIPIENTS.forms(ask.all()), "unreached": unreached})


def senders(asked: Asked) -> Reply:
    ask = asked.application.senders
    listing = ask.listing()
    return Reply({listing.key: listing.forms(ask.watched(_network_id(asked.query.network_id)))})


def answer_document(asked: Asked) -> dict[str, Json]:
    """Return the templates for answers as the document that is read and written back."""
    state = asked.application.answers.state()
    return {"text": state.text, "builtIn": state.text is None, "mistakes": list(state.mistakes)}


def answers(asked: Asked) -> Reply:
    found = answer_document(asked)
    return Reply(found, etag=version_of(found))


def settings(asked: Asked) -> Reply:
    read = asked.application.context.settings.configuration
    if read is None:
        raise NotFound("settings are not shown here")
    state = read()
    values: list[Json] = [
        {
            "name": each.name,
            "value": each.value,
            "from": each.source,
            "isDefault": each.is_default,
            "default": each.default,
            "meaning": each.meaning,
        }
        for each in state.settings
    ]
    changed, mistakes = list[Json](state.changed), list[Json](state.mistakes)
    return Reply({"settings": values, "changedSinceStart": changed, "mistakes": mistakes})


def shares(asked: Asked) -> Reply:
    return Reply({SHARE_LINKS.key: SHARE_LINKS.forms(asked.application.sharing.all())})


def keys(asked: Asked) -> Reply:
    ask = Keys(asked.application.context)
    listing = ask.listing()
    return Reply({listing.key: listing.forms(ask.all())})


def people(asked: Asked) -> Reply:
    return Reply({PEOPLE.key: PEOPLE.forms(asked.application.people.all())})


def sessions(asked: Asked) -> Reply:
    return Reply({SESSIONS.key: SESSIONS.forms(asked.application.people.sessions())})


def tokens(asked: Asked) -> Reply:
    return Reply({TOKENS.key: TOKENS.forms(Tokens(asked.application.context).all())})


def _network_id(number: int | None) -> NetworkId | None:
    return None if number is None else NetworkId(number)


def _from_cursor(cursor: str, until: datetime | None) -> tuple[datetime | None, int]:
    """Return up to when to look, and how many of that very moment were shown before."""
    if not cursor:
        return until, 0
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise _bad_cursor()
    try:
        at = datetime.fromtimestamp(int(match[1]) // _THOUSAND, UTC)
    except (OverflowError, ValueError, OSError):
        raise _bad_cursor() from None
    return at.replace(microsecond=int(match[1]) % _THOUSAND * _THOUSAND), int(match[2])


def _cut(
    found: Sequence[Item],
    wanted: Slice,
    at: Callable[[Item], datetime],
    until: datetime | None,
    skipped: int,
) -> tuple[Sequence[Item], str | None]:
    """Return what fits into the answer, and from where to go on; None at the end."""
    shown = found[: wanted.limit]
    if len(found) <= wanted.limit:
        return shown, None
    last = at(shown[-1])
    of_it = sum(at(each) == last for each in shown) + (skipped if last == until else 0)
    milliseconds = int(last.timestamp()) * _THOUSAND + last.microsecond // _THOUSAND
    return shown, f"{milliseconds}.{of_it}"


def _bad_cursor() -> InputError:
    return InputError("the cursor is none of ours: take it from the answer before, unchanged")
