"""Blocks of the devnet: how full they are, how demand moves, and what rewards they tell."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.devnet.chain import FeeDemand, SeededRandom
from dashboard.devnet.own_transactions import PLAIN_TRANSFER_GAS, Blockspace, gas_weighted
from dashboard.domain.quantity import WEI_PER_GWEI, Address, Wei
from tests.unit.devnet.small_devnet import a_chain

CHAIN = a_chain()
BLOCKSPACE = Blockspace(CHAIN)
NUMBERS = st.integers(0, 20_000)


@given(number=NUMBERS)
def test_transactions_use_exactly_the_gas_of_their_block(number: int) -> None:
    block = CHAIN.block(number)

    slots = BLOCKSPACE.slots(block)

    assert len(slots) == block.transaction_count
    assert sum(slot.gas_used for slot in slots) == block.gas_used
    assert all(slot.gas_used >= PLAIN_TRANSFER_GAS for slot in slots)
    assert all(slot.payment.gas >= slot.gas_used for slot in slots)


@given(number=st.integers(1, 20_000), share=st.integers(0, 100))
def test_transactions_of_the_traffic_displace_gas_but_change_no_signature(
    number: int, share: int
) -> None:
    block = CHAIN.block(number)
    spare = block.gas_used - block.transaction_count * PLAIN_TRANSFER_GAS
    taken = spare * share // 100

    displaced = BLOCKSPACE.slots(block, taken)

    assert sum(slot.gas_used for slot in displaced) == block.gas_used - taken
    assert min(slot.gas_used for slot in displaced) >= PLAIN_TRANSFER_GAS
    assert [slot.payment for slot in displaced] == [
        slot.payment for slot in BLOCKSPACE.slots(block)
    ]


def test_nonces_of_every_sender_follow_each_other() -> None:
    nonces: defaultdict[Address, list[int]] = defaultdict(list)
    for number in range(60):
        for slot in BLOCKSPACE.slots(CHAIN.block(number)):
            nonces[BLOCKSPACE.sign(slot).sender].append(slot.payment.nonce)

    assert len(nonces) == 64
    for sender, used in nonces.items():
        assert used == list(range(len(used)))
        assert BLOCKSPACE.next_nonce(sender, CHAIN.block(59)) == len(used)


def test_nonce_of_a_stranger_is_not_known() -> None:
    assert BLOCKSPACE.next_nonce(Address(bytes(20)), CHAIN.block(59)) is None


def test_best_paying_transactions_come_first_and_pay_plausible_fees() -> None:
    tips = [
        [slot.tip for slot in BLOCKSPACE.slots(CHAIN.block(number))] for number in range(1, 500)
    ]
    flat = sorted(tip for block in tips for tip in block)

    assert all(block == sorted(block, reverse=True) for block in tips)
    assert flat[0] >= WEI_PER_GWEI // 20
    assert WEI_PER_GWEI // 2 < flat[len(flat) // 2] < 2 * WEI_PER_GWEI
    assert flat[-1] < 30 * WEI_PER_GWEI


MOMENTS = st.lists(st.integers(1_500_000_000, 1_500_600_000), min_size=1, max_size=20, unique=True)


@settings(max_examples=30)
@given(moments=MOMENTS, seed=st.integers(0, 5))
def test_prices_of_many_moments_are_those_of_each(moments: list[int], seed: int) -> None:
    demand = FeeDemand(SeededRandom(seed))
    ascending = sorted(moments)

    prices = demand.prices(np.array(ascending))

    assert prices.tolist() == [demand.price(at) for at in ascending]


TIPS = [(Wei(30), 70), (Wei(10), 10), (Wei(20), 20)]


@pytest.mark.parametrize(
    ("percentile", "reward"),
    [("0", 10), ("10", 10), ("10.9", 10), ("11", 20), ("30", 20), ("31", 30), ("100", 30)],
)
def test_reward_is_the_tip_at_that_share_of_the_gas(percentile: str, reward: int) -> None:
    assert gas_weighted(TIPS, [Fraction(percentile)]) == (reward,)


def test_rewards_of_an_empty_block_are_zero() -> None:
    assert gas_weighted([], [Fraction(10), Fraction(90)]) == (0, 0)


def test_rewards_of_several_percentiles_ascend_together() -> None:
    percentiles = [Fraction(each) for each in (0, 10, 11, 50, 50, 100)]

    assert gas_weighted(TIPS, percentiles) == (10, 10, 20, 30, 30, 30)
