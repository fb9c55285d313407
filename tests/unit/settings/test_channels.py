"""[channels.NAME]: what can be used, what cannot with its remedy, and no secret shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.alert.channels.alertmanager import AlertmanagerChannel
from dashboard.alert.channels.apprise_service import AppriseChannel
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.secret import Secret
from dashboard.settings.listing import effective_settings
from dashboard.wiring.channels import open_channels
from dashboard.wiring.recipients import default_recipients, recipient_named
from tests.unit.settings.configuration_files import loaded, read

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HOOK = f"""\
[channels.ops-hook]
kind = "webhook"
url = "https://hooks.example/canary-key"
secrets = ["{SECRET}", "env:OLD_SECRET"]
"""


def test_webhook_is_a_channel_and_gets_what_mail_gets(tmp_path: Path) -> None:
    mail = '[mail]\nrecipients = ["oncall@example.org"]\n'

    settings = loaded(tmp_path, mail + HOOK, OLD_SECRET=SECRET)

    assert settings.channels["ops-hook"].secrets == [Secret(SECRET)] * 2
    assert list(open_channels(settings)) == ["mail", "ops-hook"]
    assert default_recipients(settings) == [
        Recipient("mail", "oncall@example.org"),
        Recipient("ops-hook", "ops-hook"),
    ]
    assert recipient_named("ops-hook", settings) == Recipient("ops-hook", "ops-hook")
    assert recipient_named("a@example.org", settings) == Recipient("mail", "a@example.org")


def test_channel_that_only_rules_name_gets_nothing_by_default(tmp_path: Path) -> None:
    settings = loaded(tmp_path, f"{HOOK}default = false\n", OLD_SECRET=SECRET)

    assert default_recipients(settings) == [Recipient("mail", "oncall@localhost")]


def test_secrets_and_addresses_of_channels_are_masked(tmp_path: Path) -> None:
    configuration = read(tmp_path, HOOK, OLD_SECRET=SECRET)

    found = {each.setting: each.value for each in effective_settings(configuration)}

    assert found["channels.ops-hook.secrets"] == found["channels.ops-hook.url"] == "•••"
    assert found["channels.ops-hook.kind"] == "webhook"


AM = """\
[channels.am]
kind = "alertmanager"
url = "https://am.example"
username = "linewatch"
password = "canary"
"""


def test_alertmanager_is_a_channel_that_what_is_open_is_repeated_to(tmp_path: Path) -> None:
    settings = loaded(tmp_path, AM)

    assert isinstance(open_channels(settings)["am"], AlertmanagerChannel)
    assert "canary" not in str(list(effective_settings(read(tmp_path, AM))))


@pytest.mark.parametrize(
    ("text", "setting", "remedy"),
    [
        (HOOK.replace("ops-hook", "mail"), "channels.mail", "give this one another name"),
        (HOOK.replace("ops-hook", "OpsHook"), "channels.OpsHook", "write small letters"),
        (
            HOOK.replace("https://hooks", "ftp://hooks"),
            "channels.ops-hook.url",
            "write https://host/path",
        ),
        (
            HOOK.replace("https://hooks", "http://hooks"),
            "channels.ops-hook.url",
            "allow_clear_text = true",
        ),
        (HOOK.replace(SECRET, "canary"), "channels.ops-hook.secrets", "write whsec_ and 24 to 64"),
        (HOOK.replace("secrets", "secret"), "channels.ops-hook.secret", "did you mean secrets?"),
        (
            HOOK.replace("secrets = [", "timeout = '3s'\n#"),
            "channels.ops-hook",
            "lacks secrets, by which the receiver knows who sends",
        ),
        (HOOK.replace('"webhook"', '"fax"'), "channels.ops-hook.kind", "choose one of"),
        (HOOK.replace('url = "', 'url = 5 # "'), "channels.ops-hook.url", "not usable"),
        (HOOK.replace("env:OLD_SECRET", "env:NO_SUCH"), "channels.ops-hook.secrets", "NO_SUCH"),
        (f'{AM}secrets = ["{SECRET}"]', "channels.am.secrets", "is for webhooks only"),
        (
            f"{HOOK}username = 'me'",
            "channels.ops-hook.username",
            "are for kind alertmanager only",
        ),
        (
            '[alerts]\nheartbeat_url = "http://ping.example/canary"',
            "alerts.heartbeat_url",
            "write https://",
        ),
        (f'{HOOK}[alerts]\nfallback = "pager"', "alerts.fallback", "there are ops-hook"),
        ('[alerts]\nheartbeat_url = "canary"', "alerts.heartbeat_url", "write https://host/path"),
    ],
)
def test_mistake_in_a_channel_names_the_remedy_and_shows_no_secret(
    tmp_path: Path, text: str, setting: str, remedy: str
) -> None:
    mistakes = read(tmp_path, text, OLD_SECRET=SECRET).mistakes()

    assert any(setting in each.setting and remedy in str(each) for each in mistakes), mistakes
    assert "canary" not in str(mistakes)


def test_webhook_on_this_machine_may_do_without_tls(tmp_path: Path) -> None:
    text = HOOK.replace("https://hooks.example", "http://127.0.0.1:9000")

    assert read(tmp_path, text, OLD_SECRET=SECRET).mistakes() == []


def test_chat_service_is_a_channel_and_its_address_is_masked(tmp_path: Path) -> None:
    text = '[channels.chat]\nkind = "apprise"\nurl = "slack://canary/canary/canary"\n'

    assert isinstance(open_channels(loaded(tmp_path, text))["chat"], AppriseChannel)
    assert "canary" not in str(list(effective_settings(read(tmp_path, text))))


def test_chat_service_that_is_none_is_a_mistake(tmp_path: Path) -> None:
    text = '[channels.chat]\nkind = "apprise"\nurl = "json://canary.example/"\n'

    [mistake] = read(tmp_path, text).mistakes()

    assert "which is not a chat or paging service" in str(mistake)
    assert "canary" not in str(mistake)
