"""Settings are read from three layers, and every mistake is named with its place and remedy."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dashboard.errors import SettingsError
from dashboard.settings import load_settings
from tests.unit.settings.configuration_files import loaded

NETWORK = "[networks.mine]\nnetwork_id = 31337\n"
KEY = NETWORK + "[serve.keys.wallets]\nkey = 'w'\n"


def mistake(folder: Path, text: str = "", **variables: str) -> str:
    """Return the message with which the settings are refused."""
    with pytest.raises(SettingsError) as refused:
        loaded(folder, text, **variables)
    return str(refused.value)


def test_settings_with_no_configuration_run_devnet_with_the_development_key(tmp_path: Path) -> None:
    settings = load_settings({"LINEWATCH_HOME": str(tmp_path)})

    assert settings.has_devnet
    assert settings.has_development_key
    assert settings.pages.port == 8501
    assert settings.poll.gas_period == timedelta(seconds=4)


def test_settings_take_the_usual_file_in_the_home_folder(tmp_path: Path) -> None:
    (tmp_path / "linewatch.toml").write_text("[pages]\nport = 9000\n", encoding="utf-8")

    settings = load_settings({"LINEWATCH_HOME": str(tmp_path)})

    assert settings.pages.port == 9000


def test_settings_let_a_variable_beat_the_file(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "[pages]\nport = 9000\n", LINEWATCH_PAGES_PORT="9100")

    assert settings.pages.port == 9100


def test_no_space_need_be_free_if_the_settings_say_so(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "[store]\nlow_space = '0B'\n")

    assert settings.store.low_space == 0


def test_settings_read_a_list_from_a_variable(tmp_path: Path) -> None:
    settings = loaded(tmp_path, LINEWATCH_MAIL_RECIPIENTS="a@example.org, b@example.org")

    assert settings.mail.recipients == ["a@example.org", "b@example.org"]


def test_settings_read_secrets_from_variables_and_files(tmp_path: Path) -> None:
    secret_file = tmp_path / "password"
    secret_file.write_text("from-a-file\n", encoding="utf-8")

    settings = loaded(tmp_path, f'[mail]\npassword = "file:{secret_file}"\n')

    assert settings.mail.password.reveal() == "from-a-file"


def test_settings_never_print_a_secret(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        '[mail]\npassword = "canary-1"\n[serve.keys.a]\nkey = "canary-2"\n'
        "[devnet]\nmode = 'off'\n",
    )

    assert "canary" not in f"{settings!r} {settings}"


def test_settings_switch_devnet_off_when_a_network_is_configured(tmp_path: Path) -> None:
    settings = loaded(tmp_path, NETWORK)

    assert not settings.has_devnet
    assert not settings.has_development_key


_ISSUER = """\
[pages]
public_url = 'https://watch.example'
[sign_in.issuers.corp]
client_id = 'us'
roles = { '*' = 'viewer' }
"""

MISTAKES = {
    "an unknown setting": ("[pages]\nprot = 1\n", ("pages.prot", "own.toml", "did you mean port?")),
    "an unknown section": ("[page]\nport = 1\n", ("page", "did you mean pages?")),
    "a port out of range": (
        "[pages]\nport = 70000\n",
        ("pages.port", "own.toml", "'70000'", "65535"),
    ),
    "text for a number": (
        "[pages]\nport = 'high'\n",
        ("pages.port", "'high'", "a whole number, not text"),
    ),
    "a wrong word": (
        "[mail]\nsecurity = 'ssl'\n",
        ("mail.security", "choose one of starttls, tls, none"),
    ),
    "a wrong duration": (
        "[poll]\ngas_period = '4'\n",
        ("poll.gas_period", "such as 30s, 5 min or 1h 30m"),
    ),
    "a duration of nothing": (
        "[poll]\ngas_period = '0s'\n",
        ("poll.gas_period", "'0s': 0s is too short; write more than zero"),
    ),
    "a duration beyond all calendars": (
        "[poll]\ngas_period = '999999999d'\n",
        ("poll.gas_period", "999999999d is too long; write at most 36500d"),
    ),
    "a size of nothing": (
        "[serve]\nlargest_body = '0kB'\n",
        ("is too small; write more",),
    ),
    "a wrong size": ("[serve]\nlargest_body = '1GB'\n", ("serve.largest_body", "64kB or 1MB")),
    "a table that is none": ("pages = 3\n", ("pages", "own.toml", "'3'")),
    "a list item": ("[mail]\nrecipients = [1]\n", ("mail.recipients.0", "'1'")),
    "a network without id": ("[networks.mine]\n", ("networks.mine", "lacks network_id")),
    "a network's endpoint": (
        NETWORK + "node = { uri = 'x' }\n",
        ("networks.mine.node", "did you mean url?"),
    ),
    "broken TOML": ("[pages\n", ("own.toml is not valid TOML", "line 1")),
    "an unset secret variable": (
        "[mail]\npassword = 'env:NOT_THERE'\n",
        ("mail.password", "NOT_THERE is not set"),
    ),
    "a missing secret file": (
        "[mail]\npassword = 'file:/no/such'\n",
        ("mail.password", "cannot be read: No such file"),
    ),
    "a secret in the home of nobody": (
        "[mail]\npassword = 'file:~nobody-here/secret'\n",
        ("mail.password", "~nobody-here/secret cannot be read: No such file"),
    ),
    "a credential without a unit": (
        "[mail]\npassword = 'file:$CREDENTIALS_DIRECTORY/smtp'\n",
        ("mail.password", "CREDENTIALS_DIRECTORY is not set", "systemd"),
    ),
    "an empty secret file": (
        "[mail]\npassword = 'file:/dev/null'\n",
        ("mail.password", "/dev/null is empty"),
    ),
    "a secret file that is no text": (
        f"[mail]\npassword = 'file:{sys.executable}'\n",
        ("mail.password", "is not UTF-8 text"),
    ),
    "pages beyond loopback": ("[pages]\nhost = '0.0.0.0'\n", ("pages.host", "accounts = true")),
    "sign-in over clear text": (
        "[pages]\npublic_url = 'http://watch.example'\n[sign_in]\naccounts = true\n",
        ("pages.public_url", "https"),
    ),
    "sign-in without an address": (
        "[pages]\nhost = '0.0.0.0'\n[sign_in]\naccounts = true\n",
        ("pages.public_url", "is needed"),
    ),
    "sign-in that ends before it is idle": (
        "[sign_in]\nlongest = '1h'\n",
        ("sign_in.longest", "sign_in.idle"),
    ),
    "an issuer over clear text": (
        f"{_ISSUER}url = 'http://id.example'\n",
        ("sign_in.issuers.corp.url", "others could sign in as anybody"),
    ),
    "an issuer with a login": (
        f"{_ISSUER}url = 'https://me:pass@id.example'\n",
        ("sign_in.issuers.corp.url", "holds a login"),
    ),
    "an issuer without an address of ours": (
        f"{_ISSUER}url = 'https://id.example'\n".replace("https://watch.example", ""),
        ("pages.public_url", "is needed"),
    ),
    "an issuer whose name is no part of an address": (
        f"{_ISSUER}url = 'https://id.example'\n".replace("corp", "'Our ID'"),
        ("sign_in.issuers.Our ID", "small letters"),
    ),
    "an issuer that gives an unknown role": (
        f"{_ISSUER}url = 'https://id.example'\n".replace("viewer", "owner"),
        ("sign_in.issuers.corp.roles", "owner"),
    ),
    "an open development key": ("[serve]\nhost = '0.0.0.0'\n", ("serve.host", "[serve.keys.NAME]")),
    "a recipient without a host": (
        "[mail]\nrecipients = ['oncall']\n",
        ("mail.recipients", "'oncall'", "name@example.org"),
    ),
    "a sender that would be a header": (
        '[mail]\nsender = "a@b\\nBcc: c@d"\n',
        ("mail.sender", "name@example.org"),
    ),
    "a zone": (
        "[mail]\ntime_zone = 'Europe/Zurych'\n",
        ("mail.time_zone", "'Europe/Zurych'", "not a time zone"),
    ),
    "a key without its name": (
        "[mail]\ndkim_key_file = '/no/such.pem'\n",
        ("mail.dkim_selector", "name the public key in DNS"),
    ),
    "a key that is not there": (
        "[mail]\ndkim_key_file = '/no/such.pem'\ndkim_selector = 'watch'\n",
        ("mail.dkim_key_file", "/no/such.pem cannot be read"),
    ),
    "a name without its key": (
        "[mail]\ndkim_selector = 'watch'\n",
        ("mail.dkim_selector", "set mail.dkim_key_file as well"),
    ),
    "half a zone": ("[mail]\ntime_zone = 'Europe'\n", ("mail.time_zone", "not a time zone")),
    "a path for a zone": (
        "[mail]\ntime_zone = '/etc/passwd'\n",
        ("mail.time_zone", "not a time zone"),
    ),
    "a greeting": ("[mail]\nehlo_name = 'my host'\n", ("mail.ehlo_name", "'my host'", "mx.exam")),
    "a mail server and nobody to write to": (
        "[mail]\nsmtp_host = 'smtp.example.org'\n",
        ("mail.recipients", "is empty and mail.smtp_host is set"),
    ),
    "an address without a scheme": (
        NETWORK + "node = { url = 'node.example' }\n",
        ("networks.mine.node.url", "https://"),
    ),
    "a gas API over WebSocket": (
        NETWORK + "gas = { url = 'wss://gas.example', key = 'k' }\n",
        ("networks.mine.gas.url", "https://"),
    ),
    "a price without a currency": (
        NETWORK + "coin_price = '3150'\n",
        ("networks.mine.coin_price", "write an amount and a currency: 3150 USD"),
    ),
    "a coin that is none": (NETWORK + "coin = '<b>'\n", ("networks.mine.coin",)),
    "one id for two networks": (
        NETWORK + NETWORK.replace("mine", "other"),
        ("networks.other.network_id", "as is that of mine", "configured once"),
    ),
    "a gas API without a key": (
        NETWORK + "gas = { url = 'http://h' }\n",
        ("networks.mine.gas", "lacks key"),
    ),
    "a key for a network that is not there": (
        KEY + "networks = ['elsewhere']\n",
        ("serve.keys.wallets.networks", "own.toml, line 5", "not a network here: mine (31337)"),
    ),
    "a key for a method that is not there": (
        KEY + "methods = ['eth_call']\n",
        ("serve.keys.wallets.methods", "'eth_call'", "getTransactionExclusionStatusV1"),
    ),
    "a key that may report and may not": (
        KEY + "methods = ['subscribe']\n",
        ("serve.keys.wallets.methods", "leaves out saveRejectedTransactionV1"),
    ),
    "a rate of a key": (KEY + "rate = 'fast'\n", ("serve.keys.wallets.rate", "such as 50/s")),
    "a burst of nothing": (KEY + "burst = 0\n", ("serve.keys.wallets.burst",)),
    "a key that nobody can present": (
        KEY.replace("'w'", "'a/b'"),
        ("serve.keys.wallets.key", "line 4", "no client could present it"),
    ),
    "one key under two names": (
        KEY + "[serve.keys.nodes]\nkey = 'w'\n",
        ("serve.keys.nodes.key", "is also the key of wallets"),
    ),
    "devnet without a key": (
        NETWORK + "[devnet]\nmode = 'on'\n",
        ("devnet.key", "development key is off"),
    ),
}


@pytest.mark.parametrize(("text", "expected"), MISTAKES.values(), ids=MISTAKES.keys())
def test_settings_name_each_mistake_with_its_place_and_remedy(
    tmp_path: Path, text: str, expected: tuple[str, ...]
) -> None:
    message = mistake(tmp_path, text)

    assert [part for part in expected if part not in message] == []


def test_settings_refuse_an_unknown_variable_with_a_hint(tmp_path: Path) -> None:
    message = mistake(tmp_path, LINEWATCH_PAGE_PORT="9000")

    assert "did you mean LINEWATCH_PAGES_PORT?" in message


def test_settings_name_the_variable_that_holds_a_wrong_value(tmp_path: Path) -> None:
    message = mistake(tmp_path, LINEWATCH_PAGES_PORT="high")

    assert "pages.port (in the variable LINEWATCH_PAGES_PORT) is 'high'" in message


HIDING = {
    "a list for a key": NETWORK + "exclusion = { url = 'https://h', key = ['canary'] }\n",
    "a list for a replica": "[store]\nread_url = ['canary']\n",
    "a list for an issuer": "[sign_in.issuers.a]\nclient_secret = ['canary']\n",
    "text for an endpoint": NETWORK + "exclusion = 'https://h/v3/canary'\n",
    "text for a network": "[networks]\na = 'https://h/canary'\n",
    "text for all networks": "networks = 'canary'\n",
    "text for an API key": "[serve.keys]\nwallets = 'canary'\n",
    "text for all API keys": "[serve]\nkeys = 'canary'\n",
    "an address without a scheme": NETWORK + "node = { url = 'h/canary' }\n",
}


@pytest.mark.parametrize("text", HIDING.values(), ids=HIDING.keys())
def test_settings_never_show_what_may_be_a_secret_in_a_mistake(tmp_path: Path, text: str) -> None:
    assert "canary" not in mistake(tmp_path, text)


def test_settings_read_a_secret_from_the_variable_that_it_names(tmp_path: Path) -> None:
    text = NETWORK + "exclusion = { url = 'https://h', key = 'env:LINEWATCH_TEST_KEY' }\n"

    settings = loaded(tmp_path, text, LINEWATCH_TEST_KEY="k1")

    exclusion = settings.networks["mine"].exclusion
    assert exclusion is not None
    assert exclusion.key is not None
    assert exclusion.key.reveal() == "k1"


def test_two_networks_of_one_title_are_refused(tmp_path: Path) -> None:
    other = "[networks.other]\nnetwork_id = 31338\ntitle = 'mine'\n"

    said = mistake(tmp_path, NETWORK + other)

    assert "networks.other.title" in said
    assert "is 'mine', as mine is called: give each network a title of its own" in said


@pytest.mark.parametrize(
    "written",
    [
        *("1800000000", "'1800000000'", "2027-01-15T08:00:00Z", "'2027-01-15T09:00:00+01:00'"),
        *("2027-01-15 08:00:00.000Z",),
    ],
)
def test_end_of_line_limits_is_written_as_sequencers_or_people_write_it(
    tmp_path: Path, written: str
) -> None:
    settings = loaded(tmp_path, f"{NETWORK}line_limits_end = {written}\n")

    assert settings.networks["mine"].line_limits_end == datetime(2027, 1, 15, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("line_limits_end = 31000000", "is not a time; write it as 2027-01-15T"),
        ("line_limits_end = '2027-01-15T08:00:00'", "is not a time; write it as"),
        ("line_limits_end = 'soon'", "is not a time"),
        ("line_limits_end_block = 31000000", "needs a node that says when the block comes"),
        (
            "line_limits_end_block = 31000000\nline_limits_end = 2027-01-15",
            "conflicts with line_limits_end: remove one of the two",
        ),
        ("limit_periods = [{ table = 'mainet' }]", "is not a table of module limits"),
        ("after_limits = 'often'", "choose one of seldom, never"),
    ],
)
def test_end_of_line_limits_that_nobody_can_mean_is_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    assert said in mistake(tmp_path, f"{NETWORK}{text}\n")


def test_store_keeps_for_a_time_or_forever(tmp_path: Path) -> None:
    text = "[store]\nkeep_fees = '3d'\nkeep_rejections = '10d'\nkeep_audit_log = 'forever'\n"

    kept = loaded(tmp_path, text).store.retention

    assert kept.fees == timedelta(days=3)
    assert kept.rejections == timedelta(days=10)
    assert kept.audit_log is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("keep_fees = 'always'", "'always' is not a duration; write one such as 14d or 12h"),
        ("keep_fees = '12h'", "the usual fee is computed from a day"),
        ("keep_rejections = '7d'", "our own serve answers about the last seven days"),
        ("keep_notifications = '1d'", "a mail is tried again for seven days"),
        ("keep_credits = '31d'", "Health shows what this month cost"),
        ("keep_coverage_gaps = '8d'", "Health lists the last 30 days"),
        ("keep_fee_minutes = '2d'", "is shorter than store.keep_fees"),
        ("keep_fees = 'forever'", "is shorter than store.keep_fees"),
    ],
)
def test_length_that_would_forget_what_is_needed_is_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    assert said in mistake(tmp_path, f"[store]\n{text}\n")
