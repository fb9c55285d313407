"""Endpoints of the management API that change something, each through the act that pages use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, TypeAlias
from uuid import UUID, uuid4

import msgspec

from dashboard.application.incident_words import incident_form
from dashboard.application.listing import Json
from dashboard.application.sharing import LONGEST_SHARE, SHARE_LINKS
from dashboard.application.tracked import TrackedEntry
from dashboard.domain.alerts.incident import IncidentResponse
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.alerts.rule_table import Rules, removed, replaced_by
from dashboard.domain.alerts.silence import SilenceKind, SilenceRequest
from dashboard.domain.people.access import parse_name
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.search import HashRange
from dashboard.domain.tracking.paste import (
    LONGEST_CASE_ID,
    LONGEST_LABEL,
    LONGEST_NOTE,
    LONGEST_OWNER,
    ListedTransaction,
    Remarks,
)
from dashboard.errors import InputError
from dashboard.store.tracking.search import TrackedFilter
from dashboard.web.api.endpoint import (
    Asked,
    Fields,
    Hashes,
    Moment,
    NotFound,
    Reply,
    Text,
    refuse_other_version,
    version_of,
)
from dashboard.web.api.questions import (
    answer_document,
    incident_id,
    rule_document,
    tracked_form,
)

Label: TypeAlias = Annotated[str, msgspec.Meta(max_length=LONGEST_LABEL)]
Note: TypeAlias = Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)]
CaseId: TypeAlias = Annotated[str, msgspec.Meta(max_length=LONGEST_CASE_ID)]
Owner: TypeAlias = Annotated[str, msgspec.Meta(max_length=LONGEST_OWNER)]
Template: TypeAlias = Annotated[str, msgspec.Meta(max_length=100_000)]


class Track(Fields):
    """Transactions to track, on all networks that can be asked, or on some."""

    hashes: Hashes
    label: Label = ""
    note: Note = ""
    case_id: CaseId = ""
    owner: Owner = ""
    tags: Text = ""
    attempted_at: Moment | None = None
    network_ids: list[int] | None = None


class Said(Fields):
    """What people say of a tracked transaction; what is left out stays."""

    label: Label | None = None
    note: Note | None = None
    case_id: CaseId | None = None
    owner: Owner | None = None
    tags: Text | None = None
    attempted_at: Moment | None = None


class Watch(Fields):
    """Where to watch a sender; without networks wherever it can be."""

    label: Label = ""
    network_ids: list[int] | None = None


class Noted(Fields):
    """A note for those who read the story."""

    note: Text = ""


class HandOver(Fields):
    """Who owns an incident from now on: a name, or a recipient, who is notified."""

    to: Text
    note: Text = ""


class Planned(Fields):
    """Matchers as on pages, such as `network = linea`; without any, `coversAll` is needed."""

    matchers: list[Text]
    ends_at: Moment
    reason: Text
    starts_at: Moment | None = None
    weekly: tuple[Text, ...] = ()
    time_zone: Text = ""
    covers_all: bool = False


class RuleSet(Fields):
    """All rules in their order, by name, in the keys of the file of rules."""

    rules: dict[str, dict[str, Any]]


class Templates(Fields):
    """The text of the file of templates; null brings the built-in ones back."""

    text: Template | None


class Address(Fields):
    """An address of a channel; `note` says why."""

    address: Text
    channel: Text = MAIL
    note: Text = ""


class Share(Fields):
    """Which transaction to show to whoever has the link."""

    tx_hash: Text
    days: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_SHARE.days)] = 7
    case_id: CaseId = ""


class Again(Fields):
    """One dead notification, or all to an address."""

    notification_id: UUID | None = None
    address: Text = ""


def track(asked: Asked) -> Reply:
    wish: Track = asked.body
    can_be = [each.network_id for each in asked.application.networks if each.has_exclusion]
    wanted = can_be if wish.network_ids is None else list(map(NetworkId, wish.network_ids))
    unknown = [each for each in wanted if each not in can_be]
    if unknown or not wanted:
        raise InputError(
            f"the network {unknown[0]} has no exclusion endpoint here: leave it out"
            if unknown
            else "no network is left to ask: name one that has an exclusion endpoint"
        )
    hashes = list(dict.fromkeys(map(TxHash.parse, wish.hashes)))
    listed = [
        ListedTransaction(
            line,
            each,
            wish.attempted_at,
            wish.label,
            wish.note,
            case_id=wish.case_id,
            owner=wish.owner,
            tags=wish.tags,
        )
        for line, each in enumerate(hashes, start=1)
    ]
    results = asked.application.tracked.track(listed, wanted, asked.by)
    done: list[Json] = [
        {"txHash": str(each), "result": result.name.lower().replace("_", " ")}
        for each, result in zip(hashes, results, strict=True)
    ]
    return Reply({"transactions": done})


def say(asked: Asked) -> Reply:
    said: Said = asked.body
    known = _entry(asked).transaction
    before = Remarks(
        known.attempted_at, known.label, known.note, known.case_id, known.owner, known.tags
    )
    wanted = {name: getattr(said, name) for name in said.__struct_fields__}
    given = {name: value for name, value in wanted.items() if value is not None}
    if not asked.application.tracked.edit(asked.tx_hash, replace(before, **given), asked.by):
        raise NotFound("this transaction is not tracked any more")
    return Reply(tracked_form(_entry(asked)))


def _entry(asked: Asked) -> TrackedEntry:
    wanted = TrackedFilter(tx_hashes=HashRange.of(asked.tx_hash))
    found = asked.application.tracked.page(wanted, 1)
    if not found:
        raise NotFound("this transaction is not tracked")
    return found[0]


def untrack(asked: Asked) -> Reply:
    if not asked.application.tracked.stop((asked.tx_hash,), asked.by):
        raise NotFound("this transaction is not tracked")
    return Reply({"txHash": str(asked.tx_hash), "result": "no longer tracked"})


def watch(asked: Asked) -> Reply:
    wish: Watch = asked.body
    known = [each.network_id for each in asked.application.networks]
    wanted = known if wish.network_ids is None else list(map(NetworkId, wish.network_ids))
    [is_new] = asked.application.senders.watch((asked.sender,), wanted, wish.label, asked.by)
    return Reply({"from": str(asked.sender), "result": "watched" if is_new else "watched already"})


def unwatch(asked: Asked) -> Reply:
    if not asked.application.senders.unwatch(asked.sender, asked.by):
        raise NotFound("this sender is not watched")
    return Reply({"from": str(asked.sender), "result": "no longer watched"})


def _left(asked: Asked, done: IncidentResponse) -> Reply:
    """Return an incident as a person left it."""
    title_of = asked.application.incidents.title_of
    others: list[Json] = [incident_form(each, title_of(each)) for each in done.others]
    form = incident_form(done.incident, title_of(done.incident))
    return Reply({**form, "isChanged": done.event is not None, "others": others})


def acknowledge(asked: Asked) -> Reply:
    ask = asked.application.incidents
    return _left(asked, ask.acknowledge(incident_id(asked), asked.by, asked.body.note))


def unacknowledge(asked: Asked) -> Reply:
    ask = asked.application.incidents
    return _left(asked, ask.unacknowledge(incident_id(asked), asked.by, asked.body.note))


def hand_over(asked: Asked) -> Reply:
    ask, to = asked.application.incidents, parse_name(asked.body.to)
    return _left(asked, ask.hand_over(incident_id(asked), to, asked.by, asked.body.note))


def resolve(asked: Asked) -> Reply:
    ask = asked.application.incidents
    return _left(asked, ask.resolve(incident_id(asked), asked.by, asked.body.note))


def plan(kind: SilenceKind) -> Callable[[Asked], Reply]:
    def answer(asked: Asked) -> Reply:
        said: Planned = asked.body
        ask = asked.application.silences
        wish = SilenceRequest(
            uuid4(),
            kind,
            ask.read_matchers(said.matchers),
            said.starts_at or asked.by.at,
            said.ends_at,
            said.reason.strip(),
            ask.weekly(said.weekly, said.time_zone),
        )
        added, _ = ask.add(wish, asked.by, covers_all=said.covers_all)
        return Reply(ask.listing(kind).form(added))

    return answer


def end(kind: SilenceKind) -> Callable[[Asked], Reply]:
    def answer(asked: Asked) -> Reply:
        ask = asked.application.silences
        return Reply(ask.listing(kind).form(ask.end(kind, asked.number, asked.by)))

    return answer


def set_rules(asked: Asked) -> Reply:
    def edit(held: Rules) -> Rules:
        refuse_other_version(asked, rule_document(asked))
        wanted = [_rule(asked, name, table) for name, table in asked.body.rules.items()]
        return replaced_by(wanted)(held)

    asked.application.rules.change(edit, asked.by)
    found = rule_document(asked)
    return Reply(found, etag=version_of(found))


def _rule(asked: Asked, name: str, table: dict[str, Any]) -> Rule:
    found = asked.application.rules.read(name, table)
    if isinstance(found, Rule):
        return found
    raise InputError("; ".join(f"{key or name} {remark}" for key, remark in found))


def remove_rule(asked: Asked) -> Reply:
    asked.application.rules.change(removed([asked.path["name"]]), asked.by)
    found = rule_document(asked)
    return Reply(found, etag=version_of(found))


def set_answers(asked: Asked) -> Reply:
    ask = asked.application.answers
    seen = ask.state()
    refuse_other_version(asked, answer_document(asked))
    ask.change(asked.body.text, asked.by, seen)
    found = answer_document(asked)
    return Reply(found, etag=version_of(found))


def turn_off(asked: Asked) -> Reply:
    said: Address = asked.body
    recipient = Recipient(said.channel, said.address)
    is_new = asked.application.recipients.turn_off(recipient, asked.by, said.note)
    return Reply({"address": said.address, "result": "off" if is_new else "off already"})


def turn_on(asked: Asked) -> Reply:
    said: Address = asked.body
    was_off = asked.application.recipients.turn_on(Recipient(said.channel, said.address), asked.by)
    return Reply({"address": said.address, "result": "on" if was_off else "on already"})


def ask_to_verify(asked: Asked) -> Reply:
    said: Address = asked.body
    asked.application.recipients.ask(Recipient(said.channel, said.address), asked.by)
    return Reply({"address": said.address, "result": "a verification mail is sent"})


def share(asked: Asked) -> Reply:
    said: Share = asked.body
    tx_hash, lasts = TxHash.parse(said.tx_hash), timedelta(days=said.days)
    link, address = asked.application.sharing.share(tx_hash, lasts, asked.by, said.case_id)
    return Reply(SHARE_LINKS.form(link), {"link": address})


def end_share(asked: Asked) -> Reply:
    link = asked.application.sharing.revoke(asked.number, asked.by)
    return Reply({"number": link.link_id, "state": "revoked"})


def send_again(asked: Asked) -> Reply:
    said: Again = asked.body
    if (said.notification_id is None) is not bool(said.address):
        raise InputError("name one notification, or an address")
    many = asked.application.alerts.send_again(said.notification_id or said.address, asked.by)
    return Reply({"notifications": many})
