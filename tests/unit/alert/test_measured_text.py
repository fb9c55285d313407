"""What a message says of what a rule measures: the figures, the limit, and the rule."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest

from dashboard.alert.change_text import IncidentText
from dashboard.alert.compose import NetworkName, text_of
from dashboard.alert.incident_text import describe
from dashboard.domain.alerts.condition import INSTALLATION, State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.grounds import (
    BounceGrounds,
    CreditGrounds,
    DeliveryGrounds,
    ExpiryGrounds,
    FeeLimitGrounds,
    GapGrounds,
    Grounds,
    RateGrounds,
    Signal,
)
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.health.coverage import GapCause
from dashboard.domain.quantity import Wei
from tests.builders import A_MOMENT, A_NETWORK, GWEI, a_transition

WINDOW = timedelta(minutes=10)
BEYOND, WITHIN = State.BEYOND_LIMITS, State.WITHIN_LIMITS


def a_change(grounds: Grounds, after: State = BEYOND) -> Transition:
    """Return a change of what the rule `storm` measures."""
    kind = SubjectKind.FEE_LIMIT
    if isinstance(grounds, RateGrounds):
        kind = SubjectKind.REJECTION_RATE
    subject = Subject(kind, A_NETWORK, rule="storm")
    before = WITHIN if after is BEYOND else BEYOND
    return a_transition(subject=subject, before=before, after=after, grounds=grounds)


@pytest.mark.parametrize(
    ("grounds", "after", "headline"),
    [
        (
            RateGrounds(1200, 50, WINDOW),
            BEYOND,
            "Linea: 1,200 rejections in 10 min, more than 50",
        ),
        (
            RateGrounds(51, 50, WINDOW, "module", "HUB"),
            BEYOND,
            "Linea: 51 rejections of module HUB in 10 min, more than 50",
        ),
        (
            RateGrounds(3, 2, WINDOW, "module", ""),
            BEYOND,
            "Linea: 3 rejections without a module in 10 min, more than 2",
        ),
        (
            RateGrounds(1, 50, WINDOW, "label", "a\nb\u202e"),
            WITHIN,
            r"Linea: 1 rejection of label a\u000ab\u202e in 10 min, no more than 50",
        ),
        (
            FeeLimitGrounds(Signal.BASE_FEE, Wei(31 * GWEI), Wei(30 * GWEI), is_upper=True),
            BEYOND,
            "Linea: base fee 31 gwei is above 30 gwei",
        ),
        (
            FeeLimitGrounds(Signal.BASE_FEE, Wei(29 * GWEI), Wei(30 * GWEI), is_upper=True),
            WITHIN,
            "Linea: base fee 29 gwei is not above 30 gwei any more",
        ),
        (
            FeeLimitGrounds(Signal.BASE_FEE, Wei(31 * GWEI), Wei(7), is_upper=True),
            BEYOND,
            "Linea: base fee 31.00 gwei is above 7 wei",
        ),
        (
            FeeLimitGrounds(Signal.PRIORITY_FEE, Wei(1), Wei(7), is_upper=False),
            BEYOND,
            "Linea: medium suggested priority fee 1 wei is below 7 wei",
        ),
    ],
)
def test_headline_has_the_figure_and_the_limit(
    grounds: Grounds, after: State, headline: str
) -> None:
    assert describe(a_change(grounds, after), None, "Linea").headline == headline


def test_message_over_the_channel_that_failed_says_that_it_works_again() -> None:
    subject = Subject(SubjectKind.DELIVERY, INSTALLATION, rule="mine", dimension="mail")
    grounds = DeliveryGrounds(1, A_MOMENT, "451 later")
    change = a_transition(subject=subject, before=None, after=State.FAILING, grounds=grounds)
    over_mail, over_another = (
        text_of(NotifiedChange(change, None), NetworkName("none"), UTC, channel)
        for channel in ("mail", "ops-hook")
    )

    assert over_mail.headline == "mail did not accept 1 notification"
    assert "It accepted this message, so it works again" in over_mail.remark
    assert over_another.headline == "mail accepts no notifications: 1 notification waits"
    assert not over_another.remark


@pytest.mark.parametrize(
    ("is_off", "headline", "what_follows"),
    [
        (False, "a mail to ops@example.org came back", "another one comes back, the address is"),
        (True, "mails to ops@example.org come back", "nothing is sent there any more"),
    ],
)
def test_address_whose_mails_come_back_is_named_with_what_follows(
    headline: str, what_follows: str, *, is_off: bool
) -> None:
    grounds = BounceGrounds(A_MOMENT, "550 see https://evil.example/", is_off=is_off)
    text = of_installation(SubjectKind.ADDRESS, grounds, State.FAILING, "ops@example.org")

    assert text.headline == headline
    assert what_follows in text.explanation
    assert "evil[.]example" in text.quote


def of_installation(
    kind: SubjectKind, grounds: Grounds | None, after: State, dimension: str = ""
) -> IncidentText:
    """Describe a change of what is about no network."""
    subject = Subject(kind, INSTALLATION, rule="mine", dimension=dimension)
    before = BEYOND if grounds is None else WITHIN
    change = a_transition(subject=subject, before=before, after=after, grounds=grounds, at=A_MOMENT)
    return describe(change, None, "Linea")


HOUR = timedelta(hours=1)
AGO = A_MOMENT - HOUR


@pytest.mark.parametrize(
    ("kind", "grounds", "headline"),
    [
        (
            SubjectKind.COVERAGE,
            GapGrounds(AGO, None, GapCause.NOT_ANSWERED, "refused\n"),
            "Linea was not watched since 2026-11-20 11:00:00 UTC",
        ),
        (
            SubjectKind.COVERAGE,
            GapGrounds(AGO, A_MOMENT, GapCause.NOT_WATCHED),
            "Linea was not watched from 2026-11-20 11:00:00 UTC to 2026-11-20 12:00:00 UTC",
        ),
        (
            SubjectKind.WORKER,
            GapGrounds(AGO, A_MOMENT, GapCause.NOT_WATCHED),
            "no worker was running for 60 min",
        ),
        (
            SubjectKind.DELIVERY,
            DeliveryGrounds(1, AGO, "451 later"),
            "ma\\u202eil accepts no notifications: 1 notification waits",
        ),
        (
            SubjectKind.DELIVERY,
            DeliveryGrounds(1200, AGO, "451 later"),
            "ma\\u202eil accepts no notifications: 1,200 notifications wait",
        ),
        (
            SubjectKind.CREDITS,
            CreditGrounds(2_400_000, 3_000_000, "day"),
            "80% of the credits of this day are spent",
        ),
        (
            SubjectKind.EXPIRY,
            ExpiryGrounds("key wallet", A_MOMENT + HOUR),
            "The key wallet expires in 60 min",
        ),
        (
            SubjectKind.EXPIRY,
            ExpiryGrounds("certificate CA", AGO),
            "The certificate CA has expired",
        ),
    ],
)
def test_headline_of_what_is_about_ourselves_has_its_figure(
    kind: SubjectKind, grounds: Grounds, headline: str
) -> None:
    text = of_installation(kind, grounds, BEYOND, "ma\u202eil")

    assert text.headline == headline
    assert ("Rule", "mine") in text.rows
    assert text.next_steps


def test_credits_that_are_kept_again_need_no_steps() -> None:
    grounds = CreditGrounds(0, 3_000_000, "month")

    assert of_installation(SubjectKind.CREDITS, grounds, WITHIN).next_steps == ()


@pytest.mark.parametrize(
    ("kind", "headline"),
    [
        (SubjectKind.COVERAGE, "Linea is watched again"),
        (SubjectKind.WORKER, "a worker is running again"),
        (SubjectKind.DELIVERY, "mail accepts notifications again"),
        (SubjectKind.ADDRESS, "mail is taken for a good address again"),
        (SubjectKind.EXPIRY, "mail does not end soon any more"),
    ],
)
def test_end_of_what_was_measured_is_said_without_figures(kind: SubjectKind, headline: str) -> None:
    assert of_installation(kind, None, WITHIN, "mail").headline == headline


def test_text_of_a_rate_names_the_rule_and_what_to_look_at() -> None:
    text = describe(a_change(RateGrounds(51, 50, WINDOW)), None, "Linea")

    assert text.opening == (
        "51 rejections in 10 min arrived on Linea: more than the 50 of the rule storm."
    )
    assert text.page == "rejections"
    assert ("Rule", "storm") in text.rows
    assert text.next_steps


def test_text_of_a_fee_has_it_in_full() -> None:
    grounds = FeeLimitGrounds(Signal.BASE_FEE, Wei(30_123_456_789), Wei(30 * GWEI), is_upper=True)
    text = describe(a_change(grounds), None, "Linea")

    assert text.opening == "The base fee of Linea is above 30 gwei: it is 30.1 gwei."
    assert ("Base fee", "30.123456789 gwei") in text.rows
