"""Settings that people choose: on record, in force at once, and the password is never told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from dashboard.application.application import Application
from dashboard.application.configuration import configuration_file, configured
from dashboard.application.configuration_import import ConfigurationImport, WrongConfiguration
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.people.access import Action, Actor, Role
from dashboard.domain.people.recipients import RecipientStatus
from dashboard.domain.secret import Secret
from dashboard.domain.tracking.transaction_cost import CoinPrice
from dashboard.errors import InputError, NotAllowed
from dashboard.settings import Settings
from dashboard.store.chosen_settings import ChosenValue, save_chosen
from dashboard.store.engine.engine import open_store
from dashboard.wiring.networks import shown_networks
from dashboard.wiring.page_settings import ShownConfiguration, page_settings, profile_of
from tests.builders import A_MOMENT
from tests.databases import new_sqlite_store
from tests.one_by_one import audited
from tests.unit.settings.configuration_files import loaded

ADA = Actor("Ada", A_MOMENT)
OPS = Recipient("mail", "ops@example.org")
PRICE = "networks.linea.coin_price"
NETWORK = "[networks.linea]\nnetwork_id = 59144\n"
CANARY = "c4nary-of-the-mail-server"
SERVER: dict[str, ChosenValue | None] = {
    "mail.recipients": [OPS.address],
    "mail.smtp_host": "mail.example",
    "mail.username": "watch",
    "mail.password": Secret(CANARY),
}


def opened(folder: Path, text: str = NETWORK) -> Iterator[Application]:
    folder.mkdir()
    settings: Settings = loaded(folder, text)
    variables = {"LINEWATCH_CONFIG": str(folder / "own.toml"), "LINEWATCH_HOME": str(folder)}
    shown = ShownConfiguration(lambda: A_MOMENT, variables).state
    profiles = tuple(profile_of(each, settings) for each in shown_networks(settings))
    known = replace(page_settings(settings), configuration=shown)
    with open_store(new_sqlite_store(folder / "store.sqlite")) as store:
        yield Application(store, profiles, None, lambda: A_MOMENT, settings=known)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Application]:
    yield from opened(tmp_path / "here")


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Application]:
    yield from opened(tmp_path / "there")


def logged(here: Application) -> list[tuple[str, dict[str, object]]]:
    found = audited(here.context.store, Action.CHANGE_SETTINGS)
    return [(each.subject, dict(each.details)) for each in found]


def test_price_holds_at_once_on_every_page_and_can_be_taken_back(here: Application) -> None:
    [before] = here.network_statuses()
    undone = here.chosen_settings.change({PRICE: "3150 USD"}, ADA)
    with here.context.store.read() as connection:
        [priced] = here.context.priced(connection, here.networks)
    same = here.chosen_settings.change({PRICE: "3150 USD"}, ADA)
    with pytest.raises(InputError, match=f"somebody else changed the setting {PRICE}"):
        here.chosen_settings.change(undone, ADA, held={PRICE: "3000 USD"})
    here.chosen_settings.change(undone, ADA, held={PRICE: "3150 USD"})

    assert before.profile.coin_price is None
    assert priced.coin_price == CoinPrice(3_150_000_000, "USD")
    assert priced in here.networks  # which chosen networks are found by
    assert same == {}
    assert logged(here) == [(PRICE, {PRICE: "the default"}), (PRICE, {PRICE: "3150 USD"})]


def test_default_recipients_hold_at_once_and_need_no_verification(here: Application) -> None:
    here.chosen_settings.change({"mail.recipients": [OPS.address]}, ADA)

    [listed] = here.recipients.all()
    assert (listed.recipient, listed.status) == (OPS, RecipientStatus.TRUSTED)
    assert here.recipients.unreached() == ()


def test_password_is_told_nowhere(here: Application) -> None:
    here.chosen_settings.change(SERVER, ADA)
    chosen = here.chosen_settings.all()
    state = here.chosen_settings.configuration()

    told = f"{logged(here)} {chosen} {state} {configuration_file(configured(here.context))}"
    assert CANARY not in told
    assert logged(here)[0][1]["mail.password"] == "a new one"
    assert state is not None
    shown = {each.name: each for each in state.settings}
    assert (shown["mail.smtp_host"].value, shown["mail.smtp_host"].source) == (
        *("mail.example", "page Settings"),
    )
    assert {each.chosen_by for each in chosen if each.name in SERVER} == {"Ada"}


def test_wrong_choice_changes_nothing(here: Application) -> None:
    wrong: tuple[tuple[dict[str, ChosenValue | None], str], ...] = (
        ({PRICE: "3150 USD", "mail.smtp_port": 0}, "smtp_port"),
        ({"mail.smtp_host": "a\nb"}, "line break"),
        ({"mail.recipient": None}, r"did you mean mail\.recipients\?"),
        ({"x" * 9_000: "a\nb"}, f"the setting {'x' * 100}… holds"),
        ({"mail.recipients": [f"{'a' * 2_000}@example.org"]}, "longer than"),
        ({"mail.recipients": [f"a{each}@example.org" for each in range(201)]}, "at most 200"),
    )
    for wanted, said in wrong:
        with pytest.raises(InputError, match=said):
            here.chosen_settings.change(wanted, ADA)
    with pytest.raises(NotAllowed):
        here.chosen_settings.change({PRICE: "1 USD"}, replace(ADA, role=Role.OPERATOR))

    assert here.chosen_settings.values() == {}
    assert logged(here) == []


def test_choices_go_elsewhere_in_a_file_without_the_password(
    here: Application, there: Application
) -> None:
    here.chosen_settings.change({**SERVER, PRICE: "3150 USD"}, ADA)
    there.chosen_settings.change({**SERVER, "mail.smtp_host": "old.example"}, ADA)
    text = configuration_file(configured(here.context))

    taken = ConfigurationImport(there.context).take(text, ADA)
    again = ConfigurationImport(here.context).take(text, ADA)

    assert configuration_file(configured(there.context)) == text
    assert "mail.password is never in a file" in " ".join(taken.left)
    assert "mail.password" not in there.chosen_settings.values()  # it was for another server
    assert (again.changes, again.left) == ((), ())
    assert here.chosen_settings.values()["mail.password"] == Secret(CANARY)
    for wrong, said in (
        ('password = "x"', "does not belong in a file"),
        ("sender = true", "neither a"),
    ):
        with pytest.raises(WrongConfiguration, match=said):
            ConfigurationImport(there.context).take(f"[chosen.mail]\n{wrong}\n", ADA)


def test_what_the_file_fixes_is_left(tmp_path: Path) -> None:
    for here in opened(tmp_path / "fixed", f"{NETWORK}coin_price = '1 USD'\n"):
        text = "[chosen.'networks.linea']\ncoin_price = '3150 USD'\n"
        taken = ConfigurationImport(here.context).take(text, ADA)

        assert taken.left == (f"{PRICE} is set in own.toml, line 3, which wins",)
        with here.context.store.write() as connection:
            save_chosen(connection, {PRICE: "3150 USD"}, ADA)  # before the file said it
            [network] = here.context.priced(connection, here.networks)
        assert network.coin_price == CoinPrice(1_000_000, "USD")
