"""Addresses in the settings: where roles listen, where people find them, whom they ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.settings.configuration_files import loaded, read

NETWORK = "[networks.mine]\nnetwork_id = 31337\n"
KEY = NETWORK + "[serve.keys.wallets]\nkey = 'w'\n"
DATABASE = "[store]\nurl = 'postgresql:///lw?host=/run/postgresql'\n"
PROXY = "[pages]\npublic_url = 'https://watch.example'\n[sign_in.proxy]\n"
MISTAKES = {
    "an address of the pages that is none": (
        "[pages]\npublic_url = 'not a url'\n",
        ("pages.public_url", "'not a url'", "https://linewatch.example"),
    ),
    "an address of the pages with a login": (
        "[pages]\npublic_url = 'https://me:pw@linewatch.example'\n",
        ("pages.public_url", "holds a login, which no browser opens"),
    ),
    "no network of a proxy": (
        PROXY + "addresses = ['proxy.lan']\nroles = { '*' = 'viewer' }\n",
        ("sign_in.proxy.addresses", "holds 'proxy.lan', which is not a network: write an address"),
    ),
    "a network of a proxy with an address in it": (
        PROXY + "addresses = ['10.0.0.5/24']\nroles = { '*' = 'viewer' }\n",
        ("sign_in.proxy.addresses", "holds '10.0.0.5/24', which is not a network"),
    ),
    "a proxy that is anybody": (
        PROXY + "addresses = ['0.0.0.0/0']\nroles = { '*' = 'viewer' }\n",
        ("sign_in.proxy.addresses", "holds 0.0.0.0/0, which is too wide"),
    ),
    "a proxy nowhere": (
        PROXY + "roles = { '*' = 'viewer' }\n",
        ("sign_in.proxy.addresses", "is empty: say from where the proxy connects"),
    ),
    "a proxy without roles": (
        PROXY + "addresses = ['10.0.0.5']\n",
        ("sign_in.proxy.roles", "is empty, so that nobody has a role"),
    ),
    "groups of a proxy in no header": (
        PROXY + "addresses = ['10.0.0.5']\nroles = { staff = 'viewer' }\n",
        ("sign_in.proxy.groups_header", "is empty, and roles name groups"),
    ),
    "groups in the header of the person": (
        PROXY + "addresses = ['10.0.0.5']\nroles = { '*' = 'viewer' }\n"
        "groups_header = 'remote-user'\n",
        ("sign_in.proxy.groups_header", "is the header of the person"),
    ),
    "a header that browsers set": (
        PROXY + "addresses = ['10.0.0.5']\nroles = { '*' = 'viewer' }\nheader = 'Cookie'\n",
        ("sign_in.proxy.header", "is 'Cookie': write the name of a header that the proxy alone"),
    ),
    "a header that is none": (
        PROXY + "addresses = ['10.0.0.5']\nroles = { '*' = 'viewer' }\nheader = ''\n",
        ("sign_in.proxy.header", "such as Remote-User"),
    ),
    "second factors without passwords": (
        "[sign_in]\nsecond_factor = ['admin']\n",
        ("sign_in.second_factor", "is for passwords of Linewatch, and accounts is false"),
    ),
    "second factors of no role": (
        "[sign_in]\naccounts = true\nsecond_factor = ['root']\n",
        ("sign_in.second_factor", "root", "choose one of viewer, support, operator, admin"),
    ),
    "a script to sign out": (
        PROXY + "addresses = ['10.0.0.5']\nroles = { '*' = 'viewer' }\n"
        "sign_out_url = 'javascript:alert(1)'\n",
        ("sign_in.proxy.sign_out_url", "write https://", "a path such as /logout"),
    ),
    "a login in what everybody is led to": (
        PROXY + "addresses = ['10.0.0.5']\nroles = { '*' = 'viewer' }\n"
        "sign_out_url = 'https://me:pw@id.example/out'\n",
        ("sign_in.proxy.sign_out_url", "holds a login"),
    ),
    "two roles on one port": (
        "[pages]\nport = 8502\n",
        ("serve.port", "is 8502, as is pages.port", "a port of its own"),
    ),
    "two roles on one port of one machine": (
        KEY + "[serve]\nhost = '0.0.0.0'\nport = 8501\n",
        ("serve.port", "is 8501, as is pages.port"),
    ),
    "a port of the devnet": (
        "[devnet]\nport = 8502\nhost = 'localhost'\n",
        ("devnet.port", "is 8502, as is serve.port"),
    ),
    "a store in whatever folder a process is": (
        "[store]\nurl = 'sqlite:///linewatch.db'\n",
        ("store.url", "names the file 'linewatch.db' without its folder", "four slashes"),
    ),
    "a port within a host": (
        "[mail]\nrecipients = ['a@example.org']\nsmtp_host = 'smtp.example.org:587'\n",
        ("mail.smtp_host", "is 'smtp.example.org:587': write the port as mail.smtp_port"),
    ),
    "brackets around an address": (
        KEY + "[serve]\nhost = '[::1]'\n",
        ("serve.host", "write the port as serve.port, and no brackets"),
    ),
    "an address without a host": (
        NETWORK + "node = { url = 'http://' }\n",
        ("networks.mine.node.url", "names no host"),
    ),
    "a file of certificates that is not there": (
        "[tls]\nca_file = '/no/such.pem'\n",
        ("tls.ca_file", "/no/such.pem cannot be read: No such file"),
    ),
    "a file without a certificate": (
        "[tls]\nca_file = '/dev/null'\n",
        ("tls.ca_file", "/dev/null holds no certificate: write them as PEM"),
    ),
    "an address of no store": (
        "[store]\nurl = 'mysql://h/canary'\n",
        ("store.url", "cannot be used", "mysql, which is not supported"),
    ),
    "a replica of a file": (
        "[store]\nread_url = 'postgresql://me:canary@127.0.0.1/lw'\n",
        ("store.read_url", "names a replica, but store.url is not a PostgreSQL server"),
    ),
    "a replica that is no store": (
        DATABASE + "read_url = 'mysql://h/canary'\n",
        ("store.read_url", "cannot be used: store.read_url names mysql"),
    ),
    "a replica that has no time": (
        DATABASE + "read_lag = '500ms'\n",
        ("store.read_lag", "give the replica at least 1s"),
    ),
}


@pytest.mark.parametrize(("text", "expected"), MISTAKES.values(), ids=MISTAKES.keys())
def test_address_that_cannot_work_is_refused(
    tmp_path: Path, text: str, expected: tuple[str, ...]
) -> None:
    [mistake] = read(tmp_path, text).mistakes()

    assert [part for part in expected if part not in str(mistake)] == []
    assert "canary" not in str(mistake)


@pytest.mark.parametrize(
    "text",
    [
        "[pages]\nhost = '127.0.0.2'\nport = 8502\n",
        NETWORK + "[devnet]\nport = 8501\n",
        "[pages]\npublic_url = 'https://linewatch.example/pages/'\n",
        "[pages]\npublic_url = 'http://[::1]:8501'\n",
        PROXY + "addresses = ['10.0.0.5', '10.1.0.0/24', 'fd00::/64']\nroles = { '*' = 'viewer' }\n"
        "sign_out_url = 'https://id.example/out?rd=/'\n[sign_in]\naccounts = false\n",
        PROXY + "addresses = ['10.0.0.5']\nroles = { ops = 'admin' }\ngroups_header = 'X-Groups'\n",
        PROXY.replace("[sign", "host = '0.0.0.0'\n[sign")
        + "addresses = ['10.0.0.5']\nroles = { '*' = 'viewer' }\n",
    ],
)
def test_address_that_works_is_taken(tmp_path: Path, text: str) -> None:
    assert loaded(tmp_path, text).home == tmp_path


@pytest.mark.parametrize(
    "origin", ["wallet.example", "https://wallet.example/", "https://*.example"]
)
def test_origin_that_no_browser_sends_is_refused(tmp_path: Path, origin: str) -> None:
    [mistake] = read(tmp_path, f"[serve]\ncors_origins = ['{origin}']\n").mistakes()

    said = str(mistake)
    assert f"serve.cors_origins (in {tmp_path}" in said
    assert f"holds {origin!r}, which no browser sends: write it as https://wallet.example" in said


@pytest.mark.parametrize("setting", ["serve.cors_origins", "http.allowed_hosts"])
@pytest.mark.parametrize("address", ["https://me:c4nary@wallet.example", "me:c4nary@wallet"])
def test_login_in_an_address_is_named_and_not_quoted(
    tmp_path: Path, setting: str, address: str
) -> None:
    section, _, name = setting.partition(".")

    [mistake] = read(tmp_path, f"[{section}]\n{name} = ['{address}']\n").mistakes()

    assert mistake.setting == setting
    assert "holds an address with a login, which " in str(mistake)
    assert "c4nary" not in str(mistake)


@pytest.mark.parametrize(
    "origin", ["*", "null", "http://localhost:3000", "https://[::1]:8443", "chrome-extension://abc"]
)
def test_origin_that_a_browser_sends_is_taken(tmp_path: Path, origin: str) -> None:
    settings = loaded(tmp_path, f"[serve]\ncors_origins = ['{origin}']\n")

    assert settings.serve.cors_origins == [origin]
