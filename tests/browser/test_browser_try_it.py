"""The page that tries the APIs, in a real browser against a real server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.browser.page_checks import SIZE, Screen, put_on_screen
from tests.chromium import MILLISECONDS
from tests.integration.running_server import (
    KEY,
    SECRET,
    a_call,
    a_report_of,
    a_signed_transaction,
    a_store,
    services_of,
    serving,
)

GET = "chain_getTransactionExclusionStatusV1"
SAVE = "chain_saveRejectedTransactionV1"
SCREENS: tuple[Screen, ...] = ((360, "dark"), (768, "light"), (1280, "light"))
HASH = f"0x{'ab' * 32}"
HOSTILE = "<img src=x onerror=document.title='pwned'><script>document.title='pwned'</script>"
_CUT = """
() => [...document.querySelectorAll('p, label, h1, h2, h3, span, li, a, button, input, pre')]
  .filter((e) => e.checkVisibility() && !e.closest('.skip'))
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
  .map((e) => e.textContent.slice(0, 60))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with (
        a_store(tmp_path_factory.mktemp("serve")) as store,
        serving(services_of(store)) as address,
    ):
        yield f"http://{address}"


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Yield a visitor of its own, whose requests and storage are looked at."""
    with browser.new_context(viewport=SIZE) as made:
        made.set_default_timeout(MILLISECONDS)
        yield made


def visit(context: BrowserContext, site: str, operation: str = "") -> Page:
    """Open the page and choose an operation, with the key typed in."""
    page = context.new_page()
    page.goto(f"{site}/#{operation}")
    expect(page.locator("#list button[aria-current=true]")).to_have_count(1)
    page.get_by_label("API key").fill(KEY)
    return page


def send(page: Page) -> str:
    """Send, and return the body of the reply."""
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#reply")).to_be_visible()
    return page.locator("#answer").inner_text()


def test_gas_operation_answers_with_status_time_and_size(
    context: BrowserContext, site: str
) -> None:
    page = visit(context, site, "busyThreshold")

    answer = send(page)

    assert json.loads(answer) == {"busyThreshold": "7"}
    expect(page.locator("#status")).to_have_text("200 OK")
    expect(page.locator("#figures")).to_contain_text(" ms · ")
    expect(page.locator("#figures")).to_contain_text(" bytes")


def test_gas_operation_is_asked_by_http_basic_too(context: BrowserContext, site: str) -> None:
    page = visit(context, site, "suggestedGasFees")
    page.get_by_label("Secret").fill(SECRET)
    page.get_by_role("radio", name="HTTP Basic").check()

    assert "estimatedBaseFee" in json.loads(send(page))


@pytest.mark.parametrize("way", ["HTTP", "WebSocket"])
def test_method_answers_over_both_transports(context: BrowserContext, site: str, way: str) -> None:
    page = visit(context, site, GET)
    page.get_by_label(way, exact=True).check()
    page.locator("#fields input").fill(HASH)

    answer = json.loads(send(page))

    assert answer == {"jsonrpc": "2.0", "id": 1, "result": None}


def test_wrong_key_is_told(context: BrowserContext, site: str) -> None:
    page = visit(context, site, "busyThreshold")
    page.get_by_label("API key").fill("wrong")

    answer = send(page)

    assert json.loads(answer) == {"statusCode": 401, "message": "invalid project id"}
    expect(page.locator("#status")).to_have_class("badge bad")


def test_without_a_key_nothing_is_sent(context: BrowserContext, site: str) -> None:
    page = visit(context, site, "busyThreshold")
    page.get_by_label("API key").fill("")
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.get_by_label("API key")).to_be_focused()
    expect(page.locator("#reply")).to_be_hidden()


def test_key_is_in_no_address_no_storage_and_no_command(context: BrowserContext, site: str) -> None:
    page = visit(context, site, GET)
    page.get_by_label("Secret").fill(SECRET)
    send(page)
    page.get_by_text("The request as it is sent").click()

    stored = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")
    shown = page.locator("#curl").inner_text() + page.locator("#address").inner_text()

    assert KEY not in page.url + stored + shown
    assert SECRET not in page.url + stored + shown
    assert "<KEY>" in shown
    page.reload()
    expect(page.get_by_label("API key")).to_have_value("")


def test_command_is_the_request(context: BrowserContext, site: str) -> None:
    page = visit(context, site, GET)
    page.locator("#fields input").fill("it's")
    page.get_by_text("The request as it is sent").click()

    command = page.locator("#curl").inner_text()

    assert command.startswith("curl --header 'Content-Type: application/json' --data '")
    assert "it'\\''s" in command
    assert command.endswith(f"'{site}/v3/<KEY>'")


def test_subscription_as_it_first_stands_tells_every_new_rejection(
    context: BrowserContext, site: str
) -> None:
    page = visit(context, site, "linewatch_subscribe")
    send(page)
    transaction = a_signed_transaction(17)
    call = a_call(SAVE, [a_report_of(transaction)])

    context.request.post(f"{site}/v3/{KEY}", data=call)

    expect(page.locator("#events")).to_contain_text(transaction.tx_hash)
    expect(page.locator("#live-state")).to_have_text("listening")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#live-state")).to_have_text("stopped")


def test_what_may_be_left_out_is_an_example_and_not_sent(
    context: BrowserContext, site: str
) -> None:
    page = visit(context, site, "linewatch_listRejectionsV1")
    page.get_by_text("The request as it is sent").click()

    assert 'params": []' in page.locator("#body").input_value()
    expect(page.get_by_label("filter (may be left out)")).to_have_attribute(
        "placeholder", re.compile("module")
    )
    assert "rejections" in json.loads(send(page))["result"]


def test_subscription_shows_no_command_for_http(context: BrowserContext, site: str) -> None:
    page = visit(context, site, "linewatch_subscribe")
    page.get_by_text("The request as it is sent").click()

    expect(page.locator("#body")).to_be_visible()
    expect(page.locator("#curl")).to_be_hidden()


def test_hostile_reply_is_text(context: BrowserContext, site: str) -> None:
    page = visit(context, site, SAVE)
    report = a_report_of(a_signed_transaction(5), reasonMessage=HOSTILE)
    call = {"jsonrpc": "2.0", "id": HOSTILE, "method": SAVE, "params": report}
    page.get_by_text("The request as it is sent").click()
    page.locator("#body").fill(json.dumps(call))

    answer = send(page)

    assert json.loads(answer)["id"] == HOSTILE
    assert page.title() == "Try the APIs · Linewatch"
    expect(page.locator("#answer *")).to_have_count(0)


def test_page_asks_no_other_host_and_keeps_its_policy(context: BrowserContext, site: str) -> None:
    asked: list[str] = []
    complaints: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    context.on("console", lambda message: complaints.append(message.text))
    page = visit(context, site, "busyThreshold")
    send(page)
    page.wait_for_load_state("networkidle")

    policy = context.request.get(site).headers["content-security-policy"]

    assert [url for url in asked if not url.startswith(site)] == []
    assert [text for text in complaints if "Security Policy" in text or "rror" in text] == []
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")


def test_page_is_used_by_keyboard_alone(context: BrowserContext, site: str) -> None:
    page = visit(context, site, "busyThreshold")
    page.locator("#fields input").first.focus()
    page.keyboard.press("Enter")

    expect(page.locator("#answer")).to_contain_text("busyThreshold")
    page.keyboard.press("Tab")
    expect(page.locator("#ways input:checked")).to_be_focused()


def test_nothing_is_cut_on_any_screen(context: BrowserContext, site: str) -> None:
    for screen in SCREENS:
        page = context.new_page()
        put_on_screen(page, screen)
        page.goto(f"{site}/#suggestedGasFees")
        expect(page.locator("h1")).to_have_text("suggestedGasFees")
        page.get_by_text("The request as it is sent").click()

        assert page.evaluate(_CUT) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_documents_that_cannot_be_read_are_said(context: BrowserContext, site: str) -> None:
    def gone(route: Route) -> None:
        route.fulfill(status=503, body="")

    context.route("**/openapi.json", gone)
    page = context.new_page()
    page.goto(site)

    expect(page.get_by_role("alert")).to_contain_text("gas operations could not be read")
