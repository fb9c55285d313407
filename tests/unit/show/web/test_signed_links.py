"""Links in messages: opened they ask, only the form acts, and the second time it says so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from html import escape, unescape
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from dashboard.alert.notify import expand_outbox
from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.signed_link import LinkPurpose, SignedLink, sign
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.people.recipients import ConfiguredRecipients, RecipientProfile, mailbox_of
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.notifications import link_key, make_link_key
from dashboard.store.alerts.rules import save_rules
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.tracking.transactions import track
from dashboard.web.signed_links import SignedLinks
from dashboard.web.strict_headers import StrictHeaders
from tests.builders import A_MOMENT, A_NETWORK, HOUR, a_hash, an_id
from tests.databases import new_sqlite_store
from tests.delivery_checks import reject
from tests.one_by_one import audited
from tests.seeded_application import addresses_off

OPS = Recipient("mail", "<ops>@example.org")
KEY = b"k" * 32


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Yield a store with one incident and a key for links."""
    with open_store(new_sqlite_store(tmp_path / "links.sqlite")) as opened:
        with opened.write() as connection:
            make_link_key(connection, KEY)
        reject(opened, 1)
        expand_outbox(opened, ConfiguredRecipients((OPS,)), lambda: A_MOMENT)
        yield opened


@pytest.fixture
def queries(store: Store) -> Application:
    """Register queries an hour after the incident began."""
    made = Application(store, (), None, lambda: A_MOMENT + HOUR)
    application.register(made)
    return made


def link(queries: Application, purpose: LinkPurpose, until: datetime = A_MOMENT + 24 * HOUR) -> str:
    """Return the path of a link about the one incident."""
    [story] = queries.incidents.open()
    is_about_recipient = purpose in {LinkPurpose.UNSUBSCRIBE, LinkPurpose.VERIFY}
    about = None if is_about_recipient else story.incident.incident_id
    return f"/link/{sign(SignedLink(purpose, OPS, until, about), KEY)}"


async def pages(scope: Scope, receive: Receive, send: Send) -> None:
    """Stand in for all other pages."""
    await PlainTextResponse("a page")(scope, receive, send)


async def ask(method: str, path: str, **form: str) -> httpx.Response:
    """Open a link, or send its form."""
    async with browser() as client:
        return await client.request(method, path, data=form or None)


def browser() -> httpx.AsyncClient:
    """Return what opens links and keeps cookies."""
    transport = httpx.ASGITransport(StrictHeaders(SignedLinks(pages)))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


def state(queries: Application) -> tuple[IncidentState, str, int]:
    """Return state and owner of the incident, and how many silences there are."""
    [story] = queries.incidents.open()
    silences = len(queries.silences.stored().unfinished)
    return story.incident.state, story.incident.owner, silences


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_link_that_a_scanner_follows_acts_nothing(queries: Application, method: str) -> None:
    for purpose in LinkPurpose:
        response = await ask(method, link(queries, purpose))

        assert response.status_code == 200, purpose
        assert state(queries) == (IncidentState.FIRING, "", 0), purpose
        assert addresses_off(queries) == []
        assert not queries.recipients.is_verified(OPS)
        assert response.headers["Referrer-Policy"] == "same-origin"
        assert response.headers["Cache-Control"] == "no-store"
        assert "<ops>@example.org" not in response.text


async def test_page_says_once_what_is_acknowledged_with_it(
    queries: Application, store: Store
) -> None:
    rules = (Rule("payouts", RuleKind.REJECTED), Rule("all", RuleKind.REJECTED))
    with store.write() as connection:
        save_rules(connection, rules, Actor("Ann", A_MOMENT))
    reject(store, 2, reason_message="out of luck")
    expand_outbox(store, ConfiguredRecipients((OPS,)), lambda: A_MOMENT)
    [about] = [
        each.incident for each in queries.incidents.open() if each.incident.rule == "payouts"
    ]
    until = A_MOMENT + 24 * HOUR
    path = sign(SignedLink(LinkPurpose.ACKNOWLEDGE, OPS, until, about.incident_id), KEY)

    shown = await ask("GET", f"/link/{path}")

    assert "<dt>Covers</dt><dd>This also applies to “" in unescape(shown.text)
    assert shown.text.count("This also applies to") == 1


async def test_incident_is_acknowledged_once_under_the_name_that_is_given(
    queries: Application, store: Store
) -> None:
    path = link(queries, LinkPurpose.ACKNOWLEDGE)

    first = await ask("POST", path, name="Ada", note="on it")
    again = await ask("POST", path, name="Bob")
    shown = await ask("GET", path)

    assert "is acknowledged by Ada." in first.text
    assert "Acknowledged already" in again.text
    assert "It was acknowledged by Ada on 2026-11-20" in shown.text
    assert "<form" not in shown.text
    assert state(queries) == (IncidentState.ACKNOWLEDGED, "Ada", 0)
    [entry] = audited(store)
    assert (entry.actor, entry.action, entry.details["note"]) == ("Ada", "acknowledge", "on it")


async def test_incident_that_is_over_is_not_offered_to_be_acknowledged(
    queries: Application,
) -> None:
    paths = [link(queries, each) for each in (LinkPurpose.ACKNOWLEDGE, LinkPurpose.SILENCE)]
    [story] = queries.incidents.open()
    queries.incidents.resolve(story.incident.incident_id, Actor("Ada", A_MOMENT + HOUR))

    shown, silence = [(await ask("GET", path)).text for path in paths]

    assert "It was resolved on 2026-11-20 13:00:00\xa0UTC." in shown
    assert ("<form" in shown, "<form" in silence) == (False, True)


async def test_page_says_what_the_mail_said_in_the_zone_of_the_recipient(store: Store) -> None:
    profile = RecipientProfile(zone="Europe/Zurich")
    known = ConfiguredRecipients((OPS,), {mailbox_of(OPS): profile}, zones=ZoneInfo)
    queries = Application(
        *(store, (), None, lambda: A_MOMENT + HOUR), settings=PageSettings(recipients=known)
    )
    application.register(queries)
    with store.write() as connection:
        wish = TrackRequest(a_hash(1), (A_NETWORK,), Remarks(label="Payout 7781 <b>\x1b"))
        track(connection, wish, A_MOMENT)

    shown = await ask("GET", link(queries, LinkPurpose.ACKNOWLEDGE))

    assert "12:00:00\xa0UTC (13:00:00 in Europe/Zurich)" in shown.text
    assert "Payout 7781 &lt;b&gt;\\u001b (0x00000000…000001)" in shown.text
    assert "prover module ADD" in shown.text


async def test_name_of_who_acts_is_that_of_the_recipient_unless_given(
    queries: Application,
) -> None:
    asked = await ask("GET", link(queries, LinkPurpose.ACKNOWLEDGE))
    await ask("POST", link(queries, LinkPurpose.ACKNOWLEDGE))

    assert 'value="<ops>@example.org"' in unescape(asked.text)
    assert state(queries)[1] == OPS.address


async def test_browser_remembers_who_acted_and_offers_the_name_for_the_next_link(
    queries: Application,
) -> None:
    path = link(queries, LinkPurpose.ACKNOWLEDGE)
    async with browser() as client:
        await client.post(path, data={"name": "  Zoë; <b> "})
        shown = await client.get(link(queries, LinkPurpose.SILENCE))
        [cookie] = client.cookies.jar
        client.cookies.clear()
        hostile = await client.get(path, headers={"Cookie": f"{cookie.name}=%0a{'x' * 200}"})

    assert 'value="Zoë; <b>"' in unescape(shown.text)
    assert "<b>" not in shown.text
    assert (cookie.path, cookie.has_nonstandard_attr("HttpOnly")) == ("/link/", True)
    assert hostile.status_code == 200


async def test_page_leads_with_severity_and_incident_and_its_one_button_comes_before_the_rest(
    queries: Application, store: Store
) -> None:
    reject(store, 2)
    expand_outbox(store, ConfiguredRecipients((OPS,)), lambda: A_MOMENT)
    asked = await ask("GET", link(queries, LinkPurpose.ACKNOWLEDGE))
    done = await ask("POST", link(queries, LinkPurpose.ACKNOWLEDGE))
    [story] = queries.incidents.open()
    timeline = f'href="../alerts?incident={story.incident.incident_id}"'

    marks = ["! Warning", "<h1>", "<button", "Reminders and escalation", timeline]
    places = [asked.text.index(each) for each in marks]
    assert places == sorted(places)
    assert ("2 rejected" in asked.text, "2 changes" in asked.text) == (True, False)  # said once
    assert asked.text.count("<button") == 1
    assert timeline in done.text


async def test_incident_is_silenced_once_by_a_link_and_for_the_time_that_is_chosen(
    queries: Application,
) -> None:
    path = link(queries, LinkPurpose.SILENCE)

    asked = await ask("GET", f"{path}?for=8h")
    none = await ask("POST", path, name="Ada")
    first = await ask("POST", path, name="Ada", **{"for": "8h"})
    again = await ask("POST", path, name="Bob", **{"for": "24h"})

    assert 'value="8h" checked' in asked.text
    covers = 'rule=rejections, network=424242, module=ADD, stage=RPC, cause=""'
    assert f"{escape(covers)}." in asked.text
    assert "Now it matches 1 open incident." in asked.text
    assert (none.status_code, "Say how long" in none.text) == (400, True)
    assert "Silenced<" in first.text
    assert "Silenced already" in again.text
    [silence] = queries.silences.stored().unfinished
    assert (silence.author, silence.over_at) == ("Ada", A_MOMENT + 9 * HOUR)
    assert queries.silences.scope_of(silence) == covers


async def test_mail_program_unsubscribes_with_one_click(queries: Application) -> None:
    path = link(queries, LinkPurpose.UNSUBSCRIBE)

    first = await ask("POST", path, **{"List-Unsubscribe": "One-Click"})
    again = await ask("POST", path, **{"List-Unsubscribe": "One-Click"})

    assert (first.status_code, again.status_code) == (200, 200)
    assert "Unsubscribed already" in again.text
    [off] = addresses_off(queries)
    assert off.recipient == OPS


async def test_link_that_is_forged_or_too_old_says_so_and_acts_nothing(
    queries: Application,
) -> None:
    expired = await ask("POST", link(queries, LinkPurpose.ACKNOWLEDGE, A_MOMENT))
    forged = await ask("POST", link(queries, LinkPurpose.ACKNOWLEDGE)[:-1] + "!")

    assert (expired.status_code, "has expired" in expired.text) == (410, True)
    assert (forged.status_code, "not valid" in forged.text) == (404, True)
    assert state(queries) == (IncidentState.FIRING, "", 0)


@pytest.mark.usefixtures("queries")
async def test_incident_that_is_gone_is_named() -> None:
    gone = SignedLink(LinkPurpose.ACKNOWLEDGE, OPS, A_MOMENT + 24 * HOUR, an_id(99))
    asked = await ask("GET", f"/link/{sign(gone, KEY)}")
    sent = await ask("POST", f"/link/{sign(gone, KEY)}")

    assert "no longer stored" in asked.text
    assert (sent.status_code, "is not stored" in sent.text) == (400, True)


async def test_form_that_is_none_is_refused(queries: Application) -> None:
    path = link(queries, LinkPurpose.ACKNOWLEDGE)

    large = await ask("POST", path, note="x" * 9_000)
    many = await ask("POST", path, **{f"field{number}": "x" for number in range(30)})
    put = await ask("PUT", path)

    assert [each.status_code for each in (large, many, put)] == [400, 400, 405]
    assert state(queries) == (IncidentState.FIRING, "", 0)


@pytest.mark.usefixtures("queries")
async def test_all_else_is_left_to_the_pages() -> None:
    response = await ask("GET", "/alerts")

    assert response.text == "a page"
    assert response.headers["Referrer-Policy"] == "no-referrer"


def test_key_is_made_once_and_kept(store: Store) -> None:
    with store.write() as connection:
        assert make_link_key(connection, b"other" * 6) == KEY
        assert link_key(connection) == KEY


async def test_address_is_verified_by_the_form_alone_once_however_often_it_is_sent(
    queries: Application, store: Store
) -> None:
    path = link(queries, LinkPurpose.VERIFY)

    asked = [await ask("GET", path) for _ in range(2)]
    assert not queries.recipients.is_verified(OPS)
    first = await ask("POST", path)
    again = await ask("POST", path, name="Somebody else")
    shown = await ask("GET", path)

    assert all("Get alerts at this address?" in unescape(each.text) for each in asked)
    assert "beginning with what is open now" in first.text
    assert "Verified already" in again.text
    assert "is verified." in shown.text
    [entry] = audited(store, Action.VERIFY)
    assert (entry.actor, entry.subject) == (OPS.address, OPS.address)


async def test_verification_that_is_forged_or_too_late_verifies_nobody(
    queries: Application,
) -> None:
    late = link(queries, LinkPurpose.VERIFY, until=A_MOMENT)
    other_key = sign(SignedLink(LinkPurpose.VERIFY, OPS, A_MOMENT + 24 * HOUR), b"x" * 32)
    of_silence = link(queries, LinkPurpose.UNSUBSCRIBE)

    answers = [
        (await ask("POST", path)).status_code
        for path in (late, f"/link/{other_key}", "/link/", late[:-1] + "!", of_silence)
    ]

    assert answers == [410, 404, 404, 404, 200]
    assert not queries.recipients.is_verified(OPS)


async def test_body_behind_a_link_that_cannot_be_used_is_not_read(queries: Application) -> None:
    bodies = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal bodies
        bodies += 1
        yield b"name=Ada"

    transport = httpx.ASGITransport(SignedLinks(pages))
    expired = link(queries, LinkPurpose.ACKNOWLEDGE, until=A_MOMENT)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        statuses = [
            (await client.post(each, content=body())).status_code
            for each in ("/link/forged", expired)
        ]

    assert statuses == [404, 410]
    assert bodies == 0


async def test_address_that_is_off_is_verified_and_stays_off(queries: Application) -> None:
    await ask("POST", link(queries, LinkPurpose.UNSUBSCRIBE))
    done = await ask("POST", link(queries, LinkPurpose.VERIFY))

    assert "is off, so nothing is sent there" in done.text
    assert queries.recipients.is_verified(OPS)
    assert len(addresses_off(queries)) == 1


async def test_links_sent_so_far_are_invalid_once_the_key_is_renewed(
    store: Store, queries: Application
) -> None:
    path = link(queries, LinkPurpose.ACKNOWLEDGE)
    queries.recipients.renew_link_key(b"n" * 32, Actor("Ann", A_MOMENT))

    answer = await ask("GET", path)

    assert (answer.status_code, "not valid" in answer.text) == (404, True)
    assert [each.action for each in audited(store)] == [Action.RENEW_LINK_KEY]


async def test_audit_log_tells_who_unsubscribed_from_who_was_turned_off(
    store: Store, queries: Application
) -> None:
    await ask("POST", link(queries, LinkPurpose.UNSUBSCRIBE))
    [off] = addresses_off(queries)
    queries.recipients.turn_on(OPS, Actor("Ann", A_MOMENT))
    lead = Recipient("mail", "lead@example.org")
    queries.recipients.turn_off(lead, Actor("Ann", A_MOMENT), "on leave")

    [turned_off] = addresses_off(queries)
    assert [str(each.cause) for each in (off, turned_off)] == ["unsubscribed", "turned off"]
    actions = {each.action for each in audited(store)}
    assert actions == {Action.UNSUBSCRIBE, Action.TURN_ON, Action.TURN_OFF}
