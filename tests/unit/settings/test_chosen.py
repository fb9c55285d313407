"""What people choose on the page Settings: the file wins, and a choice is checked as strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.alert.channels.smtp import Security
from dashboard.domain.secret import MASK, Secret
from dashboard.domain.tracking.transaction_cost import CoinPrice
from dashboard.errors import InputError
from dashboard.settings.chosen import (
    Chosen,
    choosable_settings,
    refuse_wrong_choice,
    with_chosen,
)
from dashboard.store.chosen_settings import ChosenValue
from tests.unit.settings.configuration_files import loaded, read

FILE = """\
[mail]
sender = "linewatch@example.org"
[networks.linea]
network_id = 59144
coin_price = "3150 USD"
[networks."mine.too"]
network_id = 5
"""
SERVER: Chosen = {
    "mail.recipients": ["ops@example.org"],
    "mail.smtp_host": "mail.example",
    "mail.username": "watch",
    "mail.password": Secret("file:/etc/passwd"),
}


def test_choice_holds_below_what_the_file_says(tmp_path: Path) -> None:
    settings = loaded(tmp_path, FILE, LINEWATCH_MAIL_SMTP_PORT="2525")
    chosen = {
        **SERVER,
        "mail.smtp_port": 25,
        "mail.sender": "me@example.org",
        "mail.security": "tls",
        "networks.linea.coin_price": "1 USD",
        "networks.mine.too.coin_price": "2.5 EUR",
        "networks.gone.coin_price": "1 USD",
    }
    changed, mistakes = with_chosen(settings, chosen)

    mail, networks = changed.mail, changed.networks
    assert mistakes == []
    assert (mail.smtp_host, mail.smtp_port, mail.security) == ("mail.example", 2525, Security.TLS)
    assert mail.sender == "linewatch@example.org"
    assert mail.password.reveal() == "file:/etc/passwd"  # as it is typed: no file is read
    prices = {name: each.coin_price for name, each in networks.items()}
    assert prices == {
        "linea": CoinPrice(3_150_000_000, "USD"),
        "mine.too": CoinPrice(2_500_000, "EUR"),
    }


def test_each_says_where_it_comes_from_and_hides_the_password(tmp_path: Path) -> None:
    settings = loaded(tmp_path, FILE, LINEWATCH_MAIL_SMTP_PORT="2525")
    found = {each.name: each for each in choosable_settings(settings, SERVER)}

    assert {name: each.source for name, each in found.items()} == {
        "mail.recipients": "page Settings",
        "mail.smtp_host": "page Settings",
        "mail.smtp_port": "the variable LINEWATCH_MAIL_SMTP_PORT",
        "mail.security": "default",
        "mail.username": "page Settings",
        "mail.password": "page Settings",
        "mail.sender": "own.toml, line 2",
        "networks.linea.coin_price": "own.toml, line 5",
        "networks.mine.too.coin_price": "default",
    }
    assert [name for name, each in found.items() if each.is_fixed] == [
        *("mail.smtp_port", "mail.sender", "networks.linea.coin_price"),
    ]
    assert found["mail.password"].value == MASK
    assert found["networks.linea.coin_price"].value == "3150 USD"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"mail.smtp_port": 0}, r"mail\.smtp_port is .0.: expected a whole number of at least 1"),
        ({"mail.security": "none"}, r"mail\.security is none, so that 'mail\.example' would get"),
        ({"mail.security": "ssl"}, r"mail\.security is 'ssl': "),
        ({"mail.smtp_host": "smtp://x"}, r"mail\.smtp_host is more than a host: leave scheme"),
        ({"mail.recipients": ["ada"]}, r"mail\.recipients holds 'ada', which is not"),
        ({"mail.recipients": None}, r"mail\.recipients is empty and mail\.smtp_host is set"),
        ({"mail.sender": "x@y.example"}, r"mail\.sender is set in own\.toml, line 2, which wins"),
        ({"networks.mine.too.coin_price": "31"}, "write an amount and a currency: 3150 USD"),
        ({"networks.gone.coin_price": "1 USD"}, "is not changed on the page Settings"),
        ({"store.url": "sqlite://"}, r"store\.url is not changed on the page Settings: write it"),
        ({"mail.smtp_hosts": "x"}, r"did you mean mail\.smtp_host\?"),
        ({"mail.smtp_host": "evil.example"}, r"mail\.password was given for another server"),
        ({"mail.username": "root"}, r"mail\.password was given for another server or user"),
    ],
)
def test_wrong_choice_is_refused_with_its_name_and_the_remedy(
    tmp_path: Path, wanted: dict[str, ChosenValue | None], said: str
) -> None:
    settings = loaded(tmp_path, FILE)
    after = {name: each for name, each in {**SERVER, **wanted}.items() if each is not None}

    with pytest.raises(InputError, match=said) as refused:
        refuse_wrong_choice(settings, SERVER, after)

    assert "passwd" not in str(refused.value)


def test_password_of_the_file_goes_to_no_other_server(tmp_path: Path) -> None:
    text = '[mail]\npassword = "s3cret"\nsmtp_host = "mail.example"\nrecipients = ["a@b.example"]\n'
    settings = loaded(tmp_path, text)

    with pytest.raises(InputError, match=r"belongs to the password in own\.toml, line 2"):
        refuse_wrong_choice(settings, {}, {"mail.smtp_port": 25})


def test_no_file_says_what_is_fixed(tmp_path: Path) -> None:
    [mistake] = read(tmp_path, "fixed = {}\n").mistakes()

    assert "fixed" in str(mistake)
    assert "is not a setting of Linewatch" in str(mistake)
