"""The chains of a world: the simulators' own ledgers, on the world's clock, and wallets that pay on them.

Blocks come when there is something to put into them, a few seconds after it was sent.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from nacl.signing import SigningKey
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from spl.memo.constants import MEMO_PROGRAM_ID
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.instructions import get_associated_token_address, transfer_checked
from spl.token.models import TransferCheckedParams

from sim.algorand.algod import build_algod
from sim.algorand.chain import Chain as AlgorandLedger
from sim.algorand.chain import Genesis
from sim.algorand.encoding import encode_address, pack
from sim.algorand.indexer import build_indexer
from sim.algorand.state import Holding
from sim.algorand.stateless_checks import Signed
from sim.clock import BlockClock
from sim.faulty import Faulty
from sim.node_app import RpcFirst
from sim.solana import faucet as solana_bank
from sim.solana.app import build_app
from sim.solana.chain import Chain as SolanaLedger
from sim.solana.rpc import Rpc
from sim.solana.token_accounts import USDC_MINTS
from tests.simulation.machines import EPOCH
from tests.simulation.wire import NodeHost, NodeNetwork

WALLETS = 8
_PLENTY = 10**14
_BLOCK_SECONDS = 4


@dataclass(frozen=True, slots=True)
class Paid:
    """What a wallet did.

    Attributes:
        tx_id: The transaction.
        at: When its block came, in virtual seconds, or when it was sent.
    """

    tx_id: str
    at: float


@dataclass(frozen=True, slots=True)
class Bought:
    """What a wallet can present.

    Attributes:
        tx_id: What names the payment: the transaction, or what the payer's authorization is known by.
        at: When it was made, in virtual seconds.
        proof: The value of the header that presents it.
    """

    tx_id: str
    at: float
    proof: str


class PayingChain(Protocol):
    """One chain with wallets on it."""

    @property
    def network(self) -> str:
        """Its network key."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of its nodes, the indexer last."""

    def payee(self, number: int) -> str:
        """Return the address of an operator's account."""

    def has(self, tx_id: str) -> bool:
        """Return whether a transaction is in a block of this chain, as it is now."""

    async def buy(self, wallet: int, entry: Mapping[str, Any], *, less: int = 0) -> Bought:
        """Pay what an entry of `accepts` asks for, or so many atomic units less."""


class SendingChain(PayingChain, Protocol):
    """A chain on which the payer sends."""

    async def pay(self, wallet: int, pay_to: str, amount: int, *, note: str, reference: str = "") -> Paid:
        """Send USDC, welded by note or reference, and return once it is in a block."""


def encode_proof(proof: Mapping[str, Any]) -> str:
    """Return the header value that presents a proof."""
    return base64.b64encode(json.dumps(proof).encode()).decode()


def mined_proof(tx_id: str, token: str) -> str:
    """Return the header value that presents a payment that its payer sent."""
    return encode_proof({"tx_id": tx_id, "payment_reference": token})


async def _bought(chain: SendingChain, wallet: int, entry: Mapping[str, Any], less: int) -> Bought:
    extra = entry["extra"]
    token = extra["payment_reference"]
    tx_id = await chain.pay(
        wallet,
        entry["payTo"],
        int(entry["amount"]) - less,
        note="" if "svm_reference_pubkey" in extra else token,
        reference=extra.get("svm_reference_pubkey", ""),
    )
    return Bought(tx_id.tx_id, tx_id.at, mined_proof(tx_id.tx_id, token))


class Algorand:
    """A simulated Algorand."""

    network = "algorand_mainnet"
    hosts = ("algod", "indexer")

    def __init__(self, nodes: NodeNetwork, chance: random.Random) -> None:
        loop = asyncio.get_running_loop()
        self._chance = chance
        self.ledger = AlgorandLedger(Genesis(), BlockClock(lambda: EPOCH + loop.time()))
        self._due: asyncio.Task[None] | None = None
        self._asset = self.ledger.genesis.assets[0]
        self._keys = [SigningKey(hashlib.sha256(f"wallet {n}".encode()).digest()) for n in range(WALLETS)]
        for key in self._keys:
            self._endow(bytes(key.verify_key), _PLENTY)
        for number in range(3):
            self._endow(_account(number), 0)
        for host, app in (("algod", build_algod(self.ledger, "")), ("indexer", build_indexer(self.ledger, ""))):
            faulty = Faulty(app, self.ledger.faults)
            nodes.hosts[host] = NodeHost(faulty, refresh=self._refresh, state=self._state)
        self.ledger.seal()

    def _state(self) -> tuple[int, int]:
        return len(self.ledger.blocks), len(self.ledger._pool)

    def _refresh(self) -> None:
        """Make the blocks since the last call; one of them shows as much as all."""
        waits = self._due is not None and not self._due.done()
        if not waits and self.ledger.clock.now() - self.ledger.blocks[-1].time > _BLOCK_SECONDS:
            self.ledger.seal()

    def _endow(self, key: bytes, usdc: int) -> None:
        state = self.ledger.state
        bank = bytes(self.ledger.bank.verify_key)
        self.ledger.opt_in(key, self._asset)
        rich = state.account(key)
        giver = state.account(bank)
        remainder = giver.assets[self._asset].amount - usdc
        state.put(bank, giver.with_holding(self._asset, Holding(remainder)))
        grown = rich.with_holding(self._asset, Holding(usdc))
        state.put(key, type(grown)(grown.algos + 10**12, grown.assets, grown.created, grown.auth))

    def payee(self, number: int) -> str:
        """Return an address of the operator's."""
        return encode_address(_account(number))

    def has(self, tx_id: str) -> bool:
        """Return whether a block holds a transaction."""
        return tx_id in self.ledger.index

    async def buy(self, wallet: int, entry: Mapping[str, Any], *, less: int = 0) -> Bought:
        """Send what an entry asks for."""
        return await _bought(self, wallet, entry, less)

    async def pay(self, wallet: int, pay_to: str, amount: int, *, note: str, reference: str = "") -> Paid:
        """Send USDC with a note."""
        del reference
        key = self._keys[wallet]
        ledger = self.ledger
        transaction: dict[str, Any] = {
            "type": "axfer",
            "xaid": self._asset,
            "aamt": amount,
            "arcv": _decode_address(pay_to),
            "snd": bytes(key.verify_key),
            "fee": 1000,
            "fv": ledger.round,
            "lv": ledger.round + 1000,
            "gen": ledger.genesis.id,
            "gh": ledger.genesis.hash,
            "note": note.encode(),
        }
        signed_transaction = Signed.of({"sig": key.sign(b"TX" + pack(transaction)).signature, "txn": transaction})
        tx_id = ledger.submit([signed_transaction])
        await self._next_block()
        return Paid(tx_id, asyncio.get_running_loop().time())

    async def _next_block(self) -> None:
        if self._due is None or self._due.done():
            self._due = asyncio.create_task(self._seal())
        await asyncio.shield(self._due)

    async def _seal(self) -> None:
        await asyncio.sleep(self._chance.uniform(1, 4))
        self.ledger.seal()


def _account(number: int) -> bytes:
    return bytes(SigningKey(hashlib.sha256(f"payee {number}".encode()).digest()).verify_key)


def _decode_address(address: str) -> bytes:
    from sim.algorand.encoding import decode_address

    return decode_address(address)


class Solana:
    """A simulated Solana.

    Attributes:
        undoes: How many of the next payments are undone before they are final.
    """

    network = "solana_mainnet"
    hosts = ("solana",)

    def __init__(self, nodes: NodeNetwork, chance: random.Random) -> None:
        loop = asyncio.get_running_loop()
        self._chance = chance
        self.ledger = SolanaLedger(BlockClock(lambda: EPOCH + loop.time()), USDC_MINTS, window=300)
        self._mint = self.ledger.mints[0]
        self._keys = [Keypair.from_seed(hashlib.sha256(f"wallet {n}".encode()).digest()) for n in range(WALLETS)]
        for key in self._keys:
            solana_bank.fund(self.ledger, key.pubkey(), 10**12)
            solana_bank.mint(self.ledger, key.pubkey(), self._mint, _PLENTY // 10)
        for number in range(3):
            solana_bank.mint(self.ledger, Pubkey.from_string(self.payee(number)), self._mint, 0)
        self._refreshed = self.ledger.clock.now()
        self.undoes = 0
        nodes.hosts["solana"] = NodeHost(
            Faulty(RpcFirst(build_app(self.ledger), Rpc(self.ledger).call), self.ledger.faults), refresh=self._refresh
        )

    def payee(self, number: int) -> str:
        """Return an address of the operator's."""
        return str(Keypair.from_seed(hashlib.sha256(f"payee {number}".encode()).digest()).pubkey())

    def has(self, tx_id: str) -> bool:
        """Return whether a slot holds a transaction."""
        return self.ledger.ledger.get(tx_id) is not None

    async def buy(self, wallet: int, entry: Mapping[str, Any], *, less: int = 0) -> Bought:
        """Send what an entry asks for."""
        return await _bought(self, wallet, entry, less)

    async def pay(self, wallet: int, pay_to: str, amount: int, *, note: str, reference: str = "") -> Paid:
        """Send USDC with a reference account, and a memo where `note` is one."""
        key, ledger = self._keys[wallet], self.ledger
        plain = transfer_checked(
            TransferCheckedParams(
                program_id=TOKEN_PROGRAM_ID,
                source=get_associated_token_address(key.pubkey(), self._mint),
                mint=self._mint,
                dest=get_associated_token_address(Pubkey.from_string(pay_to), self._mint),
                owner=key.pubkey(),
                amount=amount,
                decimals=6,
            )
        )
        named = list(plain.accounts)
        references = [Pubkey.from_string(one) for one in reference.split(",") if one]
        named += [AccountMeta(one, is_signer=False, is_writable=False) for one in references]
        orders = [Instruction(plain.program_id, bytes(plain.data), named)]
        orders += [Instruction(MEMO_PROGRAM_ID, memo.encode(), []) for memo in note.split("\n") if memo]
        ledger.seal()
        message = Message.new_with_blockhash(orders, key.pubkey(), Hash.from_string(str(ledger.head.hash)))
        transaction = VersionedTransaction(message, [key])
        ledger.submit(transaction)
        await asyncio.sleep(self._chance.uniform(0.4, 2))
        ledger.seal()
        loop = asyncio.get_running_loop()
        if self.undoes:
            self.undoes -= 1
            loop.call_later(self._chance.uniform(0, 5), self.ledger.reorganise, self._chance.randrange(2, 5))
        loop.call_later(self._chance.uniform(1, 14), self._finalise)
        return Paid(str(transaction.signatures[0]), loop.time())

    def _refresh(self) -> None:
        """Make slots for the time since the last call, enough for the newest final one to be of the present."""
        if self.ledger.clock.now() - self._refreshed > 2 * _BLOCK_SECONDS:
            self._finalise()

    def _finalise(self) -> None:
        self._refreshed = self.ledger.clock.now()
        for _ in range(34):
            self.ledger.seal()
