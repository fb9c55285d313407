"""What people chose on the page Settings is kept exactly, with who and when, on both databases."""

from __future__ import annotations

import traceback
from datetime import timedelta

import pytest
from sqlalchemy import insert

from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.people.access import Actor
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.domain.secret import Secret
from dashboard.errors import StoreError
from dashboard.store.alerts.recipients import read_directory
from dashboard.store.chosen_settings import (
    PASSWORD,
    RECIPIENTS,
    ChosenSetting,
    ChosenValue,
    read_chosen,
    save_chosen,
)
from dashboard.store.engine.engine import Store
from dashboard.store.schema import chosen_settings
from tests.builders import A_MOMENT

ADA = Actor("Ada", A_MOMENT)
BOB = Actor("Bob \0 \ud800", A_MOMENT + timedelta(hours=1))


def test_choices_are_kept_replaced_and_taken_back(store: Store) -> None:
    first: dict[str, ChosenValue | None] = {
        "mail.smtp_port": 25,
        PASSWORD: Secret("s3cret"),
        "networks.a.b.coin_price": "1 USD",
    }
    with store.write() as connection:
        save_chosen(connection, first, ADA)
        save_chosen(connection, {"mail.smtp_port": 587, "networks.a.b.coin_price": None}, BOB)
    with store.read() as connection:
        found = read_chosen(connection)

    assert found == {
        "mail.smtp_port": ChosenSetting(587, BOB.at, BOB.name),
        PASSWORD: ChosenSetting(Secret("s3cret"), A_MOMENT, "Ada"),
    }
    assert "s3cret" not in repr(found)


def test_error_of_the_database_quotes_no_password(store: Store) -> None:
    secret = "c4nary"
    row = {"name": PASSWORD, "value": [secret], "changed_at": A_MOMENT, "changed_by": "Bob"}
    with store.write() as connection:
        save_chosen(connection, {PASSWORD: Secret(secret)}, ADA)
    with pytest.raises(StoreError) as failed, store.write() as connection:
        connection.execute(insert(chosen_settings).values(row))  # there is one already

    said = "".join(traceback.format_exception(failed.value))
    assert "INSERT INTO chosen_settings" in said
    assert secret not in said


def test_directory_names_the_default_recipients_that_were_chosen_where_they_may_be(
    store: Store,
) -> None:
    hook, old = Recipient("ops", "ops"), Recipient("mail", "old@example.org")
    with store.write() as connection:
        save_chosen(connection, {RECIPIENTS: ["new@example.org"]}, ADA)
    with store.read() as connection:
        chosen = read_directory(connection, ConfiguredRecipients((old, hook), is_open=True))
        fixed = read_directory(connection, ConfiguredRecipients((old, hook)))

    new = Recipient("mail", "new@example.org")
    assert chosen.configured.named == (new, hook)
    assert chosen.withheld(new) == ""
    assert fixed.configured.named == (old, hook)
