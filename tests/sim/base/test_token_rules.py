"""The simulated dollar token keeps the rules of the deployed one, with its words for each refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from eth_abi.abi import decode
from eth_account import Account
from eth_utils.crypto import keccak

from sim.base.token import NETWORK_TOKENS, Token, call_data, genesis_operations
from sim.base.vm import BlockContext, Message, Outcome, Vm

NOW = 1_767_225_600
OPERATOR = "0x" + "0a" * 20
STRANGER = "0x" + "0b" * 20
PAYEE = "0x" + "0c" * 20
PAYER = Account.from_key(b"\x11" * 32)
MEMBERS = ("from", "to", "value", "validAfter", "validBefore", "nonce")
TYPES = ("address", "address", "uint256", "uint256", "uint256", "bytes32")
SPLIT = f"({','.join(TYPES)},uint8,bytes32,bytes32)"
WHOLE = f"({','.join(TYPES)},bytes)"


@dataclass
class Chain:
    vm: Vm
    token: Token
    id: int
    time: int = NOW

    def call(self, sender: str, signature: str, *arguments: Any) -> Outcome:
        plain = signature.endswith("()")
        data = bytes(keccak(signature.encode())[:4]) if plain else call_data(signature, *arguments)
        message = Message(sender, self.token.address, data)
        return self.vm.execute(message, BlockContext(1, self.time))

    def read(self, kind: str, signature: str, *arguments: Any) -> Any:
        return decode([kind], self.call(STRANGER, signature, *arguments).output)[0]

    def refusal(self, sender: str, signature: str, *arguments: Any) -> str:
        outcome = self.call(sender, signature, *arguments)
        assert not outcome.ok
        return str(decode(["string"], outcome.output[4:])[0])

    def sign_authorization(self, kind: str = "TransferWithAuthorization", **changes: Any) -> tuple[list[Any], Any]:
        terms = {"from": PAYER.address, "to": PAYEE, "value": 5, "validAfter": NOW - 1, "validBefore": NOW + 1}
        terms = {**terms, "nonce": b"\x01" * 32, **changes}
        domain = {"name": self.token.name, "version": "2", "chainId": self.id, "verifyingContract": self.token.address}
        types = {kind: [{"name": name, "type": type_} for name, type_ in zip(MEMBERS, TYPES, strict=True)]}
        return list(terms.values()), Account.sign_typed_data(PAYER.key, domain, types, terms)


@pytest.fixture(params=sorted(NETWORK_TOKENS))
def chain(request: pytest.FixtureRequest) -> Chain:
    """A chain with the token, and a payer who holds ten units."""
    token_chain = Chain(Vm(request.param), NETWORK_TOKENS[request.param], request.param)
    for operation in genesis_operations(token_chain.token, OPERATOR, 10**18):
        operation(token_chain.vm)
    assert token_chain.call(OPERATOR, "mint(address,uint256)", PAYER.address, 10).ok
    return token_chain


def split(signature: Any) -> tuple[Any, ...]:
    return signature.v, signature.r.to_bytes(32, "big"), signature.s.to_bytes(32, "big")


def test_it_is_initialised_once_under_its_own_domain(chain: Chain) -> None:
    """Name, version, chain id and address make the domain; on the main network it is the published one."""
    separators = {8453: "02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"}
    separator = chain.read("bytes32", "DOMAIN_SEPARATOR()")
    assert separator.hex() == separators.get(chain.id, separator.hex())
    assert chain.read("string", "name()") == chain.token.name
    again = chain.refusal(OPERATOR, "initialize(string,string,string,uint8,address)", "a", "b", "c", 6, OPERATOR)
    assert again == "FiatToken: contract is already initialized"


@pytest.mark.parametrize("overload", [SPLIT, WHOLE])
def test_an_authorization_moves_money_once_and_tells_of_its_use_first(chain: Chain, overload: str) -> None:
    """AuthorizationUsed is the log directly before Transfer; the nonce is used up."""
    terms, signature = chain.sign_authorization()
    proof = split(signature) if overload == SPLIT else (bytes(signature.signature),)
    used = chain.call(STRANGER, f"transferWithAuthorization{overload}", *terms, *proof)
    topics = [log.topics[0] for log in used.logs]
    assert topics == [
        "0x" + keccak(b"AuthorizationUsed(address,bytes32)").hex(),
        "0x" + keccak(b"Transfer(address,address,uint256)").hex(),
    ]
    assert chain.read("uint256", "balanceOf(address)", PAYEE) == 5
    assert chain.read("bool", "authorizationState(address,bytes32)", PAYER.address, b"\x01" * 32) is True
    again = chain.refusal(STRANGER, f"transferWithAuthorization{overload}", *terms, *proof)
    assert again == "FiatTokenV2: authorization is used or canceled"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"validAfter": NOW}, "FiatTokenV2: authorization is not yet valid"),
        ({"validBefore": NOW}, "FiatTokenV2: authorization is expired"),
        ({"value": 11}, "ERC20: transfer amount exceeds balance"),
        ({"to": "0x" + "00" * 20}, "ERC20: transfer to the zero address"),
    ],
)
def test_the_window_is_strict_and_the_balance_counts(chain: Chain, changes: dict[str, Any], words: str) -> None:
    """A bound that equals the block's time is outside."""
    terms, signature = chain.sign_authorization(**changes)
    assert chain.refusal(STRANGER, f"transferWithAuthorization{SPLIT}", *terms, *split(signature)) == words


def test_only_the_payee_receives_with_authorization(chain: Chain) -> None:
    """The other kind of message is taken from the payee alone, and no transfer's signature fits it."""
    terms, signature = chain.sign_authorization("ReceiveWithAuthorization")
    receive = f"receiveWithAuthorization{SPLIT}"
    assert chain.refusal(STRANGER, receive, *terms, *split(signature)) == "FiatTokenV2: caller must be the payee"
    _, other_signature = chain.sign_authorization()
    assert chain.refusal(PAYEE, receive, *terms, *split(other_signature)) == "FiatTokenV2: invalid signature"
    assert chain.call(PAYEE, receive, *terms, *split(signature)).ok


def test_pause_and_black_list_stop_money(chain: Chain) -> None:
    """Both stop every way of moving money, in the deployed token's words, and both are the operator's alone."""
    terms, signature = chain.sign_authorization()
    use = f"transferWithAuthorization{SPLIT}"
    assert chain.refusal(STRANGER, "pause()") == "Pausable: caller is not the pauser"
    assert chain.call(OPERATOR, "pause()").ok
    assert chain.refusal(STRANGER, use, *terms, *split(signature)) == "Pausable: paused"
    assert chain.refusal(PAYER.address, "transfer(address,uint256)", PAYEE, 1) == "Pausable: paused"
    assert chain.call(OPERATOR, "unpause()").ok
    for address in (PAYER.address, PAYEE):
        assert chain.call(OPERATOR, "blacklist(address)", address).ok
        assert chain.refusal(STRANGER, use, *terms, *split(signature)) == "Blacklistable: account is blacklisted"
        assert chain.call(OPERATOR, "unBlacklist(address)", address).ok
    assert chain.call(STRANGER, use, *terms, *split(signature)).ok


def test_minting_is_the_operators_and_supply_is_the_sum_of_balances(chain: Chain) -> None:
    """No other account mints; plain transfers and allowances move no more than the balance."""
    refusal = chain.refusal(STRANGER, "mint(address,uint256)", STRANGER, 1)
    assert refusal == "FiatToken: caller is not a minter"
    assert chain.call(PAYER.address, "approve(address,uint256)", STRANGER, 3).ok
    pull = "transferFrom(address,address,uint256)"
    assert chain.refusal(STRANGER, pull, PAYER.address, PAYEE, 4) == "ERC20: transfer amount exceeds allowance"
    assert chain.call(STRANGER, pull, PAYER.address, PAYEE, 3).ok
    assert chain.refusal(PAYER.address, "transfer(address,uint256)", PAYEE, 8) == (
        "ERC20: transfer amount exceeds balance"
    )
    balances = [chain.read("uint256", "balanceOf(address)", one) for one in (PAYER.address, PAYEE)]
    assert balances == [7, 3]
    assert chain.read("uint256", "totalSupply()") == 10
