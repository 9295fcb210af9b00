"""Main networks cost real money: nothing is paid there unless the operator says so."""

from __future__ import annotations

import pytest

from conformance.check import Inconclusive
from conformance.network_names import is_main
from conformance.networks import forbid_main_network, guard, is_here
from conformance.target import AlgorandChain, BaseChain, Chains, Profile, ProfileError, Secret, SolanaChain, parse

ELSEWHERE = "https://node.example/rpc"
FUNDER = Secret(env="FUNDER")
MAIN_BASE = "eip155:8453"


def with_base(**members: object) -> Profile:
    return Profile(chains=Chains(base=BaseChain.model_validate({"rpc": ELSEWHERE, **members})))


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://[::1]:1/", "http://localhost:8545", "ws://a.localhost"])
def test_nodes_on_this_machine(url: str) -> None:
    """Loopback addresses are here, whatever network their ids are of."""
    assert is_here(url)


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1", "https://mainnet.base.org", "http://127.0.0.1.example", "", "http://localhost.example"]
)
def test_nodes_elsewhere(url: str) -> None:
    """Anything else is not, also when it looks alike."""
    assert not is_here(url)


def test_networks_by_their_keys() -> None:
    """A key that does not say that it is a test network is a main network's (P-NW-02)."""
    assert [is_main(key) for key in ("base_mainnet", "base_sepolia", "algorand_testnet", "solana_devnet")] == [
        True,
        False,
        False,
        False,
    ]
    assert is_main("base")


@pytest.mark.parametrize(
    "chains",
    [
        Chains(algorand=AlgorandChain(algod=ELSEWHERE)),
        Chains(base=BaseChain(rpc=ELSEWHERE)),
        Chains(solana=SolanaChain(rpc=ELSEWHERE)),
    ],
)
def test_a_main_network_elsewhere_needs_its_own_word(chains: Chains) -> None:
    """A profile that claims a main network for a node elsewhere is refused without `--main-network`."""
    profile = Profile(chains=chains)
    with pytest.raises(ProfileError, match="--main-network"):
        guard(profile, main_network=False)
    assert guard(profile, main_network=True) is profile


def test_local_nodes_and_test_networks_need_no_word() -> None:
    """Local nodes bear main networks' ids, and test networks cost nothing."""
    local = Profile(chains=Chains(base=BaseChain(rpc="http://127.0.0.1:8545", funder=FUNDER)))
    test = with_base(network="base_sepolia")
    assert guard(local, main_network=False) is local
    assert guard(test, main_network=False) is test


def test_an_operators_money_elsewhere_needs_a_limit() -> None:
    """A funder for a node elsewhere goes with a spending limit."""
    with pytest.raises(ProfileError, match="spending_limit"):
        guard(with_base(network="base_sepolia", funder=FUNDER), main_network=False)
    limited = with_base(network="base_sepolia", funder=FUNDER, spending_limit="5000000")
    assert guard(limited, main_network=False) is limited


@pytest.mark.parametrize("text", ["-1", "1.5", "01", "1e6", "", "9" * 20])
def test_a_limit_is_a_number_of_atomic_units(text: str) -> None:
    """Anything but decimal digits is a fault of the profile that names the key."""
    profile = f'[chains.base]\nrpc = "{ELSEWHERE}"\nspending_limit = "{text}"\n'
    with pytest.raises(ProfileError, match=r"chains\.base\.spending_limit"):
        parse(profile)


def test_a_node_that_is_not_what_the_profile_claims_is_not_paid_on() -> None:
    """A main network's node behind a test network's key is refused, and no word allows it."""
    with pytest.raises(Inconclusive, match="nothing is paid there"):
        forbid_main_network("base", "base_sepolia", ELSEWHERE, MAIN_BASE)
    with pytest.raises(Inconclusive, match="nothing is paid there"):
        forbid_main_network("base", "base_sepolia", ELSEWHERE, "eip155:4217")
    forbid_main_network("base", "base_sepolia", ELSEWHERE, "eip155:84532")
    forbid_main_network("base", "base_mainnet", ELSEWHERE, MAIN_BASE)
    forbid_main_network("base", "base_sepolia", "http://127.0.0.1:8545", MAIN_BASE)
