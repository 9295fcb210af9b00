"""What a run may take of the operator's money, and of which asset."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from conformance.lanes.spending import SpendingLimit, Wallet
from conformance.outcome import Inconclusive
from conformance.vocabulary.networks import Network, network_named

ALGORAND, BASE = "algorand_mainnet", "base_mainnet"


def network(key: str) -> Network:
    network = network_named(key)
    assert network is not None
    return network


def limit(key: str, most: str, wallet: Wallet) -> SpendingLimit:
    return SpendingLimit("chains.x", most, network(key), wallet)


def decimals(count: int) -> Callable[[], Awaitable[int]]:
    async def return_decimals() -> int:
        return count

    return return_decimals


async def test_a_limit_holds_over_all_lanes_of_a_run() -> None:
    """What another lane took counts; what is refused does not."""
    wallet = Wallet()
    first_limit, second_limit = limit(ALGORAND, "100", wallet), limit(BASE, "150", wallet)
    await first_limit.take("31566704", 90, decimals(6))
    with pytest.raises(Inconclusive, match="100 atomic units: 90 were given on all lanes, and this payment needs 20"):
        await first_limit.take("31566704", 20, decimals(6))
    await second_limit.take(network(BASE).asset_id.lower(), 60, decimals(6))
    with pytest.raises(Inconclusive, match="spending_limit is 150"):
        await second_limit.take(network(BASE).asset_id, 1, decimals(6))
    assert (first_limit.size_purse(50), second_limit.size_purse(50), wallet.spent) == (0, 0, 150)


async def test_what_was_agreed_bounds_a_limit() -> None:
    """One command takes no more than the user agreed to, however large the profile's limit is."""
    wallet = Wallet(most=10)
    agreed_limit = limit(ALGORAND, "100", wallet)
    assert agreed_limit.size_purse(50) == 10
    with pytest.raises(Inconclusive, match="this command may pay 10 atomic units"):
        await agreed_limit.take("31566704", 11, decimals(6))
    await agreed_limit.take("31566704", 10, decimals(6))


@pytest.mark.parametrize(
    "asset", ["10458941", "0", "031566704", "31566704 ", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"]
)
async def test_another_asset_is_not_given(asset: str) -> None:
    """Only the network's own USDC is, by its id as it is written; the node is not even asked about another."""
    wallet = Wallet()

    async def count_question() -> int:
        raise AssertionError

    with pytest.raises(Inconclusive, match="is not USDC of algorand_mainnet"):
        await limit(ALGORAND, "100", wallet).take(asset, 1, count_question)
    assert wallet.spent == 0


async def test_usdc_of_other_decimals_is_not_given() -> None:
    """A million units are one USDC only where it has six decimals."""
    wallet = Wallet()
    with pytest.raises(Inconclusive, match="has 6 decimals, and the node's asset 31566704 has 8"):
        await limit(ALGORAND, "100", wallet).take("31566704", 1, decimals(8))
    assert wallet.spent == 0


def test_without_a_limit_nothing_is_taken() -> None:
    """A caller that opens a payer by itself is bound by it, too."""
    with pytest.raises(Inconclusive, match="no spending_limit"):
        SpendingLimit("chains.x", None, network(BASE), Wallet())
