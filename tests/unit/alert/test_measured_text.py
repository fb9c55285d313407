"""What a message says of what a rule measures: the figures, the limit, and the rule."""

from __future__ import annotations

from datetime import UTC, timedelta

from dashboard.alert.compose import NetworkName, text_of
from dashboard.alert.incident_text import describe
from dashboard.domain.alerts.condition import INSTALLATION, State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.grounds import Grounds, Signal
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.alerts.kinds.coverage import GapGrounds
from dashboard.domain.alerts.kinds.credit_budget import CreditGrounds
from dashboard.domain.alerts.kinds.delivery import BounceGrounds, DeliveryGrounds
from dashboard.domain.alerts.kinds.expiry import ExpiryGrounds
from dashboard.domain.alerts.kinds.fee_limit import FeeLimitGrounds
from dashboard.domain.alerts.kinds.kind import IncidentText, ToldChange
from dashboard.domain.alerts.kinds.rejection_rate import RateGrounds
from dashboard.domain.health.coverage import GapCause
from dashboard.domain.quantity import Wei
from tests.builders import A_MOMENT, A_NETWORK, GWEI, a_transition
from tests.golden_texts import GoldenTexts

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


def of_installation(
    kind: SubjectKind, grounds: Grounds | None, after: State, dimension: str = ""
) -> IncidentText:
    """Describe a change of what is about no network."""
    subject = Subject(kind, INSTALLATION, rule="mine", dimension=dimension)
    before = BEYOND if grounds is None else WITHIN
    change = a_transition(subject=subject, before=before, after=after, grounds=grounds, at=A_MOMENT)
    return describe(ToldChange(change, "Linea"))


HOUR = timedelta(hours=1)
AGO = A_MOMENT - HOUR


def of_network(grounds: Grounds, after: State = BEYOND) -> IncidentText:
    return describe(ToldChange(a_change(grounds, after), "Linea"))


def fee_limit(signal: Signal, fee: int, limit: int, *, is_upper: bool = True) -> Grounds:
    return FeeLimitGrounds(signal, Wei(fee), Wei(limit), is_upper=is_upper)


def over_channel(channel: str) -> IncidentText:
    """Describe that mail fails, in a message that goes over a channel."""
    subject = Subject(SubjectKind.DELIVERY, INSTALLATION, rule="mine", dimension="mail")
    grounds = DeliveryGrounds(1, A_MOMENT, "451 later")
    change = a_transition(subject=subject, before=None, after=State.FAILING, grounds=grounds)
    return text_of(NotifiedChange(change, None), NetworkName("none"), UTC, channel)


def test_what_rules_measure_reads_as_it_was_reviewed(golden: GoldenTexts) -> None:
    base, priority = Signal.BASE_FEE, Signal.PRIORITY_FEE
    texts = {
        "rate": of_network(RateGrounds(1200, 50, WINDOW)),
        "rate of a module": of_network(RateGrounds(51, 50, WINDOW, "module", "HUB")),
        "rate without a module": of_network(RateGrounds(3, 2, WINDOW, "module", "")),
        "rate of a hostile label, over": of_network(
            RateGrounds(1, 50, WINDOW, "label", "a\nb\u202e"), WITHIN
        ),
        "fee in full": of_network(fee_limit(base, 30_123_456_789, 30 * GWEI)),
        "fee, over": of_network(fee_limit(base, 29 * GWEI, 30 * GWEI), WITHIN),
        "fee above some wei": of_network(fee_limit(base, 31 * GWEI, 7)),
        "priority fee below": of_network(fee_limit(priority, 1, 7, is_upper=False)),
    }

    golden.check("measured_on_networks", texts)


def test_what_rules_measure_of_ourselves_reads_as_it_was_reviewed(golden: GoldenTexts) -> None:
    coverage, worker = SubjectKind.COVERAGE, SubjectKind.WORKER
    delivery, address = SubjectKind.DELIVERY, SubjectKind.ADDRESS
    still_open = GapGrounds(AGO, None, GapCause.NOT_ANSWERED, "refused\n")
    closed = GapGrounds(AGO, A_MOMENT, GapCause.NOT_WATCHED)
    link, to = "550 see https://evil.example/", "ops@example.org"
    beyond: dict[str, tuple[SubjectKind, Grounds]] = {
        "not watched since": (coverage, still_open),
        "not watched for a while": (coverage, closed),
        "no worker": (worker, closed),
        "one notification waits": (delivery, DeliveryGrounds(1, AGO, "451 later")),
        "notifications wait": (delivery, DeliveryGrounds(1200, AGO, "451 later")),
        "credits": (SubjectKind.CREDITS, CreditGrounds(2_400_000, 3_000_000, "day")),
        "key expires": (SubjectKind.EXPIRY, ExpiryGrounds("key wallet", A_MOMENT + HOUR)),
        "certificate expired": (SubjectKind.EXPIRY, ExpiryGrounds("certificate CA", AGO)),
    }
    within = (coverage, worker, delivery, address, SubjectKind.EXPIRY)
    kept = CreditGrounds(0, 3_000_000, "month")
    texts = {
        **{
            title: of_installation(kind, grounds, BEYOND, "ma\u202eil")
            for title, (kind, grounds) in beyond.items()
        },
        **{f"{kind} over": of_installation(kind, None, WITHIN, "mail") for kind in within},
        "credits kept again": of_installation(SubjectKind.CREDITS, kept, WITHIN),
        "mail came back": of_installation(
            address, BounceGrounds(A_MOMENT, link, is_off=False), State.FAILING, to
        ),
        "mails come back": of_installation(
            address, BounceGrounds(A_MOMENT, link, is_off=True), State.FAILING, to
        ),
        "mail fails, told by mail": over_channel("mail"),
        "mail fails, told by another": over_channel("ops-hook"),
    }

    golden.check("measured_of_ourselves", texts)
