"""Demo reports: reproducible, within their time, signed for the simulated network."""

from __future__ import annotations

from datetime import timedelta

from dashboard.devnet.demo import DemoReports
from dashboard.devnet.genesis import DEVNET_ID
from dashboard.devnet.rejection_scripts import ReasonTemplate
from tests.builders import A_MOMENT

LENGTH = timedelta(hours=72)


def test_reports_are_the_same_each_time() -> None:
    one, other = (list(DemoReports(7, A_MOMENT, LENGTH).reports()) for _ in range(2))

    assert one == other


def test_reports_lie_in_their_time() -> None:
    reported = list(DemoReports(7, A_MOMENT, LENGTH).reports())

    assert all(A_MOMENT - LENGTH < each.at <= A_MOMENT for each in reported)


def test_reported_transactions_are_signed_for_the_simulated_network() -> None:
    reported = list(DemoReports(7, A_MOMENT, LENGTH).reports())

    assert len(reported) > 20
    assert {each.report.transaction.chain_id for each in reported} == {DEVNET_ID}


def test_reasons_are_plain_texts_whose_digests_outlast_the_store() -> None:
    reasons = [each.report.reason_message for each in DemoReports(7, A_MOMENT, LENGTH).reports()]

    assert ReasonTemplate.NO_COUNT in reasons
    assert {type(each) for each in reasons} == {str}
