"""What a message says of what rules measure, of a day, and around a busy network."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

from msgspec.structs import replace

from dashboard.alert.compose import NetworkName, text_of
from dashboard.alert.digest_text import describe_digest
from dashboard.alert.incident_text import describe, describe_busy
from dashboard.domain.alerts.condition import (
    INSTALLATION,
    DigestGrounds,
    Grounds,
    NetworkDigest,
    Signal,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.alerts.kinds.coverage import GapGrounds
from dashboard.domain.alerts.kinds.credit_budget import CreditGrounds
from dashboard.domain.alerts.kinds.delivery import BounceGrounds, DeliveryGrounds
from dashboard.domain.alerts.kinds.expiry import ExpiryGrounds
from dashboard.domain.alerts.kinds.fee_limit import FeeLimitGrounds
from dashboard.domain.alerts.kinds.kind import DescribedChange, IncidentText
from dashboard.domain.alerts.kinds.rejection_rate import RateGrounds
from dashboard.domain.fees.busy_spells import BusyContext, FeePoint, UsualSpells
from dashboard.domain.health.coverage import GapCause
from dashboard.domain.quantity import NetworkId, Wei
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    GWEI,
    a_transition,
    suggested_gas_fees,
)
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
    return describe(DescribedChange(change, "Linea"))


HOUR = timedelta(hours=1)
AGO = A_MOMENT - HOUR


def of_network(grounds: Grounds, after: State = BEYOND) -> IncidentText:
    return describe(DescribedChange(a_change(grounds, after), "Linea"))


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
        "key that ends now": (SubjectKind.EXPIRY, ExpiryGrounds("key wallet", A_MOMENT)),
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


DAY = timedelta(days=1)
CALM = NetworkDigest(ANOTHER_NETWORK, 0, True, 0.0, 0, timedelta())  # noqa: FBT003 - as fields


def a_digest(*networks: NetworkDigest, is_weekly: bool = False) -> DigestGrounds:
    return DigestGrounds(
        A_MOMENT - DAY, A_MOMENT, is_weekly, networks, opened=0, open=0, unassigned=0
    )


def with_incidents(opened: int, still_open: int, unassigned: int) -> IncidentText:
    grounds = replace(a_digest(CALM), opened=opened, open=still_open, unassigned=unassigned)
    return describe_digest(grounds, {}, UTC)


def test_digests_read_as_they_were_reviewed(golden: GoldenTexts) -> None:
    silent = NetworkDigest(NetworkId(7), None, False, None, 2, DAY)  # noqa: FBT003 - as fields
    weekly = a_digest(silent, is_weekly=True)

    golden.check(
        "digests",
        {
            "incidents opened": with_incidents(2, 0, 0),
            "all acknowledged": with_incidents(0, 2, 0),
            "one of three unacknowledged": with_incidents(0, 3, 1),
            "nobody has acknowledged them": with_incidents(0, 2, 2),
            "a week of which nobody knows": describe_digest(weekly, {NetworkId(7): "Seven"}, UTC),
        },
    )


ABOVE = FeeGrounds(Signal.BASE_FEE, Wei(23 * GWEI), Wei(19_600_000_000))


def a_context(**changes: Any) -> BusyContext:  # noqa: ANN401 - any field
    since = A_MOMENT - timedelta(days=1)
    fields: dict[str, Any] = {"grounds": ABOVE, "since": since, "until": A_MOMENT}
    return BusyContext(**(fields | changes))


def points(*gwei: int) -> tuple[FeePoint, ...]:
    """Return fees of the last minutes."""
    minutes = range(len(gwei), 0, -1)
    return tuple(
        FeePoint(A_MOMENT - timedelta(minutes=minute), Wei((fee - 1) * GWEI), Wei(fee * GWEI))
        for minute, fee in zip(minutes, gwei, strict=True)
    )


def test_what_surrounds_a_busy_network_reads_as_it_was_reviewed(golden: GoldenTexts) -> None:
    usual = UsualSpells(9, timedelta(minutes=14), timedelta(minutes=52), is_of_hour=True)
    flat = tuple(each._replace(lowest=each.highest) for each in points(10, 10, 10))
    contexts = {
        "suggested fees": a_context(suggested=suggested_gas_fees(), suggested_at=A_MOMENT),
        "usual at this hour": a_context(usual=usual),
        "usual at any hour": a_context(usual=replace(usual, many=4, is_of_hour=False)),
        "a chart": a_context(fees=points(10, 12, 23)),
        "a chart of a fee that never moved": a_context(fees=flat),
        "too few fees for a chart": a_context(fees=points(10, 12)),
    }

    texts = {title: describe_busy(each, UTC) for title, each in contexts.items()}

    golden.check("around_a_busy_network", texts)
