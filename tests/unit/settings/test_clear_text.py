"""No secret leaves the machine in clear text unless that was allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.errors import InputError, SettingsError
from dashboard.wiring.maintenance import move_store
from tests.unit.settings.configuration_files import loaded, read

MAIL = "[mail]\nrecipients = ['a@example.org']\nsmtp_host = 'smtp.example'\nsecurity = 'none'\n"
NETWORK = "[networks.mine]\nnetwork_id = 5\n"
KEY = "4f1c9a0be7d24c5f"
CLEAR = {
    "a password for a mail server": (
        MAIL + "username = 'me'\n",
        "mail.security",
        "starttls or tls",
    ),
    "a key over HTTP": (
        NETWORK + "exclusion = { url = 'http://gw.example', key = 'c4nary' }\n",
        "networks.mine.exclusion.url",
        "https:// or wss://",
    ),
    "a key over WebSocket": (
        NETWORK + "exclusion = { url = 'ws://10.0.0.5:80', key = 'c4nary' }\n",
        "networks.mine.exclusion.url",
        "allow_clear_text = true beside it",
    ),
    "a key of the gas API": (
        NETWORK + "gas = { url = 'http://gw.example', key = 'c4nary' }\n",
        "networks.mine.gas.url",
        "its key could be read",
    ),
    "a key in the path of a node": (
        NETWORK + f"node = {{ url = 'http://node.example/v3/{KEY}c4nary' }}\n",
        "networks.mine.node.url",
        "its key could be read",
    ),
    "a short key that is called one": (
        NETWORK + "node = { url = 'http://node.example/?apikey=c4nary' }\n",
        "networks.mine.node.url",
        "its key could be read",
    ),
    "a login in the address of a second node": (
        NETWORK + "nodes = [{ url = 'ws://me:c4nary@node.example' }]\n",
        "networks.mine.nodes.0.url",
        "its key could be read",
    ),
    "a database": (
        "[store]\nurl = 'postgresql://me:c4nary@db.example/lw'\n",
        "store.url",
        "'db.example' do without TLS",
    ),
    "a database that may do without": (
        "[store]\nurl = 'postgresql://me:c4nary@db.example/lw?sslmode=prefer'\n",
        "store.url",
        "?sslmode=verify-full",
    ),
    "a replica": (
        "[store]\nurl = 'postgresql://127.0.0.1/lw'\nread_url = 'postgresql://c4nary@db.example/lw'\n",
        "store.read_url",
        "'db.example' do without TLS",
    ),
    "one of several databases": (
        "[store]\nurl = 'postgresql://me:c4nary@/lw?host=127.0.0.1:5432&host=10.1.1.1:5433'\n",
        "store.url",
        "'10.1.1.1' do without TLS",
    ),
    "a database that a service file names": (
        "[store]\nurl = 'postgresql://me:c4nary@127.0.0.1/lw?service=far'\n",
        "store.url",
        "'service=far' do without TLS",
    ),
}


@pytest.mark.parametrize(("text", "setting", "said"), CLEAR.values(), ids=CLEAR.keys())
def test_secret_that_would_leave_in_clear_text_is_refused_at_start_and_by_the_check(
    tmp_path: Path, text: str, setting: str, said: str
) -> None:
    with pytest.raises(SettingsError, match=setting) as refused:
        loaded(tmp_path, text)

    [mistake] = read(tmp_path, text).mistakes()
    assert (mistake.setting, str(refused.value)) == (setting, str(mistake))
    assert said in str(mistake)
    assert "c4nary" not in str(mistake)


ALLOWED = {
    "a mail server without a login": MAIL,
    "a mail server on this machine": MAIL.replace("smtp.example", "localhost")
    + "username = 'me'\n",
    "a mail server that was allowed": MAIL + "username = 'me'\nallow_clear_text = true\n",
    "a key over TLS": NETWORK + "exclusion = { url = 'wss://gw.example', key = 'k' }\n",
    "a key on this machine": NETWORK + "exclusion = { url = 'ws://[::1]:8502', key = 'k' }\n",
    "a key that was allowed": NETWORK
    + "gas = { url = 'http://gw.example', key = 'k', allow_clear_text = true }\n",
    "a node without a key": NETWORK + "node = { url = 'http://10.0.0.5:8545/rpc' }\n",
    "a database over TLS": "[store]\nurl = 'postgresql://a:b@db.example/lw?sslmode=verify-full'\n",
    "a service over TLS": "[store]\nurl = 'postgresql:///lw?service=far&sslmode=require'\n",
    "a database on this machine": "[store]\nurl = 'postgresql://a:b@127.0.0.1/lw'\n",
    "a database on a socket": "[store]\nurl = 'postgresql:///lw?host=/run/postgresql'\n",
    "a database that was allowed": "[store]\nurl = 'postgresql://db/lw'\nallow_clear_text = true\n",
}


@pytest.mark.parametrize("text", ALLOWED.values(), ids=ALLOWED.keys())
def test_way_that_nobody_reads_or_that_was_allowed_is_taken(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text).mistakes() == []


def test_store_is_not_moved_to_where_it_could_be_read_on_the_way(tmp_path: Path) -> None:
    settings = loaded(tmp_path)

    with pytest.raises(InputError, match=r"The new address lets 'db\.example' do without TLS"):
        move_store(settings, "postgresql://me:c4nary@db.example/lw")
    with pytest.raises(InputError, match="--to names mysql, which is not supported"):
        move_store(settings, "mysql://me:c4nary@db.example/lw")


@pytest.mark.parametrize(("sslmode", "mistakes"), [("prefer", ["store.url"]), ("verify-full", [])])
def test_what_the_environment_tells_libpq_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sslmode: str, mistakes: list[str]
) -> None:
    monkeypatch.setenv("PGHOST", "db.example")
    monkeypatch.setenv("PGSSLMODE", sslmode)

    found = read(tmp_path, "[store]\nurl = 'postgresql://me:c4nary@/lw'\n").mistakes()

    assert [each.setting for each in found] == mistakes


def test_tls_of_the_environment_does_not_count_for_a_service_which_may_overrule_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSSLMODE", "verify-full")

    found = read(tmp_path, "[store]\nurl = 'postgresql:///lw?service=far'\n").mistakes()

    assert [each.setting for each in found] == ["store.url"]


def test_hosts_of_a_service_that_the_environment_names_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = tmp_path / "services"
    services.write_text("[far]\nhost=db.example\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    monkeypatch.setenv("PGSERVICE", "far")

    [mistake] = read(tmp_path, "[store]\nurl = 'postgresql:///lw'\n").mistakes()

    assert "'db.example' do without TLS" in str(mistake)
