"""Our dollar token and Circle's FiatToken 2.2, each alone on an EVM, at the same address, with the same calls."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eth_abi.abi import decode, encode
from eth_account import Account
from eth_account.datastructures import SignedMessage
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from localnet.npm import node_modules
from sim.base.token import NETWORK_TOKENS, genesis_operations
from sim.base.vm import BlockContext, Message, Outcome, Vm

NOW = 1_767_225_600
CHAIN = 8453
TOKEN = NETWORK_TOKENS[CHAIN]
OPERATOR, OWNER = "0x" + "0A" * 20, "0x" + "0F" * 20
ADMIN = "0x" + "Ad" * 20
MOST = 2**256 - 1
MEMBERS = ("from", "to", "value", "validAfter", "validBefore", "nonce")
TYPES = ("address", "address", "uint256", "uint256", "uint256", "bytes32")
ARTIFACTS = Path("@offchainlabs", "stablecoin-evm", "artifacts", "hardhat", "contracts")

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
PAYER, OTHER_PAYER = (Account.from_key(bytes([one]) * 32) for one in (0x11, 0x22))
PAYEE, STRANGER = (to_checksum_address(bytes([one]) * 20) for one in (0x0C, 0x0B))
NOBODY = "0x" + "00" * 20
ARGUMENTS = {
    "transferWithAuthorization": ",".join(TYPES),
    "receiveWithAuthorization": ",".join(TYPES),
    "cancelAuthorization": "address,bytes32",
}
KINDS = {
    "transferWithAuthorization": "TransferWithAuthorization",
    "receiveWithAuthorization": "ReceiveWithAuthorization",
    "cancelAuthorization": "CancelAuthorization",
}


@functools.cache
def deployed_artefact(path: str) -> dict[str, Any]:
    """Return one compiled contract of Circle's package, such as `v2/FiatTokenV2_2`."""
    folder = node_modules(Path(__file__).with_name("circle")) / ARTIFACTS
    name = path.rsplit("/", 1)[-1]
    artefact: dict[str, Any] = json.loads((folder / f"{path}.sol" / f"{name}.json").read_text("utf-8"))
    return artefact


def selector(signature: str) -> bytes:
    return bytes(keccak(signature.encode())[:4])


def data_of(signature: str, *arguments: Any) -> bytes:
    """Return call data; the argument types are those of the signature, arrays included."""
    inner = signature[signature.index("(") + 1 : -1]
    return selector(signature) + encode(inner.split(",") if inner else [], arguments)


def tell(vm: Vm, sender: str, to: str | None, data: bytes, *, time: int = NOW) -> Outcome:
    return vm.execute(Message(sender, to, data), BlockContext(1, time))


def must(outcome: Outcome) -> Outcome:
    assert outcome.ok, outcome
    return outcome


def our_token() -> Vm:
    """Return an EVM with the simulators' token, one operator for every office."""
    vm = Vm(CHAIN)
    for operation in genesis_operations(TOKEN, OPERATOR, 0):
        operation(vm)
    return vm


def deployed_token() -> Vm:
    """Return an EVM with Circle's proxy and implementation, the same operator for every office."""
    vm = Vm(CHAIN)
    checker = bytes.fromhex(deployed_artefact("util/SignatureChecker")["bytecode"][2:])
    library_address = must(vm.execute(Message(OWNER, None, checker, nonce=0), BlockContext(0, 0))).created
    assert library_address is not None
    code = _link_library(deployed_artefact("v2/FiatTokenV2_2"), library_address)
    implementation = must(vm.execute(Message(OWNER, None, code, nonce=1), BlockContext(0, 0))).created
    assert implementation is not None
    proxy = bytes.fromhex(deployed_artefact("v1/FiatTokenProxy")["deployedBytecode"][2:])
    vm.set_code(TOKEN.address, proxy)
    for slot, value in (("implementation", implementation), ("admin", ADMIN)):
        place = int.from_bytes(keccak(f"org.zeppelinos.proxy.{slot}".encode()), "big")
        vm.set_storage(TOKEN.address, place, int(value, 16))
    names = (TOKEN.name, TOKEN.symbol, "USD", 6, *[OPERATOR] * 3, OWNER)
    steps = [
        data_of("initialize(string,string,string,uint8,address,address,address,address)", *names),
        data_of("initializeV2(string)", TOKEN.name),
        data_of("initializeV2_1(address)", OWNER),
        data_of("initializeV2_2(address[],string)", [], TOKEN.symbol),
        data_of("configureMinter(address,uint256)", OPERATOR, MOST),
    ]
    for step in steps:
        must(tell(vm, OPERATOR, TOKEN.address, step))
    return vm


def _link_library(artefact: dict[str, Any], library: str) -> bytes:
    code = artefact["bytecode"][2:]
    for libraries in artefact["linkReferences"].values():
        for places in libraries.values():
            for place in places:
                start, size = 2 * place["start"], 2 * place["length"]
                code = code[:start] + library[2:].lower() + code[start + size :]
    return bytes.fromhex(code)


def read_outcome(outcome: Outcome) -> Any:
    """Return what a call gave: of a reason its text and whole length, otherwise the bytes.

    A reason's last word is filled up with zeros by our compiler; Circle's older one leaves in it what was in memory,
    which no reader of the reason ever sees.
    """
    if outcome.ok or outcome.output[:4] != selector("Error(string)"):
        return outcome.output
    return decode(["string"], outcome.output[4:], strict=False)[0], len(outcome.output)


@dataclass
class Pair:
    """Both tokens; each action is applied to both, and the results are compared.

    Attributes:
        ours: The EVM of our token.
        theirs: The EVM of Circle's.
        time: Unix seconds of the block that calls are made in.
        padded: Whether a reason of Circle's came with other bytes than zeros behind it.
    """

    ours: Vm
    theirs: Vm
    time: int = NOW
    has_padding: bool = False

    @classmethod
    def make(cls) -> Pair:
        """Return both, fresh."""
        return cls(our_token(), deployed_token())

    def call_each(self, act: Callable[[Vm], Any]) -> tuple[Any, Any]:
        """Return what an act gives on each."""
        return act(self.ours), act(self.theirs)

    def call(self, sender: str, signature: str, *arguments: Any) -> Outcome:
        """Do a call on both, require that they agree in everything but gas, and return our outcome."""
        data = data_of(signature, *arguments)
        ours, theirs = self.call_each(lambda vm: tell(vm, sender, TOKEN.address, data, time=self.time))
        difference_text = f"{signature} {arguments} by {sender}: Circle's says {theirs}, ours says {ours}"
        self.has_padding |= read_outcome(ours) == read_outcome(theirs) and ours.output != theirs.output
        assert (theirs.ok, theirs.halt, read_outcome(theirs)) == (ours.ok, ours.halt, read_outcome(ours)), (
            difference_text
        )
        assert theirs.logs == ours.logs, difference_text
        return ours  # type: ignore[no-any-return]

    def sign_terms(self, key: LocalAccount, kind: str, **changes: Any) -> tuple[list[Any], Any]:
        """Return the terms of an authorization and its signature."""
        terms: dict[str, Any] = {"from": key.address, "to": OWNER, "value": 5, "validAfter": NOW - 1}
        terms |= {"validBefore": NOW + 1, "nonce": bytes(32), **changes}
        domain = {"name": TOKEN.name, "version": "2", "chainId": CHAIN, "verifyingContract": TOKEN.address}
        fields = list(zip(MEMBERS, TYPES, strict=True))
        if kind == "CancelAuthorization":
            terms = {"authorizer": terms["from"], "nonce": terms["nonce"]}
            fields = [("authorizer", "address"), ("nonce", "bytes32")]
        types = {kind: [{"name": name, "type": type_} for name, type_ in fields]}
        return list(terms.values()), Account.sign_typed_data(key.key, domain, types, terms)


def reason(outcome: Any) -> str:
    """Return the text of a refusal."""
    assert not outcome.ok
    assert outcome.output[:4].hex() == "08c379a0", outcome
    return str(decode(["string"], outcome.output[4:])[0])


def split(signature: Any) -> tuple[Any, ...]:
    return signature.v, signature.r.to_bytes(32, "big"), signature.s.to_bytes(32, "big")


def join_signature(v: int, r: bytes, s: bytes) -> bytes:
    return r + s + bytes([v])


def use(pair: Pair, name: str, terms: list[Any], signature: Any, *, whole: bool, sender: str = STRANGER) -> Any:
    """Present an authorization by one of its overloads."""
    parts = split(signature) if isinstance(signature, SignedMessage) else signature
    if whole:
        return pair.call(sender, f"{name}({ARGUMENTS[name]},bytes)", *terms, join_signature(*parts))
    return pair.call(sender, f"{name}({ARGUMENTS[name]},uint8,bytes32,bytes32)", *terms, *parts)


def agree_on_state(pair: Pair) -> None:
    """Require the same balances, supply, allowances, lists and used nonces."""
    people = (PAYER.address, OTHER_PAYER.address, PAYEE, STRANGER, OPERATOR, OWNER, NOBODY)
    for account in people:
        pair.call(STRANGER, "balanceOf(address)", account)
        pair.call(STRANGER, "isBlacklisted(address)", account)
        pair.call(STRANGER, "allowance(address,address)", PAYER.address, account)
    for payer in (PAYER.address, OTHER_PAYER.address):
        for nonce in range(3):
            pair.call(STRANGER, "authorizationState(address,bytes32)", payer, bytes([nonce]) * 32)
    for signature in ("totalSupply()", "paused()"):
        pair.call(STRANGER, signature)


def list_damaged_signatures(signature: Any) -> dict[str, tuple[tuple[Any, ...], str]]:
    """Return invalid signatures, each with the token's words for it."""
    v, r, s = split(signature)
    twin = (ORDER - signature.s).to_bytes(32, "big")
    high, bad = "ECRecover: invalid signature 's' value", "ECRecover: invalid signature 'v' value"
    return {
        "twin": ((55 - v, r, twin), high),
        "other parity": ((55 - v, r, s), "FiatTokenV2: invalid signature"),
        "v 0": ((0, r, s), bad),
        "v 1": ((1, r, s), bad),
        "v 26": ((26, r, s), bad),
        "v 29": ((29, r, s), bad),
        "v 255": ((255, r, s), bad),
        "no r": ((v, bytes(32), s), "ECRecover: invalid signature"),
        "no s": ((v, r, bytes(32)), "ECRecover: invalid signature"),
        "r is the order": ((v, ORDER.to_bytes(32, "big"), s), "ECRecover: invalid signature"),
        "s of ones": ((v, r, b"\xff" * 32), high),
        "r changed": ((v, bytes([r[0] ^ 1]) + r[1:], s), ""),
    }
