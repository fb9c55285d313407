"""What fails on a channel, read from the attempts to deliver."""

from __future__ import annotations

from dashboard.domain.health.mail_outages_and_failing_roles import MailTrouble
from dashboard.store.alerts.notification_claims import mark_sent, reschedule
from dashboard.store.engine.engine import Store
from dashboard.store.health import accepted_after, mail_trouble
from tests.builders import A_MOMENT
from tests.delivery_checks import claim_due, make_pending, take_lease


def test_mail_fails_since_the_first_attempt_after_the_last_success(store: Store) -> None:
    make_pending(store, 3)
    sent, *failing = claim_due(store, take_lease(store))
    with store.write() as connection:
        mark_sent(connection, sent.notification_id, "250 OK", A_MOMENT)
        for number, each in enumerate(failing, start=1):
            assert reschedule(connection, each, f"421 later {number}", A_MOMENT)

        trouble = mail_trouble(connection, "mail")

        assert trouble == MailTrouble(1, A_MOMENT, 2, "421 later 2")
        assert mail_trouble(connection, "ops-hook") is None
        assert accepted_after(connection, "mail", 1) is None
        mark_sent(connection, failing[0].notification_id, "250 OK", A_MOMENT)
        assert mail_trouble(connection, "mail") is None
        assert accepted_after(connection, "mail", 1) == A_MOMENT
