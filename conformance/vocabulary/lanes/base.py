"""Plain facts of the Base lane."""

from __future__ import annotations

from typing import Final

from conformance.vocabulary.lanes.facts import LaneFacts, NodeOption
from conformance.vocabulary.network import Network

_MAIN_USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
_TEST_USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
_DRAFT = """\
# [chains.base]
# network = "base_mainnet"
# rpc = "http://127.0.0.1:8545"
# control = "http://127.0.0.1:8545/control"     # simulated chains only
# funder = { env = "BASE_PAYER_KEY" }           # elsewhere: hex key of an account that holds ETH and USDC
# spending_limit = "5000000"                    # with a funder
"""
# Other EVM chains are lanes of their own, so it does not take its namespace.
FACTS: Final = LaneFacts(
    name="base",
    family="base",
    extra="base",
    main=Network("base_mainnet", "Base", "eip155:8453", "eip155:8453", _MAIN_USDC),
    test=Network("base_sepolia", "Base Sepolia", "eip155:84532", "eip155:84532", _TEST_USDC),
    memo_ways=("eip3009", "calldata"),
    options=(
        NodeOption("--base-rpc", "rpc", "Address of the Base node the target uses."),
        NodeOption("--base-control", "control", "Its control address, on simulated chains."),
        NodeOption(
            "--base-funder-env",
            "funder",
            "Environment variable with the hex key of an account that pays on Base.",
            "funder",
        ),
    ),
    payer="--base-rpc ADDRESS --base-funder-env VARIABLE",
    ports={"Base": 8545, "Base Sepolia": 8546},
    draft=_DRAFT,
    payments=93,
    no_transaction=None,
    has_stock_form=True,
    first_block="0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd",
    development=frozenset({"eip155:1337", "eip155:31337"}),  # Ganache and geth, Hardhat and Anvil
)
