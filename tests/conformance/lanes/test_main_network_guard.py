"""Main networks cost real money: nothing is paid there unless the operator says so."""

from __future__ import annotations

import pytest

from conformance.lanes.main_network_guard import NodeNetwork, admit, guard_profile, is_local, usdc_of
from conformance.outcome import Inconclusive
from conformance.target import Chain, Chains, Profile, ProfileError, Secret, parse
from conformance.target.lanes.algorand import AlgorandChain
from conformance.target.lanes.base import BaseChain
from conformance.target.lanes.solana import SolanaChain
from conformance.target.payer import PayerProgram
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.network import with_worth
from conformance.vocabulary.networks import is_main

ELSEWHERE = "https://node.example/rpc"
FUNDER = Secret(env="FUNDER")
MAIN_BASE = "eip155:8453"


def with_base(**members: object) -> Profile:
    return Profile(chains=Chains.model_validate({"base": BaseChain.model_validate({"rpc": ELSEWHERE, **members})}))


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://[::1]:1/", "http://localhost:8545", "ws://a.localhost"])
def test_nodes_on_this_machine(url: str) -> None:
    """Loopback addresses are here, whatever network their ids are of."""
    assert is_local(url)


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1", "https://mainnet.base.org", "http://127.0.0.1.example", "", "http://localhost.example"]
)
def test_nodes_elsewhere(url: str) -> None:
    """Anything else is not, also when it looks alike."""
    assert not is_local(url)


def test_networks_by_their_keys() -> None:
    """A key that does not say that it is a test network is a main network's (P-NW-02)."""
    assert [
        is_main(key)
        for key in ("base_mainnet", "base_sepolia", "algorand_testnet", "solana_devnet", "algorand_localnet")
    ] == [
        True,
        False,
        False,
        False,
        False,
    ]
    assert is_main("base")


@pytest.mark.parametrize(
    "chains",
    [
        Chains.model_validate({"algorand": AlgorandChain(algod=ELSEWHERE)}),
        Chains.model_validate({"base": BaseChain(rpc=ELSEWHERE)}),
        Chains.model_validate({"solana": SolanaChain(rpc=ELSEWHERE)}),
    ],
)
def test_a_main_network_elsewhere_needs_its_own_word(chains: Chains) -> None:
    """A profile that claims a main network for a node elsewhere is refused without `--main-network`."""
    profile = Profile(chains=chains)
    with pytest.raises(ProfileError, match="--main-network"):
        guard_profile(profile, main_network=False)
    assert guard_profile(profile, main_network=True) is profile


def test_a_main_network_for_a_payer_needs_it_too() -> None:
    """The nodes of `[payer.chains]` spend the same money."""
    profile = Profile(payer=PayerProgram(chains=Chains.model_validate({"base": BaseChain(rpc=ELSEWHERE)})))
    with pytest.raises(ProfileError, match=r"payer\.chains\.base"):
        guard_profile(profile, main_network=False)


def test_local_nodes_and_test_networks_need_no_word() -> None:
    """Local nodes bear main networks' ids, and test networks cost nothing."""
    local = Profile(
        chains=Chains.model_validate(
            {"base": BaseChain(rpc="http://127.0.0.1:8545", control="http://127.0.0.1:8545/c")}
        )
    )
    test = with_base(network="base_sepolia")
    assert guard_profile(local, main_network=False) is local
    assert guard_profile(test, main_network=False) is test


@pytest.mark.parametrize("rpc", [ELSEWHERE, "http://127.0.0.1:8545"])
def test_an_operators_money_needs_a_limit(rpc: str) -> None:
    """A funder goes with a spending limit, wherever the node is: a forwarded port makes any node local."""
    with pytest.raises(ProfileError, match="spending_limit"):
        guard_profile(with_base(network="base_sepolia", rpc=rpc, funder=FUNDER), main_network=False)
    limited_profile = with_base(network="base_sepolia", funder=FUNDER, spending_limit="5000000")
    assert guard_profile(limited_profile, main_network=False) is limited_profile


@pytest.mark.parametrize("text", ["-1", "1.5", "01", "1e6", "", "9" * 20])
def test_a_limit_is_a_number_of_atomic_units(text: str) -> None:
    """Anything but decimal digits is a fault of the profile that names the key."""
    profile = f'[chains.base]\nrpc = "{ELSEWHERE}"\nspending_limit = "{text}"\n'
    with pytest.raises(ProfileError, match=r"chains\.base\.spending_limit"):
        parse(profile)


LOOPBACK = "http://127.0.0.1:8545"
OWN = {"funder": FUNDER, "spending_limit": "1"}
CONTROL_MEMBERS = {"control": f"{LOOPBACK}/control"}
MAIN_FIRST = "0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd"
PRIVATE_FIRST = "0x" + "ab" * 32


def base(**members: object) -> BaseChain:
    return BaseChain.model_validate({"rpc": LOOPBACK, **members})


@pytest.mark.parametrize("main_network", [False, True])
@pytest.mark.parametrize("rpc", [ELSEWHERE, LOOPBACK])
@pytest.mark.parametrize("caip2", [MAIN_BASE, "eip155:4217"])
def test_a_node_that_is_not_what_the_profile_claims_is_not_paid_on(caip2: str, rpc: str, main_network: bool) -> None:
    """A main network's node behind a test network's key is refused wherever it is, and no word allows it."""
    with pytest.raises(Inconclusive, match="nothing is paid there"):
        admit("t", base(network="base_sepolia", rpc=rpc, **OWN), NodeNetwork(caip2), main_network=main_network)


MAIN: dict[str, tuple[Chain, NodeNetwork]] = {
    "algorand": (
        AlgorandChain.model_validate({"algod": LOOPBACK, **OWN}),
        NodeNetwork("algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k"),
    ),
    "voi": (
        AlgorandChain.model_validate({"algod": LOOPBACK, **OWN}),
        NodeNetwork("algorand:r20fSQI8gWe_kFZziNonSPCXLwcQmH_n"),
    ),
    "base": (base(**OWN), NodeNetwork(MAIN_BASE)),
    "base, its first block unlike": (base(**OWN), NodeNetwork(MAIN_BASE, PRIVATE_FIRST)),
    "an unknown chain": (base(**OWN), NodeNetwork("eip155:1")),
    "solana": (
        SolanaChain.model_validate({"rpc": LOOPBACK, **OWN}),
        NodeNetwork("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"),
    ),
}


@pytest.mark.parametrize(("chain", "network"), MAIN.values(), ids=MAIN.keys())
def test_a_main_network_on_this_machine_needs_its_own_word(chain: Chain, network: NodeNetwork) -> None:
    """What the node serves counts, not where it is: a forwarded port is on this machine, too."""
    with pytest.raises(Inconclusive, match="--main-network"):
        admit("t", chain, network, main_network=False)
    admit("t", chain, network, main_network=True)


@pytest.mark.parametrize("main_network", [False, True])
def test_control_verbs_are_no_pass_for_a_main_network(main_network: bool) -> None:
    """Their operator gives real money away, so nothing is asked of them there."""
    algorand = AlgorandChain(algod=LOOPBACK, control=LOOPBACK)
    refused_chains: list[tuple[Chain, NodeNetwork]] = [
        (base(**CONTROL_MEMBERS), NodeNetwork(MAIN_BASE, MAIN_FIRST)),
        (base(**CONTROL_MEMBERS), NodeNetwork(MAIN_BASE)),
        (base(**CONTROL_MEMBERS, **OWN), NodeNetwork(MAIN_BASE, MAIN_FIRST)),
        (base(**CONTROL_MEMBERS), NodeNetwork("eip155:1", PRIVATE_FIRST)),
        (algorand, MAIN["algorand"][1]),
    ]
    for chain, network in refused_chains:
        with pytest.raises(Inconclusive, match="instead of control"):
            admit("t", chain, network, main_network=main_network)


def test_simulators_are_told_by_their_first_block_and_genesis() -> None:
    """They bear a main network's chain id and cost nothing, as long as no key of the operator's signs."""
    play: list[tuple[Chain, NodeNetwork]] = [
        (base(**CONTROL_MEMBERS), NodeNetwork(MAIN_BASE, PRIVATE_FIRST)),
        (base(network="base_sepolia", **CONTROL_MEMBERS), NodeNetwork(MAIN_BASE, PRIVATE_FIRST)),
        (base(network="base_sepolia", **OWN), NodeNetwork("eip155:84532")),
        (base(**OWN), NodeNetwork("eip155:31337")),
        (AlgorandChain.model_validate({"algod": LOOPBACK, **OWN}), NodeNetwork("algorand:" + "x" * 32)),
        (SolanaChain(rpc=LOOPBACK, control=LOOPBACK), NodeNetwork("solana:" + "x" * 32)),
    ]
    for chain, network in play:
        admit("t", chain, network, main_network=False)


def test_the_usdc_of_an_account_is_of_the_network_that_the_node_serves() -> None:
    """On a private network it is that of the profile's own; a claim that the node gives the lie is refused."""
    assert usdc_of("t", base(), NodeNetwork(MAIN_BASE)).key == "base_mainnet"
    assert usdc_of("t", base(network="base_sepolia"), NodeNetwork("eip155:31337")).key == "base_sepolia"
    refused_chains = [(base(), "eip155:84532"), (base(), "eip155:1"), (base(network="base_x"), "eip155:31337")]
    for chain, caip2 in refused_chains:
        with pytest.raises(Inconclusive, match="nothing is paid"):
            usdc_of("t", chain, NodeNetwork(caip2))


def test_a_private_network_has_the_usdc_of_the_profile() -> None:
    """Its node created that asset, which no table lists; on a public network the same claim is refused."""
    chain = AlgorandChain(algod="http://127.0.0.1:4001", network="algorand_localnet", asset="1001")
    network = usdc_of("t", chain, NodeNetwork("algorand:0123456789abcdefghijklmnopqrstuv"))
    assert (network.key, network.asset_id, network.decimals, network.is_test) == ("algorand_localnet", "1001", 6, True)
    for public in (FACTS["algorand"].main.caip2, FACTS["algorand"].test.caip2):
        with pytest.raises(Inconclusive, match="nothing is paid"):
            usdc_of("t", chain, NodeNetwork(public))


def test_a_network_that_is_not_a_main_one_is_named_so() -> None:
    """What `pay` shows before a payment says that the money is worth nothing."""
    assert with_worth("algorand_localnet") == "algorand_localnet (not a main network)"
    assert with_worth("base_sepolia") == "base_sepolia (not a main network)"
    assert with_worth("algorand_mainnet") == "algorand_mainnet"
