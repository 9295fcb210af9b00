"""A simulated Base of a world: payers sign authorizations, and the rail sends what they authorized."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Mapping
from functools import partial
from typing import Any

from coincurve import PrivateKey
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from conformance.lanes.base.authorization import Authorization, Domain, cancellation, nonce_of
from sim.base.app import build_app
from sim.base.chain import BASE_FEE, Chain
from sim.base.rpc import Rpc
from sim.base.token import call_data
from sim.base.transactions import address_of, decode, sign
from sim.base.vm import Vm
from sim.clock import BlockClock
from sim.faulty import Faulty
from sim.node_app import RpcFirst
from tests.simulation.chains import WALLETS, Bought, encode_proof
from tests.simulation.machines import EPOCH
from tests.simulation.wire import NodeHost, NodeNetwork

SETTLER_KEY = hashlib.sha256(b"settler").digest()
_PLENTY, _WEI = 10**14, 10**22
CONFIRMATIONS = 3
_BLOCK_SECONDS = 2
_BLOCKS_AT_ONCE = 4  # more than are needed for a transaction to be final
_GAS = 200_000
_USE = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
_CANCEL = "cancelAuthorization(address,bytes32,bytes)"
_USED = "0x" + keccak(b"AuthorizationUsed(address,bytes32)").hex()


class Base:
    """One chain with wallets. A payment is named by its authorization's nonce, which is the token's hash.

    Attributes:
        undoes: How many of the next blocks that hold something are undone before they are final.
    """

    network = "base_mainnet"
    hosts = ("base",)

    def __init__(self, nodes: NodeNetwork, chance: random.Random) -> None:
        loop = asyncio.get_running_loop()
        self._chance = chance
        self.ledger = Chain(8453, BlockClock(lambda: EPOCH + loop.time()))
        self._keys = [hashlib.sha256(f"wallet {n}".encode()).digest() for n in range(WALLETS)]
        self._stranger = PrivateKey(hashlib.sha256(b"stranger").digest())
        token = self.ledger.token
        self._domain = Domain(token.name, token.version, self.ledger.id, token.address)
        self.undoes = 0
        self._signed: dict[str, Authorization] = {}
        for key in self._keys:
            self._call_as_bank(call_data("mint(address,uint256)", _address(key), _PLENTY))
        for address in (_address(SETTLER_KEY), address_of(self._stranger.public_key)):
            self.ledger.operate(partial(_enrich, address))
        self.ledger.seal()
        app = RpcFirst(build_app(self.ledger), Rpc(self.ledger).call)
        nodes.hosts["base"] = NodeHost(Faulty(app, self.ledger.faults), refresh=self._refresh)

    def _call_as_bank(self, data: bytes) -> None:
        chain = self.ledger
        self._send(chain.bank, data)
        chain.seal()

    def _send(self, key: PrivateKey, data: bytes) -> None:
        chain = self.ledger
        sender = address_of(key.public_key)
        raw = sign(
            key,
            chain_id=chain.id,
            nonce=chain.pending_nonce(sender),
            max_fee=chain.base_fee * 4,
            max_tip=1,
            gas=_GAS,
            to=chain.token.address,
            data=data,
        )
        chain.pool.add(decode(raw))

    def _refresh(self) -> None:
        """Make the blocks since the last call; a few show as much as all."""
        elapsed_seconds = self.ledger.clock.now() - self.ledger.head.time
        for _ in range(min(_BLOCKS_AT_ONCE, elapsed_seconds // _BLOCK_SECONDS)):
            if self.ledger.seal().mined and self.undoes:
                self.undoes -= 1
                asyncio.get_running_loop().call_later(self._chance.uniform(0, 3), self._undo, self.ledger.head.number)
                break  # others are on top of it when it is undone only if they came meanwhile

    def payee(self, number: int) -> str:
        """Return an address of the operator's."""
        return _address(hashlib.sha256(f"payee {number}".encode()).digest())

    def has(self, tx_id: str) -> bool:
        """Return whether an authorization has moved its money, in the chain as it is now."""
        return any(
            log.log.topics[0] == _USED and log.log.topics[2] == tx_id
            for log in self.ledger.logs(0, self.ledger.head.number)
        )

    def is_sent_by_rail(self, tx_id: str) -> bool:
        """Return whether it was the rail that moved an authorization's money, and not a stranger."""
        rail = _address(SETTLER_KEY)
        return any(
            log.log.topics[0] == _USED and log.log.topics[2] == tx_id and log.mined.signed.sender == rail
            for log in self.ledger.logs(0, self.ledger.head.number)
        )

    async def buy(self, wallet: int, entry: Mapping[str, Any], *, less: int = 0) -> Bought:
        """Sign what an entry asks for; nothing is sent."""
        key, token = self._keys[wallet], str(entry["extra"]["payment_reference"])
        now = int(self.ledger.clock.now())
        until = now + int(entry["maxTimeoutSeconds"]) + self._chance.choice((0, 3600, 10**9))
        payee, amount = to_checksum_address(entry["payTo"]), int(entry["amount"]) - less
        authorization = Authorization(
            _address(key), payee, amount, 0, until, nonce_of(token), self._domain, token
        ).sign(key)
        nonce = "0x" + authorization.nonce.hex()
        self._signed[nonce] = authorization
        return Bought(nonce, asyncio.get_running_loop().time(), encode_proof(authorization.proof()))

    @property
    def is_dear(self) -> bool:
        """Whether gas costs more than usual."""
        return self.ledger.base_fee != BASE_FEE

    def set_fee(self, factor: int) -> None:
        """Let a unit of gas cost so many times the usual."""
        self.ledger.base_fee = factor * BASE_FEE

    def _undo(self, number: int) -> None:
        """Undo a block, unless it is final by now."""
        depth = self.ledger.head.number - number + 1
        if depth < CONFIRMATIONS:
            self.ledger.reorganise(depth)

    # What else may happen to an authorization.

    def overtake(self, chance: random.Random) -> None:
        """Let a stranger use a recently signed authorization, from another account."""
        late_offer = self._one_of_late(chance)
        if late_offer is not None:
            terms = (
                late_offer.sender,
                late_offer.to,
                late_offer.value,
                late_offer.valid_after,
                late_offer.valid_before,
                late_offer.nonce,
            )
            self._send(self._stranger, call_data(_USE, *terms, late_offer.signature))

    def cancel(self, chance: random.Random) -> None:
        """Let a payer take back what he signed lately, unless it was used."""
        late_offer = self._one_of_late(chance)
        if late_offer is not None:
            key = next(key for key in self._keys if _address(key) == late_offer.sender)
            signature = cancellation(self._domain, late_offer.sender, late_offer.nonce, key)
            self._send(self._stranger, call_data(_CANCEL, late_offer.sender, late_offer.nonce, signature))

    def _one_of_late(self, chance: random.Random) -> Authorization | None:
        late = list(self._signed.values())[-4:]
        return chance.choice(late) if late else None


def _enrich(address: str, vm: Vm) -> None:
    vm.set_balance(address, _WEI)


def _address(key: bytes) -> str:
    return address_of(PrivateKey(key).public_key)
