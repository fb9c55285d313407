"""Endpoints about transactions: rejections, look-ups, tracked ones, share links, senders."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated

import msgspec
from msgspec.structs import replace

from dashboard.application.customer_answers import AnswerContext, AnswerTexts
from dashboard.application.listing import Json
from dashboard.application.lookup import lookup_form
from dashboard.application.rejections import rejection_filter
from dashboard.application.share_links import LONGEST_SHARE, SHARE_LINKS
from dashboard.application.tracked import TrackedEntry, tracked_filter, tracked_form
from dashboard.domain.people.access import Action, Role
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import RejectionStage, StoredRejection
from dashboard.domain.rejections.search import HashRange
from dashboard.domain.tracking.remarks import (
    CaseId,
    Label,
    Note,
    Owner,
    Remarks,
    tidy_tags,
)
from dashboard.domain.tracking.track_csv import ListedTransaction
from dashboard.errors import InputError, NotFound
from dashboard.store.tracking.search import TrackedFilter
from dashboard.web.api.endpoint import (
    Asked,
    Endpoints,
    Fields,
    Found,
    Hashes,
    Moment,
    Reply,
    Slice,
    Text,
    bad_cursor,
    part_of,
)

endpoints = Endpoints()


class RejectionQuery(Slice):
    """Which rejections to list, the latest arrival first."""

    network_id: int | None = None
    stage: RejectionStage | None = None
    module: Text | None = None
    sender: Text = ""
    tx_hash: Text = ""
    label: Text = ""
    search: Text = ""
    since: Moment | None = None
    until: Moment | None = None


@endpoints.at(
    "GET /rejections", "Rejections, the latest first", "rejections cursor", query=RejectionQuery
)
def rejections(asked: Asked) -> Reply:
    query: RejectionQuery = asked.query
    found_by = rejection_filter(asked.context, asked.network_id, query.search)
    wanted = replace(
        found_by,
        tx_rejection_stage=query.stage,
        module=query.module,
        sender=Address.parse(query.sender) if query.sender else found_by.sender,
        tx_hashes=(
            HashRange.of(TxHash.parse(query.tx_hash)) if query.tx_hash else found_by.tx_hashes
        ),
        label=query.label or found_by.label,
        since=query.since,
        until=query.until,
    )

    def read(before: tuple[datetime, int] | None, limit: int) -> Sequence[StoredRejection]:
        return asked.application.rejections.latest(wanted, limit, before)

    shown, cursor = part_of(asked, read, lambda each: (each.first_seen_at, each.rejection_id), int)
    return Reply(
        {"rejections": asked.application.rejections.listing(shown).forms(shown), "cursor": cursor}
    )


class Lookup(Fields):
    """Which transactions; `ask` also asks every network now, which may cost credits."""

    hashes: Hashes
    ask: bool = False


@endpoints.at("POST /lookups", "Look transactions up", "asOf transactions", body=Lookup)
def look_up(asked: Asked) -> Reply:
    wanted: Lookup = asked.body
    application, context = asked.application, asked.context
    hashes = tuple(dict.fromkeys(map(TxHash.parse, wanted.hashes)))
    if wanted.ask and not application.can_ask:
        raise InputError("no network can be asked here: leave ask out to see what is known")
    for _ in application.ask_now(hashes) if wanted.ask else ():
        pass
    templates = AnswerTexts(context).state().templates
    known = AnswerContext(
        context.now(), public_url=context.settings.public_url, templates=templates
    )
    return Reply(lookup_form(application.summaries(hashes), known))


class TrackedQuery(Slice):
    """Which tracked transactions to list, the latest first."""

    network_id: int | None = None
    search: Text = ""
    label: Text = ""
    case_id: Text = ""
    owner: Text = ""
    tag: Text = ""


@endpoints.at(
    "GET /tracked",
    "Tracked transactions, the latest first",
    "transactions cursor",
    query=TrackedQuery,
)
def tracked(asked: Asked) -> Reply:
    query: TrackedQuery = asked.query
    if query.cursor and not (query.cursor.isascii() and query.cursor.isdecimal()):
        raise bad_cursor()
    wanted = replace(
        tracked_filter(asked.context, asked.network_id, query.search, query.label),
        case_id=query.case_id,
        owner=query.owner,
        tag=query.tag.removeprefix("#").lower(),
    )
    before = int(query.cursor) if query.cursor else None
    entries = asked.application.tracked.page(wanted, query.limit + 1, before)
    shown = entries[: query.limit]
    cursor = str(shown[-1].transaction.tracked_id) if len(entries) > query.limit else None
    return Reply({"transactions": [tracked_form(each) for each in shown], "cursor": cursor})


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


@endpoints.at("POST /tracked", "Track transactions", "transactions", Action.TRACK, Track)
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
    named = {name: getattr(wish, name) for name in Said.__struct_fields__}
    said = Remarks(**named | {"tags": tidy_tags(wish.tags)})
    listed = [ListedTransaction(line, each, said) for line, each in enumerate(hashes, start=1)]
    results = asked.application.tracked.track(listed, wanted, asked.by)
    done: list[Json] = [
        {"txHash": str(each), "result": result.name.lower().replace("_", " ")}
        for each, result in zip(hashes, results, strict=True)
    ]
    return Reply({"transactions": done})


class Said(Fields):
    """Remarks on a tracked transaction; an omitted field stays."""

    label: Label | None = None
    note: Note | None = None
    case_id: CaseId | None = None
    owner: Owner | None = None
    tags: Text | None = None
    attempted_at: Moment | None = None


@endpoints.at(
    "PATCH /tracked/{hash}",
    "Edit a tracked transaction",
    "txHash label note caseId owner tags",
    Action.EDIT_TRACKED,
    Said,
)
def say(asked: Asked) -> Reply:
    said: Said = asked.body
    wanted = msgspec.structs.asdict(said).items()
    given = {name: value for name, value in wanted if value is not None}
    if said.tags is not None:
        given["tags"] = tidy_tags(said.tags)
    if not asked.application.tracked.edit(asked.tx_hash, given, asked.by):
        raise NotFound("this transaction is not tracked")
    return Reply(tracked_form(_entry(asked)))


def _entry(asked: Asked) -> TrackedEntry:
    wanted = TrackedFilter(tx_hashes=HashRange.of(asked.tx_hash))
    found = asked.application.tracked.page(wanted, 1)
    if not found:
        raise NotFound("this transaction is not tracked")
    return found[0]


@endpoints.at(
    "DELETE /tracked/{hash}", "Stop tracking a transaction", "txHash result", Action.UNTRACK
)
def untrack(asked: Asked) -> Reply:
    if not asked.application.tracked.stop((asked.tx_hash,), asked.by):
        raise NotFound("this transaction is not tracked")
    return Reply({"txHash": str(asked.tx_hash), "result": "no longer tracked"})


@endpoints.listed("/shares", "Share links", least=Role.SUPPORT)
def shares(asked: Asked) -> Found:
    return SHARE_LINKS, asked.application.sharing.all()


class Share(Fields):
    """Which transaction to show to whoever has the link."""

    tx_hash: Text
    days: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_SHARE.days)] = 7
    case_id: CaseId = ""


@endpoints.at(
    "POST /shares",
    "Share the outcome of one transaction",
    "number txHash endsAt",
    Action.SHARE,
    Share,
    secrets=("link",),
)
def share(asked: Asked) -> Reply:
    said: Share = asked.body
    tx_hash, lasts = TxHash.parse(said.tx_hash), timedelta(days=said.days)
    link, address = asked.application.sharing.share(tx_hash, lasts, asked.by, said.case_id)
    return Reply(SHARE_LINKS.form(link), {"link": address})


@endpoints.at("DELETE /shares/{number}", "Revoke a share link", "number state", Action.END_SHARE)
def end_share(asked: Asked) -> Reply:
    link = asked.application.sharing.revoke(asked.number, asked.by)
    return Reply({"number": link.link_id, "state": "revoked"})


class OfNetwork(Fields):
    """One network, or all."""

    network_id: int | None = None


@endpoints.listed("/senders", "Watched senders", OfNetwork)
def senders(asked: Asked) -> Found:
    ask = asked.application.senders
    return ask.listing(), ask.watched(asked.network_id)


class Watch(Fields):
    """Where to watch a sender; without networks, wherever it can be."""

    label: Label = ""
    network_ids: list[int] | None = None


@endpoints.at("PUT /senders/{sender}", "Watch a sender", "from result", Action.WATCH_SENDER, Watch)
def watch(asked: Asked) -> Reply:
    wish: Watch = asked.body
    known = [each.network_id for each in asked.application.networks]
    wanted = known if wish.network_ids is None else list(map(NetworkId, wish.network_ids))
    [is_new] = asked.application.senders.watch((asked.sender,), wanted, wish.label, asked.by)
    return Reply({"from": str(asked.sender), "result": "watched" if is_new else "watched already"})


@endpoints.at(
    "DELETE /senders/{sender}", "Stop watching a sender", "from result", Action.UNWATCH_SENDER
)
def unwatch(asked: Asked) -> Reply:
    if not asked.application.senders.unwatch(asked.sender, asked.by):
        raise NotFound("this sender is not watched")
    return Reply({"from": str(asked.sender), "result": "no longer watched"})
