"""What an onlooker sees of a simulated chain, and new payers on it, with the public SDKs alone."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any, Protocol

from algosdk import account
from algosdk.v2client.algod import AlgodClient
from eth_account import Account
from eth_account.signers.local import LocalAccount
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from spl.token.instructions import get_associated_token_address
from web3 import Web3

from tests.algorand_signing import opt_in

FUNDED_AMOUNT = 1_000_000
BALANCE_OF = {
    "type": "function",
    "name": "balanceOf",
    "stateMutability": "view",
    "inputs": [{"name": "account", "type": "address"}],
    "outputs": [{"name": "", "type": "uint256"}],
}


class Side(Protocol):
    """One chain of a stack."""

    network: str
    payee: str

    @property
    def environment(self) -> dict[str, str]:
        """Where a client finds the chain."""

    def new_payer(self, key_file: Path) -> str:
        """Write the key of a fresh account with a dollar, and return its address."""

    def dollars(self, address: str) -> int:
        """Return what an address holds, in atomic units of USDC."""


def post_json(url: str, document: object) -> Any:
    """Return what a JSON POST is answered."""
    request = urllib.request.Request(url, json.dumps(document).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


class BaseSide:
    """The simulated Base through web3.py."""

    network = "eip155:8453"
    usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

    def __init__(self, stack: dict[str, str]) -> None:
        self.url, self.payee = stack["base"], stack["payto_base"]
        self.w3 = Web3(Web3.HTTPProvider(self.url))
        self._token = self.w3.eth.contract(Web3.to_checksum_address(self.usdc), abi=[BALANCE_OF])

    @property
    def environment(self) -> dict[str, str]:
        """The node's URL."""
        return {"RPC_URL": self.url}

    def control(self, verb: str, **members: object) -> None:
        """Carry out a control verb."""
        assert post_json(f"{self.url}/control", {"verb": verb, **members})["ok"]

    def new_account(self) -> LocalAccount:
        """Return a fresh account with a dollar."""
        fresh: LocalAccount = Account.create()
        self.control("mint", address=fresh.address, amount=str(FUNDED_AMOUNT))
        return fresh

    def new_payer(self, key_file: Path) -> str:
        """Write a hex key."""
        fresh = self.new_account()
        key_file.write_text(f"{fresh.key.hex()}\n", "ascii")
        return str(fresh.address)

    def dollars(self, address: str) -> int:
        """Ask the token contract."""
        return int(self._token.functions.balanceOf(Web3.to_checksum_address(address)).call())


class SolanaSide:
    """The simulated Solana through its JSON-RPC."""

    network = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
    usdc = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"

    def __init__(self, stack: dict[str, str]) -> None:
        self.url, self.ws, self.payee = stack["solana"], stack["solana_ws"], stack["payto_solana"]

    @property
    def environment(self) -> dict[str, str]:
        """The node's URLs."""
        return {"RPC_URL": self.url, "WS_URL": self.ws}

    def new_payer(self, key_file: Path) -> str:
        """Write a key as solana-keygen does; the account gets coin for fees too."""
        fresh = Keypair()
        key_file.write_text(fresh.to_json(), "ascii")
        for verb, amount in (("fund", 1_000_000_000), ("mint", FUNDED_AMOUNT)):
            verb_members = {"verb": verb, "address": str(fresh.pubkey()), "amount": str(amount)}
            assert post_json(f"{self.url}/control", verb_members)["ok"]
        return str(fresh.pubkey())

    def dollars(self, address: str) -> int:
        """Ask for the associated token account."""
        token_account = get_associated_token_address(Pubkey.from_string(address), Pubkey.from_string(self.usdc))
        parameters = [str(token_account), {"commitment": "confirmed"}]
        call = {"jsonrpc": "2.0", "id": 1, "method": "getTokenAccountBalance", "params": parameters}
        return int(post_json(self.url, call)["result"]["value"]["amount"])


class AlgorandSide:
    """The simulated Algorand through py-algorand-sdk."""

    network = "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k"
    usdc = 31566704

    def __init__(self, stack: dict[str, str]) -> None:
        self.url, self.payee = stack["algod"], stack["payto_algorand"]
        self.token = Path(stack["algod_token_file"]).read_text("ascii").strip()
        self.algod = AlgodClient(self.token, self.url)

    @property
    def environment(self) -> dict[str, str]:
        """The node's URL and token."""
        return {"ALGOD_URL": self.url, "ALGOD_TOKEN": self.token}

    def control(self, verb: str, **members: object) -> None:
        """Carry out a control verb."""
        assert post_json(f"{self.url}/control", {"verb": verb, **members})["ok"]

    def new_payer(self, key_file: Path) -> str:
        """Write a key in base64, seed and public key; the account gets coin for fees too."""
        key, address = account.generate_account()
        key_file.write_text(key, "ascii")
        self.control("fund", address=address, amount="10000000")
        opt_in(self.algod, key, self.usdc)
        self.control("mint", address=address, amount=str(FUNDED_AMOUNT))
        return str(address)

    def dollars(self, address: str) -> int:
        """Ask for the holding."""
        asset_info: Any = self.algod.account_asset_info(address, self.usdc)
        return int(asset_info["asset-holding"]["amount"])
