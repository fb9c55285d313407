"""Networks are built from settings: which there are, and where each endpoint is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from dashboard.domain.health.budgets import Budget
from dashboard.domain.health.observation import Operation, Spent
from dashboard.domain.secret import Secret
from dashboard.domain.tracking.inclusion import InclusionQuestion
from dashboard.errors import UpstreamError, UpstreamThrottled
from dashboard.serve.keys.key_ring import KeyRing
from dashboard.settings import EndpointSettings, Settings, load_settings
from dashboard.settings.key_limits import configured_keys
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.upkeep import spent_of
from dashboard.upstream.budget import BudgetKeeper
from dashboard.upstream.endpoint import Charge, http_error
from dashboard.upstream.http import HttpAsker, open_client
from dashboard.upstream.websocket import WebSocketAsker
from dashboard.wiring.clients import Clients, StoredPurse, key_advice, open_clients, rpc_address
from dashboard.wiring.clock import utc_now
from dashboard.wiring.networks import cost_of, networks_of
from dashboard.wiring.worker import node_budgets
from tests.builders import a_hash

OWN = "[networks.mine]\nnetwork_id = 31337\n"
ENDPOINTS = {
    "a key goes below the address": ("https://h", "k", "https://h/v3/k"),
    "a last slash is not doubled": ("https://h/", "k", "https://h/v3/k"),
    "a WebSocket has its own folder": ("wss://h", "k", "wss://h/ws/v3/k"),
    "a key is escaped": ("https://h", "a/b?c", "https://h/v3/a%2Fb%3Fc"),
    "without a key the address is all": ("https://h/rpc", None, "https://h/rpc"),
}


ADVICE = {
    "a WebSocket without a key": ("ws://h/ws", None, "has to end in /ws/v3/KEY with a valid key"),
    "HTTP without a key": ("https://h", None, "url has to end in /v3/KEY with"),
    "the folder of keys twice": ("ws://h/ws/v3", "k", "leave /ws/v3 out"),
    "the folder of WebSockets twice": ("wss://h/ws/", "k", "url ends in /ws, and /ws/v3/KEY is"),
    "the folder twice over HTTP": ("https://h/v3", "k", "url ends in /v3, and /v3/KEY is added"),
    "a wrong key": ("https://h", "k", "check the API key, and that it belongs at /v3/KEY below"),
}


def at(url: str, key: str | None = None) -> EndpointSettings:
    return EndpointSettings(url=Secret(url), key=None if key is None else Secret(key))


def settings_with(folder: Path, text: str, **variables: str) -> Settings:
    """Load settings from a file with `text`."""
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return load_settings(
        {"LINEWATCH_CONFIG": str(path), "LINEWATCH_HOME": str(folder), **variables}
    )


@pytest.mark.parametrize(("url", "key", "expected"), ENDPOINTS.values(), ids=ENDPOINTS.keys())
def test_rpc_address_follows_the_gateways_form(url: str, key: str | None, expected: str) -> None:
    endpoint = EndpointSettings(url=Secret(url), key=None if key is None else Secret(key))

    assert rpc_address(endpoint).reveal() == expected


def test_networks_are_devnet_alone_when_nothing_is_configured(tmp_path: Path) -> None:
    (devnet,) = networks_of(settings_with(tmp_path, "", LINEWATCH_SERVE_PORT="9999"))

    assert devnet.is_simulated
    assert devnet.endpoints.gas is not None
    assert devnet.endpoints.gas.url.reveal() == "http://127.0.0.1:9999"


def test_own_serve_is_asked_under_a_name_that_it_answers_to(tmp_path: Path) -> None:
    keys = "[serve.keys.own]\nkey = 'k'\n[devnet]\nmode = 'on'\nkey = 'k'\n"
    endpoint = f"{OWN}exclusion = {{ url = 'own-serve', key = 'k' }}\n"
    settings = settings_with(tmp_path, f"[serve]\nmethod_prefixes = ['linea']\n{keys}{endpoint}")

    asked = [each.endpoints.exclusion for each in networks_of(settings)]

    assert [each and each.method_prefix for each in asked] == ["linea", "linea"]


def test_networks_put_a_literal_ipv6_host_into_brackets(tmp_path: Path) -> None:
    (devnet,) = networks_of(settings_with(tmp_path, "[serve]\nhost = '::1'\n"))

    assert devnet.endpoints.exclusion is not None
    assert devnet.endpoints.exclusion.url.reveal() == "http://[::1]:8502"


def test_networks_take_their_table_as_title_when_they_have_none(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, OWN + "[networks.b]\nnetwork_id = 2\ntitle = 'Second'\n")

    assert [network.title for network in networks_of(settings)] == ["mine", "Second"]


@pytest.mark.parametrize(("url", "key", "said"), ADVICE.values(), ids=ADVICE.keys())
def test_advice_where_a_key_is_refused_is_about_the_address_that_was_written(
    url: str, key: str | None, said: str
) -> None:
    assert said in key_advice(at(url, key))


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        ("ws://h/ws", None, "check url: the setting key is empty"),
        ("https://h", None, "check url: the setting key is empty"),
        ("wss://h/ws", "k", "do not allow this, or url ends in /ws, and /ws/v3/KEY is added"),
        ("https://h", "k", "the settings of the API key do not allow this"),
    ],
)
async def test_advice_where_a_question_is_forbidden_blames_no_key_that_is_not_there(
    url: str, key: str | None, said: str, tmp_path: Path
) -> None:
    async with open_client() as http:
        settings = settings_with(tmp_path, "")
        network, *_ = networks_of(settings)
        asker = Clients(http, settings.poll)._asker(network, "x", at(url, key))  # noqa: SLF001 - what this promises is inside

    assert said in str(http_error(asker.endpoint, 403, {}))


async def test_clients_choose_the_transport_by_the_address(tmp_path: Path) -> None:
    text = OWN + "exclusion = { url = 'wss://h', key = 'k' }\nnode = { url = 'http://n' }\n"
    settings = settings_with(tmp_path, text)
    (network,) = networks_of(settings)

    async with open_client() as http:
        clients = Clients(http, settings.poll)

        assert isinstance(clients._asker(network, "x", at("wss://h")), WebSocketAsker)  # noqa: SLF001 - what this promises is inside
        assert isinstance(clients._asker(network, "x", at("http://n")), HttpAsker)  # noqa: SLF001 - what this promises is inside
        doubled = clients._asker(network, "x", at("wss://h/ws", "k"))  # noqa: SLF001 - what this promises is inside
        assert doubled.endpoint.key_advice.startswith("url ends")
        assert clients.gas(network) is None


def test_development_key_is_accepted_only_where_nothing_is_configured(
    tmp_path: Path,
) -> None:
    own = OWN + "[serve.keys.wallets]\nkey = 'w'\n"

    open_ring = KeyRing(configured_keys(settings_with(tmp_path, "")).keys)
    own_ring = KeyRing(configured_keys(settings_with(tmp_path, own)).keys)

    assert open_ring.find("dev") is not None
    assert own_ring.find("dev") is None
    assert own_ring.find("w") is not None


SHARED = """
[poll]
calls_per_transaction = 100
[budgets.gateway]
credits_per_day = 30_000_000
credits = { linea_getTransactionExclusionStatusV1 = 5, eth_feeHistory = 20 }
[budgets.second]
credits_per_call = 7
[networks.mine]
network_id = 31337
gas_period = "12s"
history_period = "1d"
threshold_period = "1d"
block_time = "4s"
"""
GATEWAY = "url = 'https://h', key = 'k', budget = 'gateway'"
SECOND = "url = 'https://s', name = 'second', budget = 'second'"
COSTS = {
    "both endpoints are asked": (
        f"exclusion = {{ {GATEWAY} }}\nexclusions = [{{ {SECOND} }}]\nask_exclusions = 'all'",
        {"gateway": Spent(1, 5), "second": Spent(1, 7)},
        {},
    ),
    "the first one alone is asked": (
        f"exclusion = {{ {GATEWAY} }}\nexclusions = [{{ {SECOND} }}]",
        {"gateway": Spent(1, 5)},
        {},
    ),
    "nobody says what it costs": (
        "exclusion = { url = 'https://h', key = 'k' }",
        {"": Spent(1, 80)},
        {},
    ),
    "our own serve is free, over WebSocket too": (
        "exclusion = { url = 'ws://127.0.0.1:8502', allow_clear_text = true }",
        {"": Spent(1, 0)},
        {},
    ),
    "fees come from a gas API": (
        f"gas = {{ {GATEWAY} }}",
        {},
        {"gateway": Spent(7_203, 7_203 * 80)},
    ),
    "fees come from a node, which our own serve reads as well": (
        f"node = {{ {GATEWAY} }}\nnodes = [{{ {SECOND} }}]",
        {},
        {
            "gateway": Spent(3 * 28_800, 28_800 * 180),
            "second": Spent(2 * 8_640, 2 * 8_640 * 7),
        },
    ),
    "our own serve reads no node": (
        f"serve_fees = false\nnode = {{ {GATEWAY} }}",
        {},
        {"gateway": Spent(3 * 7_200, 7_200 * 180)},
    ),
    "nothing is charged for a node": ("node = { url = 'http://n' }", {}, {}),
}


@pytest.mark.parametrize(("text", "question", "fees"), COSTS.values(), ids=COSTS.keys())
def test_cost_is_what_every_endpoint_charges_to_its_budget(
    tmp_path: Path, text: str, question: dict[str, Spent], fees: dict[str, Spent]
) -> None:
    settings = settings_with(tmp_path, SHARED + text)
    [network] = networks_of(settings)

    cost = cost_of(network, settings)

    assert (cost.question, cost.fees) == (question, fees)


@pytest.mark.parametrize(
    ("nodes", "receipt"),
    [
        (f"node = {{ {GATEWAY} }}\nnodes = [{{ {SECOND} }}]", {"gateway": Spent(1, 90)}),
        (f"node = {{ url = 'http://n' }}\nnodes = [{{ {SECOND} }}]", {}),
        ("", {}),
    ],
)
def test_cost_of_a_receipt_is_that_of_the_dearest_call_to_the_first_node(
    tmp_path: Path, nodes: str, receipt: dict[str, Spent]
) -> None:
    prices = SHARED.replace("eth_feeHistory", "eth_getTransactionCount = 90, eth_feeHistory")
    settings = settings_with(tmp_path, prices + nodes)
    [network] = networks_of(settings)

    assert cost_of(network, settings).receipt == receipt


@pytest.mark.parametrize(
    ("nodes", "is_charged"),
    [
        (f"node = {{ {GATEWAY} }}", True),
        (f"node = {{ url = 'http://n' }}\nnodes = [{{ {SECOND} }}]", False),
        ("", False),
    ],
)
async def test_receipts_keep_to_the_budget_of_the_first_node(
    tmp_path: Path, store: Store, nodes: str, *, is_charged: bool
) -> None:
    settings = settings_with(tmp_path, SHARED + nodes)
    [network] = networks_of(settings)

    async with open_clients(settings, store=store) as clients:
        found = node_budgets(network, clients)
        charged = {} if found is None else found.shares

    gateway = clients.keepers["gateway"]
    assert charged == ({"": (gateway, 80)} if is_charged else {})
    assert found is None or list(found.in_use()) == [""]


class RefusingKeeper(BudgetKeeper):
    """Has no credits, and notes what it is asked for."""

    def __init__(self, store: Store) -> None:
        super().__init__(Budget("gateway"), StoredPurse(store, "gateway", utc_now), utc_now)
        self.noted: list[tuple[str, bool]] = []

    @asynccontextmanager
    async def turn(self, method: str, calls: int, *, is_fee: bool = False) -> AsyncIterator[None]:
        """Refuse the request."""
        self.noted.append((method, is_fee))
        if calls:
            raise UpstreamThrottled("test: no credits")
        yield


async def test_calls_for_fees_alone_are_charged_as_fees(tmp_path: Path, store: Store) -> None:
    text = f"gas = {{ {GATEWAY} }}\nnode = {{ {GATEWAY} }}"
    settings = settings_with(tmp_path, SHARED + text)
    [network] = networks_of(settings)

    async with open_clients(settings, store=store) as clients:
        clients.keepers["gateway"] = keeper = RefusingKeeper(store)
        gas, follower = clients.gas(network), clients.follower(network, settings.fees)
        blocks, inclusion = clients.new_blocks(network), clients.inclusion(network)
        assert gas is not None
        assert follower is not None
        assert blocks is not None
        assert inclusion is not None
        with pytest.raises(UpstreamThrottled):
            await gas.ask(Operation.BUSY_THRESHOLD)
        with suppress(UpstreamError):
            await follower.refresh()
        with pytest.raises(UpstreamThrottled):
            await blocks.read(1)
        await inclusion.ask([InclusionQuestion(a_hash(1))])

    assert keeper.noted == [
        ("busyThreshold", True),
        ("eth_chainId", True),
        ("eth_chainId", False),
        ("eth_chainId", False),
    ]


async def test_every_client_counts_and_keeps_to_what_its_budget_says(
    tmp_path: Path, store: Store
) -> None:
    text = f"exclusion = {{ {GATEWAY} }}\ngas = {{ {GATEWAY} }}\nnode = {{ {GATEWAY} }}"
    settings = settings_with(tmp_path, SHARED + text)
    [network] = networks_of(settings)

    async with open_clients(settings, store=store) as clients:
        exclusion, [node] = clients.exclusions(network)[""], clients.nodes(network)
        for endpoint, method in (
            (exclusion.endpoint, Operation.EXCLUSION_STATUS),
            (node.endpoint, "eth_feeHistory"),
        ):
            async with endpoint.turn(Charge(method, 2)):
                pass
        with clients.meters[network.network_id].handed_over() as metered, store.read() as held:
            spent = spent_of(held, "gateway", utc_now())

    assert [each.credits for each in metered.spent.values()] == [10, 40]
    assert set(spent.values()) == {50}
