"""USDC on the simulated chain: our own EIP-3009 token's real code, planted at the asset's real address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import orjson
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from sim.base.vm import BlockContext, Message, Vm

DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Token:
    """The asset of one chain: where it is, and the EIP-712 domain it signs under (P-NW-03)."""

    address: str
    name: str
    symbol: str = "USDC"
    version: str = "2"


NETWORK_TOKENS: Mapping[int, Token] = {
    8453: Token("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin"),
    84532: Token("0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC"),
}


def artefact() -> dict[str, Any]:
    """Return the compiled token: `abi`, `bytecode`, `deployedBytecode`, `storageLayout`."""
    content: dict[str, Any] = orjson.loads(files("sim.base").joinpath("contracts/FiatToken.json").read_bytes())
    return content


def call_data(signature: str, *arguments: Any) -> bytes:
    """Return the call data of a function named as in its ABI, such as `mint(address,uint256)`."""
    types = signature[signature.index("(") + 1 : -1].split(",")
    return bytes(keccak(signature.encode())[:4] + encode(types, arguments))


def genesis_operations(token: Token, minter: str, wei: int) -> Iterator[Any]:
    """Yield what the genesis does to the state: the minter's wei, the token's code, its initialisation."""
    code = bytes.fromhex(artefact()["deployedBytecode"].removeprefix("0x"))
    names = (token.name, token.symbol, token.version, DECIMALS, minter)
    initialise = call_data("initialize(string,string,string,uint8,address)", *names)

    def fund(vm: Vm) -> None:
        vm.set_balance(minter, wei)

    def plant(vm: Vm) -> None:
        vm.set_code(token.address, code)

    def start(vm: Vm) -> None:
        outcome = vm.execute(Message(minter, token.address, initialise), BlockContext(0, 0))
        if not outcome.ok:
            raise ValueError(f"the token refused its initialisation: {outcome.output!r}")

    yield from (fund, plant, start)
