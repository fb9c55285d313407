"""Networks side by side in one installation: the trouble of one never touches another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.anvil import CHAIN_ID, running_anvil
from tests.chromium import MILLISECONDS, running_browser
from tests.installation import Installation, answers, command, free_ports, new_installation
from tests.received_mail import mails_of
from tests.waiting import eventually

pytestmark = pytest.mark.full  # workers, pages, mails and `config try` show it each by itself

DEVNET = 424242
WITHOUT_GAS_API = 31338
STALE = re.compile(r"stale, \d+ s ago")
FRESH = re.compile(r"^Age: (just now|\d+ s ago)$")

CONFIGURATION = f"""\
[serve.keys.tests]
key = "env:SERVE_KEY"

[devnet]
mode = "on"
key = "env:SERVE_KEY"

[networks.mine]
preset = "own-serve"
network_id = {CHAIN_ID}
title = "My chain"

[networks.orphan]
preset = "node"
network_id = {WITHOUT_GAS_API}
title = "Orphan"
node = {{ url = "env:OTHER_NODE_URL" }}
gas = {{ url = "http://127.0.0.1:1", key = "nobody-answers" }}
serve_fees = false
"""


@dataclass(frozen=True)
class Site:
    """An installation that runs, with a page of its overview open."""

    installation: Installation
    page: Page

    def row(self, network_id: int) -> Locator:
        """Return the row of the overview that is about one network."""
        return self.page.locator(f".st-key-net-{network_id}")

    def base_fee_age(self, network_id: int) -> Locator:
        """Return the last cell of a network: how old its base fee is."""
        return self.row(network_id).locator(".lw-net > span").last

    def verdict(self, name: str) -> Locator:
        """Open the overview of one network; return what it says first."""
        self.page.goto(f"{self.installation.pages}/?network={name}")
        return self.page.locator("[class*=st-key-card-verdict]")

    def shows_alive(self, *network_ids: int) -> None:
        """Wait until the base fee of each of these networks is fresh."""
        for network_id in network_ids:
            expect(self.base_fee_age(network_id)).to_have_text(FRESH)

    def messages(self) -> list[str]:
        """Return the subjects of all mails about the network whose node dies."""
        mails = mails_of(self.installation.home / "mail")
        return [mail["Subject"] for mail in mails if "My chain" in mail["Subject"]]


@contextmanager
def a_site(folder: Path, node_url: str, other_node_url: str) -> Iterator[Site]:
    installation = new_installation(
        folder / "home",
        SERVE_KEY="k3y-of-this-test",
        NODE_URL=node_url,
        OTHER_NODE_URL=other_node_url,
        LINEWATCH_POLL_GAS_PERIOD="4s",
        LINEWATCH_SERVE_OLDEST_FEES="10s",
        LINEWATCH_ALERTS_SILENCE_PENDING="8s",
        LINEWATCH_ALERTS_SILENCE_KEEP_FIRING="2s",
        LINEWATCH_ALERTS_STALE_PENDING="8s",
        LINEWATCH_ALERTS_LARGEST_HOURLY="1000",  # devnet alone has more to say than a few
    )
    installation.home.mkdir(parents=True)
    (installation.home / "linewatch.toml").write_text(CONFIGURATION, encoding="utf-8")
    with running_browser() as browser, installation.start(command("up"), folder / "log"):
        eventually(lambda: answers(installation.pages), what="the first page")
        page = browser.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(installation.pages)
        yield Site(installation, page)


def tried(installation: Installation) -> dict[str, dict[str, str]]:
    """Return what `config try` found: the outcome of each question by network and endpoint."""
    answer = json.loads(installation.run("config", "try", "--json").stdout)
    return {
        each["name"]: {
            f"{found['endpoint']} {found['question']}": found["outcome"]
            for found in each["findings"]
        }
        for each in answer["networks"]
    }


@pytest.fixture(scope="module")
def node() -> Iterator[ReplacedNode]:
    with ReplacedNode(free_ports(1)[0]) as running:
        yield running


@pytest.fixture(scope="module")
def site(node: ReplacedNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Run everything over that node, and over another whose network's gas API does not answer."""
    with (
        running_anvil("--chain-id", str(WITHOUT_GAS_API)) as other,
        a_site(tmp_path_factory.mktemp("site"), node.url, other.url) as running,
    ):
        yield running


class ReplacedNode(ExitStack):
    """A node with some blocks; after `close`, `start` begins another chain on the same port."""

    def __init__(self, port: int) -> None:
        """Run the first."""
        super().__init__()
        self._port = port
        self.url = self.start()

    def start(self) -> str:
        """Run a node; return its address."""
        node = self.enter_context(running_anvil(port=self._port))
        node.mine(30)
        return node.url


def test_dead_node_makes_its_own_network_stale_until_it_is_back(
    site: Site, node: ReplacedNode
) -> None:
    site.shows_alive(CHAIN_ID, DEVNET, WITHOUT_GAS_API)

    node.close()

    expect(site.base_fee_age(CHAIN_ID)).to_have_text(STALE)
    expect(site.row(CHAIN_ID).locator(".lw-badge", has_text="Failing")).to_be_visible()
    site.page.locator(".st-key-attention-all summary").click()
    silent = "My chain: this installation's own serve down"
    expect(site.page.get_by_text(silent)).to_be_visible()
    expect(site.page.get_by_text("My chain: upstream silent:")).to_be_visible()
    site.shows_alive(DEVNET, WITHOUT_GAS_API)
    eventually(lambda: len(site.messages()) == 1, what="the message that it is silent")

    node.start()

    site.shows_alive(CHAIN_ID, DEVNET, WITHOUT_GAS_API)
    eventually(lambda: len(site.messages()) == 2, what="the message that it answers again")
    assert "fee source silent since" in " ".join(site.messages())
    assert "fee source answers again" in " ".join(site.messages())


def test_every_endpoint_is_tried_and_the_source_of_fees_is_shown(site: Site) -> None:
    site.shows_alive(CHAIN_ID, DEVNET, WITHOUT_GAS_API)

    own = "Source: this installation's own serve"
    expect(site.verdict("My chain").get_by_text(own)).to_be_visible()
    instead = "Source: the network's node, since the gas API does not answer"
    expect(site.verdict("Orphan").get_by_text(instead)).to_be_visible()

    found = tried(site.installation)
    assert set(found["My chain"].values()) == {"ok"}
    assert set(found["devnet"].values()) == {"ok"}
    assert found["Orphan"]["node eth_feeHistory"] == "ok"
    assert found["Orphan"]["gas suggestedGasFees"] == "failed"
