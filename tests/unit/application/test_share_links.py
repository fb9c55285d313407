"""Share links: one transaction for whoever has the link, until it ends or somebody ends it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.application.share_links import CASE, Sharing
from dashboard.domain.people.access import Action, Actor, Role
from dashboard.domain.secret import Secret
from dashboard.domain.tracking.verdict import VerdictKind
from dashboard.errors import InputError, NotAllowed
from dashboard.store.access.audit_log import AuditFilter, audit_entries
from dashboard.store.engine.engine import Store
from tests.browser.seeded_store import SILENT, SIMULATED, tx_hash
from tests.builders import A_MOMENT

WEEK = timedelta(days=7)
ADA = Actor("Ada", A_MOMENT, Role.SUPPORT, "192.0.2.1")
HASH = tx_hash(1)
ADDRESS = "https://watch.example/base/"


class Moment:
    """The time of a test."""

    def __init__(self) -> None:
        self.now = A_MOMENT

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def moment() -> Moment:
    return Moment()


@pytest.fixture
def sharing(store: Store, moment: Moment) -> Sharing:
    settings = PageSettings(public_url=ADDRESS)
    return Application(store, (SIMULATED, SILENT), None, moment, settings=settings).sharing


def secret_of(address: str) -> Secret:
    """Return what follows in the path of a link."""
    assert address.startswith(f"https://watch.example/base{CASE}")
    return Secret(address.rpartition("/")[2])


def test_link_shows_verdict_and_customer_text_and_nothing_else(sharing: Sharing) -> None:
    link, address = sharing.share(HASH, WEEK, ADA, "Case 17")
    shown = sharing.shown(secret_of(address))

    assert shown is not None
    assert shown.verdict is VerdictKind.REJECTED
    assert str(HASH) in shown.text
    assert "Case 17" in shown.text
    assert "https://watch.example" not in shown.text
    assert list(sharing.all()) == list(sharing.all(HASH)) == [link]
    assert sharing.all(tx_hash(2)) == []


def test_link_ends_by_itself_and_at_once_if_it_is_revoked(sharing: Sharing, moment: Moment) -> None:
    first, address = sharing.share(HASH, WEEK, ADA)
    _, other = sharing.share(HASH, WEEK, ADA)
    assert address != other

    sharing.revoke(first.link_id, ADA)
    assert sharing.shown(secret_of(address)) is None
    assert sharing.shown(secret_of(other)) is not None
    moment.now += WEEK
    assert sharing.shown(secret_of(other)) is None
    assert sharing.all() == []
    with pytest.raises(InputError, match=str(first.link_id)):
        sharing.revoke(first.link_id, ADA)


def test_made_up_link_shows_nothing(sharing: Sharing) -> None:
    _, address = sharing.share(HASH, WEEK, ADA)

    for wrong in ("", "x", secret_of(address).reveal()[:-1], "\ud800", "a" * 10_000):
        assert sharing.shown(Secret(wrong)) is None


def test_who_shares_is_on_record_and_the_secret_is_nowhere(sharing: Sharing, store: Store) -> None:
    link, address = sharing.share(HASH, WEEK, ADA)
    sharing.revoke(link.link_id, ADA)

    with store.read() as connection:
        ended, made = audit_entries(connection, AuditFilter())[:2]
        everything = str(audit_entries(connection, AuditFilter()))
    assert (made.action, made.actor, made.origin) == (Action.SHARE, "Ada", "192.0.2.1")
    assert (ended.action, ended.subject) == (Action.END_SHARE, str(HASH))
    assert secret_of(address).reveal() not in everything


def test_what_cannot_be_shared_says_why(sharing: Sharing, store: Store) -> None:
    for lasts in (timedelta(), timedelta(days=91)):
        with pytest.raises(InputError, match="90 days"):
            sharing.share(HASH, lasts, ADA)
    with pytest.raises(NotAllowed):
        sharing.share(HASH, WEEK, Actor("Bob", A_MOMENT, Role.VIEWER))
    assert sharing.all() == []
    unnamed = Application(store, (SIMULATED,), None, lambda: A_MOMENT).sharing
    with pytest.raises(InputError, match="public_url"):
        unnamed.share(HASH, WEEK, ADA)
