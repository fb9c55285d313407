"""What the management API says of itself is true, and a mistake is named with its remedy."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings

from dashboard.application.tokens import SUBJECTS
from dashboard.web.api.endpoint import PREFIX
from dashboard.web.api.server import ENDPOINTS
from tests.browser.seeded_store import tx_hash
from tests.processes import PROJECT
from tests.unit.show.web.api_site import HASH, Site, plan, send
from tests.waiting import PATIENCE

CASES = 50_000
"""Requests of the full run, valid ones and such that are not."""

EARLIER = ("GET", "/audit?since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z")
MISTAKES: tuple[tuple[str, str, Any, int, str], ...] = (
    ("POST", "/tracked", {"hashes": ["0x12"]}, 422, "0x12"),
    ("POST", "/tracked", {"hashes": []}, 400, "hashes"),
    ("POST", "/tracked", {"hashes": [HASH], "lable": "x"}, 400, "'lable' is none of its fields"),
    ("POST", "/silences", plan(**{"for": "1h"}), 400, "which are matchers, endsAt, reason"),
    ("GET", "/rejections?moon=1", None, 400, "'moon' is none of its fields, which are "),
    ("POST", "/tracked", {"hashes": [HASH], "networkIds": [4]}, 422, "4"),
    ("POST", "/silences", plan(endsAt="2026-01-01T00:00:00"), 400, "endsAt"),
    ("POST", "/silences", plan(matchers=[]), 422, ""),
    ("PUT", "/rules", {"rules": {"Bad Name": {"kind": "rejected"}}}, 422, "Bad Name"),
    ("PUT", "/rules", {"rules": {"a": {"kind": "busy"}, "b": {"kind": "x"}}}, 422, "'b': kind is"),
    ("POST", "/keys", {"name": "x", "methods": ["nothing"]}, 422, "methods"),
    ("POST", "/keys", {"name": "x", "burst": 10**30}, 400, ""),
    ("POST", "/keys", {"name": "x", "networkIds": [5]}, 422, "5 is not a network of this"),
    ("POST", "/keys", {"name": "x", "networkIds": []}, 422, "could call nothing"),
    ("GET", "/incidents?networkId=5", None, 422, "5 is not a network of this installation: Dev"),
    (*EARLIER, None, 400, "since 2026-02-01T00:00:00+00:00 is not before until 2026-01-01T00"),
    ("POST", "/tokens", {"name": "x", "subjects": ["moon"]}, 422, "moon"),
    ("DELETE", "/silences/99", None, 404, "99"),
    ("DELETE", "/silences/x", None, 404, ""),
    ("DELETE", "/keys/wallet%0aet", None, 404, ""),
    ("DELETE", "/keys/wallet%00", None, 404, "No such endpoint"),
    ("GET", "/rejections?module=HUB%00", None, 400, "in module"),
    ("POST", "/commands", {"arguments": ["keys", "revoke", "x\0"]}, 400, "arguments"),
    ("POST", "/recipients/off", {"address": "oncall"}, 422, "'oncall' is not"),
    ("GET", "/incidents/ffffffff", None, 404, "ffffffff"),
    ("DELETE", "/shares/99", None, 404, "99"),
    ("DELETE", "/tokens/gone", None, 404, "gone"),
    ("DELETE", "/keys/gone", None, 404, "gone"),
    ("DELETE", "/people/gone", None, 404, "gone"),
    ("DELETE", "/people/ops%2Fgone%3F", None, 404, "'ops/gone?'"),
    ("DELETE", "/sessions/gone", None, 404, "gone"),
    ("DELETE", "/rules/gone", None, 404, "gone"),
    ("GET", "/rejections?limit=0", None, 400, "limit"),
    ("GET", "/rejections?since=yesterday", None, 400, "such as 2026-11-20T12:00:00Z in since"),
    ("GET", "/rejections?stage=moon", None, 400, "SEQUENCER, RPC, P2P, unknown in stage, not 'mo"),
    ("POST", "/people", {"name": "x", "role": "king"}, 400, "operator, admin in role, not 'king'"),
    ("POST", "/notifications/again", {"notificationId": "x"}, 400, "in notificationId"),
    ("GET", "/rejections?cursor=999999999999999.1", None, 422, "cursor"),
    ("PUT", "/configuration", {"text": "= 1"}, 422, "TOML"),
    ("POST", "/commands", {"arguments": []}, 400, "arguments"),
    ("GET", "/moon", None, 404, "openapi.json"),
    ("POST", "/rules", {}, 405, "GET, PUT"),
)


def test_mistake_is_named(site: Site) -> None:
    headers = {**site.token(), "If-Match": "*"}
    for verb, path, body, status, named in MISTAKES:
        answer = site.client.request(verb, PREFIX + path, json=body, headers=headers)

        assert answer.status_code == status, (path, answer.text)
        problem = answer.json()
        assert problem["status"] == status
        assert named in problem["detail"], (path, answer.text)
        assert answer.text.isprintable()


def test_body_that_cannot_be_read_is_refused(site: Site) -> None:
    header = site.token()
    url = f"{PREFIX}/tracked"

    def status(content: bytes, kind: str = "application/json") -> int:
        headers = {**header, "Content-Type": kind}
        return site.client.post(url, content=content, headers=headers).status_code

    assert status(b"{", "application/json") == 400
    assert status(b"\xff\xfe") == 400
    assert status(b"[" * 5_000) == 400
    assert status(b"{}", "text/plain") == 415
    assert status(b" " * 1_000_001) == 413
    assert site.client.request("GET", url, content=b"{}", headers=header).status_code == 400


@pytest.mark.parametrize("half", [r"\ud800", r"\uDC00"])
def test_half_of_a_surrogate_pair_is_named(site: Site, half: str) -> None:
    headers = {**site.token(), "Content-Type": "application/json"}
    body = f'{{"hashes": ["{HASH}"], "label": "{half}"}}'

    refused = site.client.post(f"{PREFIX}/tracked", content=body, headers=headers)

    assert refused.status_code == 400
    assert f"{half} is one half of a surrogate pair" in refused.json()["detail"]


def test_document_is_valid_and_answers_have_the_keys_that_it_names(site: Site) -> None:
    import schemathesis  # noqa: PLC0415 - it takes seconds, in each worker

    header = site.token()
    document = site.client.get(f"{PREFIX}/openapi.json", headers=header).json()
    schemathesis.openapi.from_dict(document).validate()

    for endpoint in ENDPOINTS:
        if endpoint.verb == "GET" and "{" not in endpoint.path and endpoint.subject != "settings":
            answer = send(site, endpoint, header)
            assert answer.status_code == 200, endpoint.path
            assert set(endpoint.answers) <= set(answer.json()), endpoint.path
    assert len([each for path in document["paths"].values() for each in path]) == len(ENDPOINTS)


def ask_anything(
    operation: Any,  # noqa: ANN401 - untyped
    mode: Any,  # noqa: ANN401 - untyped
    site: Site,
    examples: int,
) -> int:
    """Send requests of one operation, valid ones or such that are not; return how many."""
    header, url = site.token(name=f"token-{uuid4().hex}"), str(site.client.base_url)
    asked = count()

    @given(case=operation.as_strategy(mode))
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), database=None)
    def ask(case: Any) -> None:  # noqa: ANN401 - a type of the library
        next(asked)
        answer = case.call(url, headers=header, timeout=PATIENCE)
        documented = operation.definition.raw["responses"]
        assert str(answer.status_code) in documented, (operation.label, answer.text)
        assert answer.status_code < 500, (operation.label, answer.text)
        json.loads(answer.content)

    ask()
    return next(asked)


def test_requests_of_a_fuzzer_are_answered_as_documented(
    site: Site, request: pytest.FixtureRequest
) -> None:
    import schemathesis  # noqa: PLC0415 - it takes seconds, in each worker

    is_full = request.config.getoption("--full")
    document = site.client.get(f"{PREFIX}/openapi.json", headers=site.token()).json()
    operations = [
        each.ok() for each in schemathesis.openapi.from_dict(document).get_all_operations()
    ]
    bare = [each for each in operations if not _takes_something(each)]
    whole = [each for each in operations if _takes_something(each)]
    examples = CASES // len(whole) // 2 + 1 if is_full else 2

    cases = sum(ask_anything(each, schemathesis.GenerationMode.POSITIVE, site, 1) for each in bare)
    modes = list(schemathesis.GenerationMode)  # valid requests come first
    for mode in modes if is_full else modes[:1]:
        cases += sum(ask_anything(each, mode, site, examples) for each in whole)

    assert cases >= (CASES if is_full else len(operations))


def _takes_something(operation: Any) -> bool:  # noqa: ANN401 - untyped
    said = operation.definition.raw
    return bool(said.get("parameters") or said.get("requestBody"))


def test_table_has_every_act_of_people_that_pages_offer_them() -> None:
    assert {each.subject for each in ENDPOINTS if each.is_limited} == SUBJECTS
    assert len({(each.verb, each.path) for each in ENDPOINTS}) == len(ENDPOINTS)


def test_page_of_the_docs_lists_every_endpoint_with_its_role() -> None:
    page = (PROJECT / "docs/api.md").read_text(encoding="utf-8")
    listed = {
        (subject, verb, path, role)
        for subject, cell in re.findall(r"^\| `([a-z-]+)` \| (\w+: [^|]+) \|", page, re.MULTILINE)
        for role, endpoints in re.findall(r"(\w+): ([^;]+)", cell)
        for verb, path in re.findall(r"`([A-Z]+) ?([^`]*)`", endpoints)
    }

    assert listed == {
        (each.subject, each.verb, each.path.removeprefix(f"/{each.subject}"), each.role.value)
        for each in ENDPOINTS
    }


def test_searches_find_what_the_pages_find(site: Site) -> None:
    header, wanted = site.token(), str(tx_hash(2))

    def found(path: str, key: str, text: str) -> list[str]:
        url = f"{PREFIX}/{path}"
        answer = site.client.get(url, headers=header, params={"search": text}).json()
        return [each["txHash"] for each in answer[key]]

    for text in (wanted, wanted[:14], "label:Case 1742"):
        assert found("rejections", "rejections", text) == [wanted] * 2, text
    assert len(found("rejections", "rejections", "devnet")) == 6
    assert found("tracked", "transactions", wanted[:14]) == [wanted]
    assert found("tracked", "transactions", "label:Case 1742") == [str(tx_hash(9)), wanted]
