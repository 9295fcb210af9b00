"""Plain facts of the Solana lane."""

from __future__ import annotations

from typing import Final

from conformance.vocabulary.lanes.facts import LaneFacts, NodeOption
from conformance.vocabulary.network import Network

_MAIN = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
_TEST = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
_DRAFT = """\
# [chains.solana]
# network = "solana_mainnet"
# rpc = "http://127.0.0.1:8899"
# ws = "ws://127.0.0.1:8900"
# control = "http://127.0.0.1:8899/control"     # simulated chains only
# funder = { file = "payer.json" }              # elsewhere: key pair of an account that holds SOL and USDC
# spending_limit = "5000000"                    # with a funder
"""
FACTS: Final = LaneFacts(
    name="solana",
    family="solana",
    extra="solana",
    main=Network("solana_mainnet", "Solana", _MAIN, _MAIN, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"),
    test=Network("solana_devnet", "Solana Devnet", _TEST, _TEST, "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"),
    memo_ways=("memo",),
    options=(
        NodeOption("--solana-rpc", "rpc", "Address of the Solana node the target uses."),
        NodeOption("--solana-ws", "ws", "Address of its WebSocket."),
        NodeOption("--solana-control", "control", "Its control address, on simulated chains."),
        NodeOption(
            "--solana-funder-env",
            "funder",
            "Environment variable with the key pair of an account that pays on Solana.",
            "funder",
        ),
    ),
    payer="--solana-rpc ADDRESS --solana-ws ADDRESS --solana-funder-env VARIABLE",
    ports={"Solana": 8899, "Solana WebSocket": 8900},
    draft=_DRAFT,
    payments=116,
    no_transaction="1" * 88,
    takes_namespace=True,
)
