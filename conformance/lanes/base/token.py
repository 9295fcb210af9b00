"""Calls of an EIP-3009 token, and the contracts of the suite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from eth_utils.address import is_address, to_checksum_address
from eth_utils.crypto import keccak
from web3 import Web3

from conformance.lanes.base.authorization import Authorization
from conformance.lanes.base.node import BaseNode, to_checksum


def _types(type_list: str) -> list[str]:
    return [one for one in type_list.split(",") if one]


def _function(name: str, inputs: str, outputs: str = "", *, view: bool = False) -> dict[str, Any]:
    return {
        "type": "function",
        "name": name,
        "stateMutability": "view" if view else "nonpayable",
        "inputs": [{"name": f"_{place}", "type": type_} for place, type_ in enumerate(_types(inputs))],
        "outputs": [{"name": "", "type": type_} for type_ in _types(outputs)],
    }


_AUTHORIZATION_TYPES = "address,address,uint256,uint256,uint256,bytes32"
# The two overloads of FiatToken's transferWithAuthorization: v, r and s as three arguments, or the signature as
# bytes.
SPLIT, WHOLE = ",uint8,bytes32,bytes32", ",bytes"
ABI = (
    _function("name", "", "string", view=True),
    _function("version", "", "string", view=True),
    _function("decimals", "", "uint8", view=True),
    _function("balanceOf", "address", "uint256", view=True),
    _function("authorizationState", "address,bytes32", "bool", view=True),
    _function("transfer", "address,uint256", "bool"),
    _function("transferFrom", "address,address,uint256", "bool"),
    _function("approve", "address,uint256", "bool"),
    _function("cancelAuthorization", "address,bytes32,bytes"),
    *(_function("transferWithAuthorization", _AUTHORIZATION_TYPES + signature) for signature in (SPLIT, WHOLE)),
)

_USED = "0x" + keccak(text="AuthorizationUsed(address,bytes32)").hex()


class Token:
    """One token at one address; the methods `…_call` return call data for a transaction to it."""

    def __init__(self, node: BaseNode, address: str) -> None:
        self.address = to_checksum(address)
        self._node = node
        self._contract = node.web3.eth.contract(address=to_checksum_address(self.address), abi=ABI)

    async def balance(self, address: str) -> int:
        """Return the balance of an address, in atomic units."""
        return int(await self._node.ask(self._contract.functions.balanceOf(to_checksum(address)).call()))

    async def decimals(self) -> int:
        """Return the token's decimals."""
        return int(await self._node.ask(self._contract.functions.decimals().call()))

    async def names(self) -> tuple[str, str]:
        """Return the contract's name and version, as its EIP-712 domain has them."""
        name, version = self._contract.functions.name(), self._contract.functions.version()
        return str(await self._node.ask(name.call())), str(await self._node.ask(version.call()))

    async def is_used(self, authorizer: str, nonce: bytes) -> bool:
        """Return whether an authorization is used or cancelled."""
        called = self._contract.functions.authorizationState(to_checksum(authorizer), nonce)
        return bool(await self._node.ask(called.call()))

    async def used_in(self, authorizer: str, nonce: bytes, first_block: int) -> str | None:
        """Return the transaction that used an authorization in a block from `first_block` on, or None."""
        topics = [_USED, "0x" + to_checksum(authorizer)[2:].lower().rjust(64, "0"), "0x" + nonce.hex()]
        sought = {"address": self.address, "fromBlock": hex(first_block), "toBlock": "latest", "topics": topics}
        logs = await self._node.ask(self._node.web3.eth.get_logs(sought))  # type: ignore[arg-type]
        return "0x" + bytes(logs[0]["transactionHash"]).hex() if logs else None

    def call(self, signature: str, *arguments: Any) -> bytes:
        """Return the call data of a function of `ABI`, named with its types."""
        spelled = [to_checksum(one) if isinstance(one, str) and is_address(one) else one for one in arguments]
        return bytes.fromhex(str(self._contract.encode_abi(signature, args=spelled)).removeprefix("0x"))

    def transfer_call(self, to: str, amount: int) -> bytes:
        """Return call data of a plain transfer."""
        return self.call("transfer(address,uint256)", to_checksum(to), amount)

    def use_call(self, authorization: Authorization, *, overload: str = SPLIT) -> bytes:
        """Return call data that uses an authorization, by one of the two overloads."""
        terms = tuple(authorization.message.values())
        signature_bytes = authorization.signature
        signature: tuple[Any, ...] = (
            (signature_bytes,)
            if overload == WHOLE
            else (signature_bytes[64], signature_bytes[:32], signature_bytes[32:64])
        )
        return self.call(f"transferWithAuthorization({_AUTHORIZATION_TYPES}{overload})", *terms, *signature)

    def cancel_call(self, authorizer: str, nonce: bytes, signature: bytes) -> bytes:
        """Return call data that cancels an authorization."""
        return self.call("cancelAuthorization(address,bytes32,bytes)", authorizer, nonce, signature)


def load_artefact(name: str) -> dict[str, Any]:
    """Return a compiled contract of the suite: `abi`, `bytecode`."""
    document: dict[str, Any] = json.loads(
        files("conformance.lanes.base").joinpath(f"contracts/{name}.json").read_bytes()
    )
    return document


def encode_creation(name: str, arguments: Sequence[Any] = ()) -> bytes:
    """Return the data of a transaction that deploys a contract of the suite."""
    contract_file = load_artefact(name)
    contract = Web3().eth.contract(abi=contract_file["abi"], bytecode=contract_file["bytecode"])
    return bytes.fromhex(str(contract.constructor(*arguments).data_in_transaction).removeprefix("0x"))


def encode_own_call(name: str, function: str, *arguments: Any) -> bytes:
    """Return call data for a function of a contract of the suite."""
    contract = Web3().eth.contract(abi=load_artefact(name)["abi"])
    return bytes.fromhex(str(contract.encode_abi(function, args=list(arguments))).removeprefix("0x"))
