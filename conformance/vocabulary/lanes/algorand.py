"""Plain facts of the Algorand lane."""

from __future__ import annotations

from typing import Final

from conformance.vocabulary.lanes.facts import LaneFacts, NodeOption
from conformance.vocabulary.network import Network

_MAIN = "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k"
_TEST = "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe"
_DRAFT = """\
# [chains.algorand]
# network = "algorand_mainnet"
# algod = "http://127.0.0.1:4001"
# indexer = "http://127.0.0.1:8980"
# token = { env = "ALGOD_TOKEN" }
# control = "http://127.0.0.1:4001/control"     # simulated chains only: funds the payer by itself
# funder = { env = "PAYER_MNEMONIC" }           # elsewhere: an account that holds Algos and USDC
# spending_limit = "5000000"                    # with a funder: atomic units of USDC a whole run may take, on all lanes
"""
FACTS: Final = LaneFacts(
    name="algorand",
    family="algorand",
    extra="algorand",
    main=Network("algorand_mainnet", "Algorand", "algorand:mainnet", _MAIN, "31566704"),
    test=Network("algorand_testnet", "Algorand TestNet", "algorand:testnet", _TEST, "10458941"),
    memo_ways=("note",),
    options=(
        NodeOption("--algod", "algod", "Address of the algod node the target uses."),
        NodeOption("--indexer", "indexer", "Address of its indexer."),
        NodeOption("--algod-token-file", "token", "File with the algod token.", "file"),
        NodeOption("--control", "control", "Control address of the Algorand node, on simulated chains."),
        NodeOption(
            "--funder-env",
            "funder",
            "Environment variable with the mnemonic of an account that pays on Algorand.",
            "funder",
        ),
    ),
    payer="--algod ADDRESS --indexer ADDRESS --funder-env VARIABLE",
    ports={"algod": 4001, "indexer": 8980},
    draft=_DRAFT,
    payments=100,
    no_transaction="A" * 52,
    takes_namespace=True,
    further_main=frozenset({"algorand:r20fSQI8gWe_kFZziNonSPCXLwcQmH_n"}),  # Voi
)
