"""What a transfer costs, in the coin and in money."""

from __future__ import annotations

import pytest

from dashboard.domain.quantity import Wei
from dashboard.domain.tracking.transaction_cost import (
    CoinPrice,
    cost_of,
    in_coin,
    in_money,
    read_coin_price,
)
from dashboard.errors import InputError

PRICE = CoinPrice(3_150_500_000, "USD")


def test_costs_its_gas_at_the_fee() -> None:
    assert cost_of(Wei(12 * 10**9)) == 252_000 * 10**9


@pytest.mark.parametrize(
    ("wei", "shown"),
    [
        (0, "0 ETH"),
        (147_000, "0.000000000000147 ETH"),
        (252_000 * 10**9, "0.000252 ETH"),
        (193_512_345 * 10**6, "0.0001935 ETH"),
        (1_234_567 * 10**15, "1,235 ETH"),
    ],
)
def test_amount_of_the_coin_has_four_significant_digits(wei: int, shown: str) -> None:
    assert in_coin(Wei(wei), "ETH") == shown


@pytest.mark.parametrize(
    ("wei", "shown"),
    [
        (0, "0.00 USD"),
        (252_000 * 10**9, "0.79 USD"),
        (10**9, "0.0000032 USD"),
        (2 * 10**18, "6,301.00 USD"),
    ],
)
def test_money_is_shown_to_the_hundredth_or_to_two_digits(wei: int, shown: str) -> None:
    assert in_money(Wei(wei), PRICE) == shown


def test_price_is_read_exactly() -> None:
    assert read_coin_price("3150.5 USD") == PRICE
    assert read_coin_price("3150 EUR") == CoinPrice(3_150_000_000, "EUR")


@pytest.mark.parametrize("text", [None, 3150, "315", "1e9 USD", "-1 USD", "$3150", "1 usd"])
def test_what_is_no_price_is_refused_with_what_is_expected(text: object) -> None:
    with pytest.raises(InputError, match="write an amount and a currency"):
        read_coin_price(text)
