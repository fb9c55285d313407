"""What a transaction costs: in its network's coin, and in money at a given price."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from msgspec import Struct

from dashboard.domain.formatting import unit_of
from dashboard.domain.quantity import Wei, shorten
from dashboard.errors import InputError

TRANSFER_GAS: Final = 21_000
"""Units of gas for a plain transfer of the coin, by the rules of every EVM network."""


class GasUse(NamedTuple):
    """A common action, the units of gas that it uses, and the source of that number."""

    name: str
    gas: int
    source: str


USUAL_ACTIONS: Final = (
    GasUse("Transfer of the coin", TRANSFER_GAS, "fixed by the rules of every EVM network"),
    GasUse(
        "Token transfer",
        52_000,
        "ERC-20, to an address that held none: 21,000 for the transaction, 27,100 for two balances "
        "(EIP-2929 and EIP-2200), the rest for its event, its call data and its code",
    ),
    GasUse(
        "Token swap",
        111_248,
        "one pool, as the gas tests of Uniswap's v3 SwapRouter measure it (exactInput 0 -> 1)",
    ),
)
"""Only the first is the same everywhere: the gas of a contract depends on its code."""

USUAL_COIN: Final = "ETH"

_PRICE: Final = re.compile(r"(\d{1,9})(?:\.(\d{1,6}))? ([A-Z]{3,5})", re.ASCII)
_WEI_PER_COIN: Final = 10**18
_MICRO: Final = 10**12
_LEAST_OF_COIN: Final = 10**15
_LEAST_OF_MICRO: Final = 10**10
"""From this many wei on, an amount is shown in millionths of the coin; below, in the units of fees.
"""

_MILLIONTHS: Final = 10**6
_SMALLEST: Final = 10_000
"""The smallest amount of money shown is one part in so many of the currency's unit."""


class CoinPrice(Struct, frozen=True):
    """The price of one coin: `millionths` of a unit of the currency."""

    millionths: int
    currency: str

    def __str__(self) -> str:
        """Format the price for `read_coin_price`."""
        whole, rest = divmod(self.millionths, _MILLIONTHS)
        return f"{whole}.{rest:06}".rstrip("0").rstrip(".") + f" {self.currency}"


def read_coin_price(text: object) -> CoinPrice:
    """Parse a price exactly: 3150.5 USD; InputError says what is expected."""
    match = _PRICE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        msg = f"{shorten(str(text))} is not a price; write an amount and a currency: 3150 USD"
        raise InputError(msg)
    whole, decimals, currency = match.groups(default="")
    return CoinPrice(int(whole) * _MILLIONTHS + int(decimals.ljust(6, "0")), currency)


def cost_of(fee: Wei, gas: int = TRANSFER_GAS) -> Wei:
    """Return the cost of so many units of gas; by default of a plain transfer."""
    return Wei(fee * gas)


def in_coin(amount: Wei, coin: str) -> str:
    """Format an amount of the coin: three digits, two below one: 1.25 ETH, 0.25 µETH, 147 kwei."""
    if not amount or amount >= _LEAST_OF_COIN:
        one, unit = _WEI_PER_COIN, coin
    elif amount >= _LEAST_OF_MICRO:
        one, unit = _MICRO, f"µ{coin}"
    else:
        one, unit = unit_of(amount)
    return f"{_decimal(amount, one, 3 if amount >= one else 2)} {unit}"


def in_money(amount: Wei, price: CoinPrice) -> str:
    """Format what an amount of the coin is worth, to hundredths, below that with two digits."""
    worth, one = amount * price.millionths, _WEI_PER_COIN * _MILLIONTHS
    if 0 < worth < one // _SMALLEST:
        return f"< {1 / _SMALLEST:.4f} {price.currency}"
    return f"{_decimal(worth, one, 2, 2)} {price.currency}"


def _decimal(amount: int, one: int, digits: int, decimals: int = 0) -> str:
    """Format amount / one, rounded half up: with so many digits, or more to fill `decimals`."""
    power = len(str(one)) - 1
    places = max(decimals, digits - 1 - _magnitude(amount, power))
    scaled = (amount * 10**places + one // 2) // one
    while places > decimals and scaled % 10 == 0:
        scaled, places = scaled // 10, places - 1
    whole, rest = divmod(scaled, 10**places)
    return f"{whole:,}.{rest:0{places}d}" if places else f"{whole:,}"


def _magnitude(amount: int, power: int) -> int:
    """Return the power of ten of the first digit; 0 for zero."""
    return len(str(amount)) - 1 - power if amount else 0
