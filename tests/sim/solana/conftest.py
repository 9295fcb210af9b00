"""A simulated Solana in this process, whose slots close only when a test says so, and one as a child process."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pytest
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import (
    CreateLookupTableParams,
    ExtendLookupTableParams,
    TransferParams,
    create_lookup_table,
    extend_lookup_table,
    transfer,
)
from solders.transaction import VersionedTransaction
from spl.token.instructions import create_idempotent_associated_token_account, transfer_checked
from spl.token.models import TransferCheckedParams

from sim import json_rpc
from sim.clock import BlockClock
from sim.solana import control
from sim.solana.chain import Chain
from sim.solana.rpc import Rpc
from sim.solana.token_accounts import TOKEN, associated_address
from tests import prepared

START = 1_800_000_000


class Bench:
    """A chain with what a client does to it."""

    def __init__(self, window: int = 150) -> None:
        self.system_time = START
        self.chain = Chain(BlockClock(lambda: self.system_time), window=window)
        self.usdc = self.chain.mints[0]
        self._rpc = Rpc(self.chain)

    def body(self, request: bytes) -> Any:
        """Return what a request body is answered."""
        return orjson.loads(asyncio.run(json_rpc.answer(request, self._rpc.call)))

    def ask(self, method: str, *params: Any) -> Any:
        """Return the whole answer of a call."""
        return self.body(orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))

    def call(self, method: str, *params: Any) -> Any:
        """Return a call's result."""
        answer = self.ask(method, *params)
        assert "error" not in answer, answer
        return answer["result"]

    def call_refused(self, method: str, *params: Any) -> Any:
        """Return a call's error."""
        return self.ask(method, *params)["error"]

    def control(self, verb: str, **members: Any) -> dict[str, Any]:
        """Carry out a control verb that must do."""
        status, body = asyncio.run(control.carry_out(self.chain, {"verb": verb, **members}))
        assert (status, body["ok"]) == (200, True), body
        return body

    def control_refused(self, request: Any) -> str:
        """Return why a control call is not carried out."""
        status, body = asyncio.run(control.carry_out(self.chain, request))
        assert (status, body["ok"]) == (400, False)
        return str(body["error"])

    def slots(self, count: int) -> None:
        """Let slots pass."""
        for _ in range(count):
            self.chain.seal()

    def fund_account(self, *, lamports: int = 10**9, usdc: int = 10**6) -> Keypair:
        """Return an account with lamports and USDC, final."""
        key = Keypair()
        self.control("fund", address=str(key.pubkey()), amount=str(lamports))
        if usdc:
            self.control("mint", address=str(key.pubkey()), amount=str(usdc))
        self.slots(33)
        return key

    def sign(
        self,
        instructions: Sequence[Instruction],
        *signers: Keypair,
        blockhash: Hash | None = None,
        legacy: bool = True,
        tables: Sequence[AddressLookupTableAccount] = (),
    ) -> VersionedTransaction:
        """Return a transaction of the newest final blockhash, or of another; one with tables is of version 0."""
        recent = blockhash or Hash.from_string(self.call("getLatestBlockhash")["value"]["blockhash"])
        payer = signers[0].pubkey()
        if legacy and not tables:
            return VersionedTransaction(Message.new_with_blockhash(instructions, payer, recent), list(signers))
        return VersionedTransaction(MessageV0.try_compile(payer, instructions, tables, recent), list(signers))

    def payment(
        self, payer: Keypair, payee: Pubkey, amount: int, *references: Pubkey, **sign: Any
    ) -> VersionedTransaction:
        """Return a USDC payment that makes the payee's account and names references after the owner."""
        return self.sign(self.payment_steps(payer, payee, amount, *references), payer, **sign)

    def payment_steps(self, payer: Keypair, payee: Pubkey, amount: int, *references: Pubkey) -> list[Instruction]:
        """Return the instructions of a USDC payment."""
        move = TransferCheckedParams(
            program_id=TOKEN,
            source=associated_address(payer.pubkey(), self.usdc),
            mint=self.usdc,
            dest=associated_address(payee, self.usdc),
            owner=payer.pubkey(),
            amount=amount,
            decimals=6,
            signers=[],
        )
        transfer_step = transfer_checked(move)
        references_named = [AccountMeta(one, is_signer=False, is_writable=False) for one in references]
        transfer_step = Instruction(
            transfer_step.program_id, transfer_step.data, [*transfer_step.accounts, *references_named]
        )
        creation_step = create_idempotent_associated_token_account(payer.pubkey(), payee, self.usdc, TOKEN)
        return [creation_step, transfer_step]

    def lamports(self, payer: Keypair, receiver: Pubkey, amount: int, **sign: Any) -> VersionedTransaction:
        """Return a payment of lamports."""
        transfer_step = transfer(TransferParams(from_pubkey=payer.pubkey(), to_pubkey=receiver, lamports=amount))
        return self.sign([transfer_step], payer, **sign)

    def lookup_table(self, payer: Keypair, addresses: Sequence[Pubkey], slots: int = 2) -> AddressLookupTableAccount:
        """Return an address lookup table that was filled `slots` ago; a transaction can use it in a later slot."""
        key, slot = payer.pubkey(), self.chain.head.number - 1
        creation_step, at = create_lookup_table(
            CreateLookupTableParams(authority_address=key, payer_address=key, recent_slot=slot)
        )
        extension_step = extend_lookup_table(
            ExtendLookupTableParams(
                lookup_table_address=at, authority_address=key, payer_address=key, new_addresses=list(addresses)
            )
        )
        self.send(self.sign([creation_step, extension_step], payer), preflightCommitment="processed")
        self.slots(slots)
        return AddressLookupTableAccount(at, list(addresses))

    def send(self, transaction: VersionedTransaction, **options: Any) -> str:
        """Send a transaction that the node takes."""
        return str(self.call("sendTransaction", wire(transaction), {"encoding": "base64", **options}))

    def send_refused(self, transaction: VersionedTransaction, **options: Any) -> Any:
        """Send a transaction that the node refuses and return the error."""
        return self.call_refused("sendTransaction", wire(transaction), {"encoding": "base64", **options})

    def wire(self, transaction: VersionedTransaction) -> str:
        """Return a transaction in base64."""
        return wire(transaction)

    def simulate(self, transaction: VersionedTransaction, **options: Any) -> Any:
        """Return what a simulation says."""
        return self.call("simulateTransaction", wire(transaction), {"encoding": "base64", **options})["value"]

    def status(self, signature: str) -> Any:
        """Return a signature's status, None when it is unknown."""
        return self.call("getSignatureStatuses", [signature], {"searchTransactionHistory": True})["value"][0]

    def balance(self, key: Pubkey, commitment: str = "processed") -> int:
        """Return lamports."""
        return int(self.call("getBalance", str(key), {"commitment": commitment})["value"])

    def usdc_balance(self, owner: Pubkey, commitment: str = "processed") -> int | None:
        """Return USDC, None without a token account."""
        answer = self.ask(
            "getTokenAccountBalance", str(associated_address(owner, self.usdc)), {"commitment": commitment}
        )
        return int(answer["result"]["value"]["amount"]) if "result" in answer else None

    def total_fees(self) -> int:
        """Return the fees of everything that has landed."""
        return sum(one.outcome.fee for one in self.chain.ledger.entries())


def wire(transaction: VersionedTransaction) -> str:
    return base64.b64encode(bytes(transaction)).decode()


def spoil_signature(transaction: VersionedTransaction) -> VersionedTransaction:
    """Return a transaction with an invalid signature."""
    return VersionedTransaction.populate(transaction.message, [Signature.from_bytes(bytes([7]) * 64)])


@pytest.fixture(name="bench")
def _bench() -> Bench:
    return Bench()


@pytest.fixture(scope="module", name="node")
def _node() -> Iterator[dict[str, Any]]:
    """The ready line of a running simulator with slots of 5 ms."""
    with prepared.run_ready("sim.solana", "--port", "0", "--ws-port", "0", "--slot-seconds", "0.005") as ready:
        yield ready
