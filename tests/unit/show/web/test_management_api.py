"""The management API: each role does what it may, and what is sent twice happens once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import Any

import anyio
import httpx
import pytest
from msgspec.structs import replace
from sqlalchemy import select
from starlette.applications import Starlette

from dashboard.application.sessions import Device
from dashboard.application.tokens import Tokens, actor_of
from dashboard.domain.people.access import Action, Actor, Role
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotAllowed
from dashboard.store import schema
from dashboard.store.access.audit_log import note_action
from dashboard.web.api.endpoint import PREFIX
from dashboard.web.api.server import ENDPOINTS, ManagementApi
from tests.browser.seeded_incidents import seed_incidents
from tests.browser.seeded_store import SIMULATED
from tests.builders import A_MOMENT, a_hash
from tests.one_by_one import audited
from tests.unit.show.web.api_site import A_DAY, Site, plan, send


def test_each_role_gets_through_where_the_table_says_so_and_nowhere_else(site: Site) -> None:
    tokens = {role: site.token(role) for role in Role}
    before = site.acted()
    for endpoint in ENDPOINTS:
        for role, headers in tokens.items():
            answer = send(site, endpoint, {**headers, "Content-Type": "text/plain"})
            assert (answer.status_code == 403) is not role.includes(endpoint.role), (
                endpoint.verb,
                endpoint.path,
                role,
            )
            assert answer.status_code < 500
            if answer.status_code == 403:
                assert "role" in answer.json()["detail"]
    allowed = site.acted() - before

    assert allowed <= sum(each.action is not None for each in ENDPOINTS) * len(Role)


def test_without_a_valid_token_nothing_is_said(site: Site) -> None:
    header = site.token(Role.ADMIN, "gone")
    Tokens(site.application.context).revoke("gone", Actor("root", A_MOMENT))
    expiring = site.token(Role.ADMIN, "old")
    secret = header["Authorization"].removeprefix("Bearer ")
    for wrong in (
        {},
        header,
        {"Authorization": "Bearer lwt_made-up"},
        {"Authorization": f"Basic {secret}"},
        {"Cookie": f"token={secret}"},
    ):
        for endpoint in ENDPOINTS if not wrong else ENDPOINTS[:1]:
            assert send(site, endpoint, wrong).status_code == 401
        assert site.client.get(f"{PREFIX}/openapi.json", headers=wrong).status_code == 401
    assert site.client.get(f"{PREFIX}/nothing").status_code == 401

    assert site.client.get(f"{PREFIX}/rules", headers=expiring).status_code == 200
    site.moment[0] = A_MOMENT + timedelta(days=31)
    answer = site.client.get(f"{PREFIX}/rules", headers=expiring)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-type"] == "application/problem+json"


def test_token_opens_its_subjects_only_and_makes_none_that_opens_more(site: Site) -> None:
    header = site.token(Role.ADMIN, "narrow", frozenset({"rules", "tokens"}))

    def made(subjects: list[str] | None) -> int:
        body = {"name": "child", "role": "admin", "subjects": subjects}
        return site.client.post(f"{PREFIX}/tokens", json=body, headers=header).status_code

    assert site.client.get(f"{PREFIX}/rules", headers=header).status_code == 200
    assert site.client.get(f"{PREFIX}/keys", headers=header).status_code == 403
    assert made(None) == 403
    assert made(["rules", "keys"]) == 403
    assert made(["rules"]) == 200


def test_token_of_a_person_does_no_more_than_they_may_and_ends_with_them(site: Site) -> None:
    people, root, device = site.application.people, Actor("root", A_MOMENT), Device("", "")
    for name in ("Root", "Ada"):
        invited = people.invite(name, Role.ADMIN, root).reveal()
        people.accept(invited, Secret("correct horse battery"), device)
    header = site.token(Role.ADMIN, "of-ada", person="Ada")
    body = {"name": "child", "role": "operator", "person": "Root"}

    def status(header: dict[str, str], path: str) -> int:
        return site.client.get(PREFIX + path, headers=header).status_code

    refused = site.client.post(f"{PREFIX}/tokens", json=body, headers=header)
    assert "can only make tokens of 'Ada'" in refused.text
    made = site.client.post(f"{PREFIX}/tokens", json={**body, "person": None}, headers=header)
    assert made.json()["person"] == "Ada"
    child = {"Authorization": f"Bearer {made.json()['token']}"}
    people.change_role("Ada", Role.VIEWER, root)
    assert [status(header, path) for path in ("/rules", "/shares", "/keys")] == [200, 403, 403]
    assert status(child, "/shares") == 403
    people.change_role("Ada", Role.OPERATOR, root)
    assert (status(header, "/shares"), status(header, "/keys")) == (200, 403)

    assert people.disable("Ada", root) == ["child", "of-ada"]
    people.enable("Ada", root)
    assert (status(header, "/rules"), status(child, "/rules")) == (401, 401)


def test_request_under_way_does_no_more_than_its_token_may_once_it_is_whole(site: Site) -> None:
    people, root = site.application.people, Actor("root", A_MOMENT)
    for name in ("Root", "Ada"):
        people.accept(
            people.invite(name, Role.ADMIN, root).reveal(),
            Secret("correct horse battery"),
            Device("", ""),
        )
    tokens = Tokens(site.application.context)
    ends: tuple[tuple[dict[str, str], Callable[[Actor], object]], ...] = (
        (site.token(Role.ADMIN, "gone"), lambda by: tokens.revoke("gone", by)),
        (
            site.token(Role.ADMIN, "of-ada", person="Ada"),
            lambda by: people.change_role("Ada", Role.OPERATOR, by),
        ),
    )

    async def slowly(end: Callable[[Actor], object]) -> AsyncIterator[bytes]:
        yield b'{"name": "Eve", '
        end(Actor("root", site.now()))
        site.moment[0] += timedelta(seconds=1)
        yield b'"role": "admin"}'

    async def invite(header: dict[str, str], end: Callable[[Actor], object]) -> int:
        transport = httpx.ASGITransport(ManagementApi(Starlette()))
        json = {**header, "Content-Type": "application/json"}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.post(f"{PREFIX}/people", content=slowly(end), headers=json)
        return answer.status_code

    assert [anyio.run(invite, *each) for each in ends] == [401, 403]
    assert [each.person.name for each in people.all()] == ["Ada", "Root"]


def test_command_that_goes_on_ends_with_its_token(site: Site) -> None:
    """Commands act several times; each asks whether the token is still valid."""
    site.token(Role.SUPPORT, "ci")
    tokens = Tokens(site.application.context)
    by = actor_of(tokens.all()[0], A_MOMENT, "")
    tokens.revoke("ci", Actor("root", A_MOMENT))

    with site.store.write() as connection:
        note_action(connection, by, Action.TRACK, "at that moment")
        with pytest.raises(NotAllowed, match=r"ci \(token\) has just ended"):
            note_action(connection, replace(by, at=A_MOMENT + A_DAY), Action.TRACK, "later")


def test_token_that_a_token_makes_ends_with_it(site: Site) -> None:
    header = site.token(Role.ADMIN, "maker")

    def made(name: str, by: dict[str, str], days: int) -> tuple[dict[str, str], datetime]:
        body = {"name": name, "role": "admin", "days": days}
        form = site.client.post(f"{PREFIX}/tokens", json=body, headers=by).json()
        ends_at = datetime.fromisoformat(form["endsAt"])
        return {"Authorization": f"Bearer {form['token']}"}, ends_at

    child, child_ends_at = made("child", header, 366)
    grandchild, ends_at = made("grandchild", child, 1)
    assert (child_ends_at, ends_at) == (A_MOMENT + 30 * A_DAY, A_MOMENT + A_DAY)

    gone = site.client.delete(f"{PREFIX}/tokens/maker", headers=site.token())
    assert gone.json()["ended"] == ["child", "grandchild", "maker"]
    for each in (header, child, grandchild):
        assert site.client.get(f"{PREFIX}/rules", headers=each).status_code == 401


def test_secret_is_shown_once_and_stored_nowhere(site: Site) -> None:
    header = {**site.token(), "Idempotency-Key": "one"}
    for path, body, names in (
        ("/keys", {"name": "wallet"}, ("key", "secret")),
        ("/tokens", {"name": "ci"}, ("token",)),
        ("/people", {"name": "Ada"}, ("link",)),
    ):
        keyed = {**header, "Idempotency-Key": path}
        first = site.client.post(PREFIX + path, json=body, headers=keyed)
        again = site.client.post(PREFIX + path, json=body, headers=keyed)

        assert first.status_code == again.status_code == 200
        assert again.headers["idempotency-replayed"] == "true"
        assert set(first.json()) - set(again.json()) == set(names)
        with site.store.read() as connection:
            kept = str([*connection.execute(select(schema.api_replies))])
        for name in names:
            assert first.json()[name].rpartition("/")[2] not in kept
    assert site.client.get(f"{PREFIX}/tokens", headers=header).json()["tokens"][0]["name"]


def test_request_that_is_sent_twice_happens_once(site: Site) -> None:
    header = {**site.token(), "Idempotency-Key": "night"}
    url = f"{PREFIX}/silences"

    first = site.client.post(url, json=plan(), headers=header)
    again = site.client.post(url, json=plan(), headers=header)
    other = site.client.post(url, json=plan(reason="something else"), headers=header)
    elsewhere = site.client.post(
        url, json=plan(), headers={**site.token(Role.OPERATOR), "Idempotency-Key": "night"}
    )

    assert first.status_code == 200, first.text
    assert first.json() == again.json()
    assert other.status_code == 422
    assert elsewhere.json()["number"] != first.json()["number"]
    assert site.count(schema.silences) == 2
    site.moment[0] = A_MOMENT + timedelta(hours=25)
    late = plan(endsAt=(A_MOMENT + 3 * A_DAY).isoformat())
    assert site.client.post(url, json=late, headers=header).json() != first.json()
    assert site.count(schema.api_replies) == 1


def test_refused_request_is_undone_and_may_be_sent_again(site: Site) -> None:
    header = {**site.token(), "Idempotency-Key": "try"}
    before = site.acted()
    body = {"name": "no name at all"}

    refused = site.client.post(f"{PREFIX}/keys", json=body, headers=header)
    mended = site.client.post(f"{PREFIX}/keys", json={"name": "wallet"}, headers=header)

    assert (refused.status_code, mended.status_code) == (422, 200)
    assert site.acted() == before + 1


def test_same_request_is_refused_while_it_is_under_way(site: Site) -> None:
    header = {**site.token(), "Idempotency-Key": "slow"}
    assert site.client.get(f"{PREFIX}/rules", headers=header).status_code == 200

    def post() -> httpx.Response:
        return site.client.post(f"{PREFIX}/silences", json=plan(), headers=header)

    with ThreadPoolExecutor(2) as threads:
        with site.store.write():  # holds what the first of them waits for
            asked = [threads.submit(post) for _ in range(2)]
            done, _ = wait(asked, return_when=FIRST_COMPLETED)
            assert [each.result().status_code for each in done] == [409]
        statuses = sorted(each.result().status_code for each in asked)

    assert statuses == [200, 409]
    assert site.count(schema.silences) == 1


def test_rules_change_only_for_whom_has_read_the_latest(site: Site) -> None:
    header = site.token(Role.OPERATOR)
    url = f"{PREFIX}/rules"
    read = site.client.get(url, headers=header)
    document = read.json()
    [name, *_] = document["rules"]
    document["rules"][name]["enabled"] = False

    blind = site.client.put(url, json=document, headers=header)
    done = site.client.put(url, json=document, headers={**header, "If-Match": read.headers["etag"]})
    late = site.client.put(
        url, json=read.json(), headers={**header, "If-Match": read.headers["etag"]}
    )

    assert [each.status_code for each in (blind, done, late)] == [428, 200, 412]
    assert site.client.get(url, headers=header).json() == done.json() == document
    assert site.client.get(url, headers=header).headers["etag"] == done.headers["etag"]


def test_rules_of_one_installation_come_whole_into_another(site: Site) -> None:
    header = site.token(Role.OPERATOR)
    url, everything = f"{PREFIX}/rules", {"If-Match": "*"}
    document = site.client.get(url, headers=header).json()
    [last] = [*document["rules"]][-1:]

    site.client.delete(f"{url}/{last}", headers=header)
    assert site.client.get(url, headers=header).json() != document
    site.client.put(url, json=document, headers={**header, **everything})

    assert site.client.get(url, headers=header).json() == document


def test_pages_of_a_list_hold_each_item_once(site: Site) -> None:
    header = site.token()
    for path, key, identity in (
        ("/rejections", "rejections", "firstSeenAt"),
        ("/tracked", "transactions", "txHash"),
        ("/notifications", "notifications", "createdAt"),
        ("/audit", "entries", "at"),
    ):
        url = PREFIX + path
        whole = site.client.get(url, headers=header, params={"limit": 1000}).json()
        found: list[Any] = []
        cursor: str | None = ""
        while cursor is not None:
            part = site.client.get(url, headers=header, params={"limit": 1, "cursor": cursor})
            found += part.json()[key]
            cursor = part.json()["cursor"]
        assert found == whole[key], path
        assert found == [] or identity in found[0]
        for made_up in ("first", "1.x", "1764158400000.", f"1764158400000.{'f' * 31}g"):
            wrong = site.client.get(url, headers=header, params={"cursor": made_up})
            assert wrong.status_code == 422, made_up


def test_transaction_is_tracked_described_and_let_go(site: Site) -> None:
    header = site.token(Role.SUPPORT)
    new = "0x" + "9" * 64
    where = {"networkIds": [SIMULATED.network_id], "tags": "vip Payout"}
    body = {"hashes": [new, new], "label": "Case 17", **where}

    tracked = site.client.post(f"{PREFIX}/tracked", json=body, headers=header).json()
    said = site.client.patch(f"{PREFIX}/tracked/{new}", json={"note": "called"}, headers=header)
    wrong = site.client.patch(f"{PREFIX}/tracked/{new}", json={"tags": "a!b"}, headers=header)
    tagged = site.client.get(f"{PREFIX}/tracked?tag=%23vip", headers=header).json()
    found = site.client.post(f"{PREFIX}/lookups", json={"hashes": [new]}, headers=header).json()
    gone = site.client.delete(f"{PREFIX}/tracked/{new}", headers=header)
    never = site.client.delete(f"{PREFIX}/tracked/{new}", headers=header)

    assert tracked == {"transactions": [{"txHash": new, "result": "new"}]}
    assert (said.json()["label"], said.json()["note"]) == ("Case 17", "called")
    assert [each["tags"] for each in tagged["transactions"]] == ["#payout #vip"]
    assert (wrong.status_code, "a!b" in wrong.json()["detail"]) == (422, True)
    assert found["transactions"][0]["isTracked"] is True
    assert (gone.status_code, never.status_code) == (200, 404)
    [last, *_] = audited(site.store)
    assert (last.actor, last.origin) == ("support (token)", "127.0.0.1")


def test_incident_is_owned_and_resolved(site: Site) -> None:
    header = site.token(Role.OPERATOR)
    seed_incidents(site.store, A_MOMENT)
    found = site.client.get(f"{PREFIX}/incidents", headers=header).json()["incidents"]
    incident, other = (each for each in found if each["rule"] in {"disk", "rejections"})
    url = f"{PREFIX}/incidents/{incident['incidentId']}"
    both = {"ids": [other["incidentId"][:8], incident["incidentId"]]}

    owned = site.client.post(f"{url}/acknowledge", json={"note": "mine"}, headers=header).json()
    several = site.client.post(f"{PREFIX}/incidents/acknowledge", json=both, headers=header).json()
    freed = site.client.post(f"{PREFIX}/incidents/unacknowledge", json=both, headers=header).json()
    ended = site.client.post(f"{url}/resolve", json={}, headers=header).json()

    assert (owned["owner"], owned["isChanged"]) == ("operator (token)", True)
    assert [(each["owner"], each["isChanged"]) for each in several["incidents"]] == [
        ("operator (token)", True),
        ("operator (token)", False),
    ]
    assert [each["owner"] for each in freed["incidents"]] == [None, None]
    assert ended["state"] == "resolved"
    assert site.client.get(url, headers=header).json()["state"] == "resolved"


def test_token_says_what_is_wrong_with_it(site: Site) -> None:
    tokens, by = Tokens(site.application.context), Actor("root", A_MOMENT)
    for name, lasts in (("a b", A_DAY), ("x", timedelta()), ("x", timedelta(days=400))):
        with pytest.raises(InputError):
            tokens.create(name, Role.VIEWER, lasts, by)
    tokens.create("x", Role.VIEWER, A_DAY, by)
    with pytest.raises(InputError, match="already"):
        tokens.create("x", Role.VIEWER, A_DAY, by)
    with pytest.raises(InputError, match="admin"):
        tokens.create("y", Role.VIEWER, A_DAY, replace(by, role=Role.OPERATOR))
    with pytest.raises(InputError, match="nobody called 'Eve' can sign in"):
        tokens.create("y", Role.VIEWER, A_DAY, by, person="Eve")
    site.application.people.invite("Eve", Role.SUPPORT, by)
    with pytest.raises(
        InputError, match="'Eve' has the role support: choose that role or a lesser one"
    ):
        tokens.create("y", Role.OPERATOR, A_DAY, by, person="Eve")
    with pytest.raises(InputError, match="no token"):
        tokens.revoke("z", by)


@pytest.mark.parametrize(
    ("path", "field"),
    [("/rejections", "networkId"), ("/tracked", "networkId"), ("/tracked", "cursor")],
)
def test_number_of_more_than_64_bits_is_refused(site: Site, path: str, field: str) -> None:
    url, query = f"{PREFIX}{path}", {field: str(10**22)}

    refused = site.client.get(url, params=query, headers=site.token())

    assert refused.status_code == 422
    assert "'10000000000000000000000' has more than 64 bits" in refused.json()["detail"]


def test_moment_that_is_no_date_elsewhere_is_refused(site: Site) -> None:
    url, far = f"{PREFIX}/tracked", "0001-01-01T00:00:00+14:00"
    body = {"hashes": [str(a_hash(1))], "attemptedAt": far}

    refused = site.client.post(url, json=body, headers=site.token())

    assert refused.status_code == 400
    assert "attemptedAt is not a usable date" in refused.json()["detail"]
