"""Solana RPC node: unmodified solana-py, with every fault of the node as `Inconclusive`."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from solana.exceptions import SolanaExceptionBase
from solana.rpc.commitment import Confirmed
from solana.rpc.core import RPCException
from solana.rpc.models import TxOpts
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.errors import SerdeJSONError
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction
from solders.transaction_status import TransactionConfirmationStatus, TransactionStatus

from conformance.http.client import Names
from conformance.lanes.main_network_guard import NodeNetwork
from conformance.lanes.node_control import NodeControl
from conformance.lanes.solana.bounded_client import bounded_client
from conformance.lanes.solana.refusals import Refused, UnknownBlockhash, make_refusal, shorten_error
from conformance.outcome import Inconclusive
from conformance.target import Budgets
from conformance.target.lanes.solana import SolanaChain

T = TypeVar("T")
_SHORT = 300
# A CAIP-2 name contains this many letters of the genesis hash.
_CAIP2 = 32
# How long questions for statuses are collected, and the pause between two blockhashes.
_GATHER_SECONDS = 0.05
# The RPC interface answers for at most 256 signatures in one request.
_MOST_STATUSES = 256
_SOON_SECONDS, _LATER_SECONDS = 2.0, 0.5
# Pauses before a transaction is submitted again. They grow, since a node may be behind its neighbours.
_SUBMIT_AGAIN_SECONDS = (0.1, 0.5, 1.0, 2.0)
_RANK = {
    str(level): rank
    for rank, level in enumerate(
        (
            TransactionConfirmationStatus.Processed,
            TransactionConfirmationStatus.Confirmed,
            TransactionConfirmationStatus.Finalized,
        )
    )
}
CONFIRMED, FINALIZED = TransactionConfirmationStatus.Confirmed, TransactionConfirmationStatus.Finalized
# The exceptions that the SDK lets through if an answer is not JSON, not an object, or lacks members.
_STRANGE = (
    SolanaExceptionBase,
    SerdeJSONError,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)


@dataclass(frozen=True, slots=True, repr=False)
class Account:
    """An account of the suite; its text does not contain its key."""

    keypair: Keypair = field(repr=False)

    @property
    def key(self) -> Pubkey:
        """Its public key."""
        return self.keypair.pubkey()

    @property
    def address(self) -> str:
        """Its address in base58."""
        return str(self.key)


class SolanaNode:
    """Client of one node: queries and submissions; every fault other than a refusal is `Inconclusive`."""

    def __init__(self, chain: SolanaChain, budgets: Budgets, names: Names) -> None:
        self._budgets = budgets
        self._names = names
        self.client = bounded_client(chain.rpc, budgets.request)
        self.control = NodeControl(chain.control, "Solana", budgets.request)
        # The last block height at which each transaction may still get into a block.
        self._last_heights: dict[Signature, int] = {}
        self._pending_signatures: set[Signature] = set()
        self._answer: asyncio.Task[dict[Signature, TransactionStatus | None]] | None = None
        self._asking: set[asyncio.Task[dict[Signature, TransactionStatus | None]]] = set()

    async def close(self) -> None:
        """Cancel open questions, and close connections."""
        for question in self._asking:
            question.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        await self.client.close()
        await self.control.close()

    def account(self, keypair: Keypair | None = None) -> Account:
        """Return the account of a key pair, or a new account; the key is redacted in all logs."""
        account = Account(keypair or Keypair())
        for text in (str(account.keypair), account.keypair.to_json(), bytes(account.keypair.secret()).hex()):
            self._names.key(text, "PAYER_KEY", is_given=keypair is not None)
        return account

    # Asking.

    async def ask(self, question: Awaitable[T]) -> T:
        """Return an answer of the node.

        Raises:
            Inconclusive: The node could not be asked, or answered with an error.
        """
        async with self._translate_faults():
            try:
                return await question
            except RPCException as fault:
                raise Inconclusive(f"the Solana node answered with an error: {shorten_error(fault)}") from fault

    @asynccontextmanager
    async def _translate_faults(self) -> AsyncIterator[None]:
        """Turn every exception of the SDK about an answer into `Inconclusive`."""
        try:
            async with asyncio.timeout(self._budgets.request):
                yield
        except TimeoutError as fault:
            raise Inconclusive(f"the Solana node gave no answer within {self._budgets.request:g} s") from fault
        except _STRANGE as fault:
            raise Inconclusive(f"the Solana node could not be asked: {fault}"[:_SHORT]) from fault
        except BaseException as fault:
            # solders panics on an error object without `data`. A panic is a BaseException that no module exports, so
            # it is recognised by its name.
            if type(fault).__name__ != "PanicException":
                raise
            raise Inconclusive(f"the Solana node's answer broke its parser: {fault}"[:_SHORT]) from fault

    async def read_network(self) -> NodeNetwork:
        """Return the network of the node, by its genesis hash."""
        genesis = str((await self.ask(self.client.get_genesis_hash())).value)
        return NodeNetwork(f"solana:{genesis[:_CAIP2]}")

    async def slot(self) -> int:
        """Return the newest confirmed slot."""
        return (await self.ask(self.client.get_slot(Confirmed))).value

    async def block_time(self) -> int:
        """Return the time of the newest confirmed block in unix seconds."""
        time = (await self.ask(self.client.get_block_time(await self.slot()))).value
        if time is None:
            raise Inconclusive("the Solana node returned no time of its newest block")
        return time

    async def next_block_time(self) -> int:
        """Return the time of the newest confirmed block: the next one is not older."""
        return await self.block_time()

    async def data(self, key: Pubkey) -> bytes | None:
        """Return the data of an account, None if there is no such account."""
        value = (await self.ask(self.client.get_account_info(key, commitment=Confirmed))).value
        return None if value is None else bytes(value.data)

    async def lamports(self, key: Pubkey) -> int:
        """Return an account's balance of the native coin, in lamports."""
        return (await self.ask(self.client.get_balance(key, Confirmed))).value

    async def rent(self, size: int) -> int:
        """Return the lamports that an account of `size` bytes must hold."""
        return (await self.ask(self.client.get_minimum_balance_for_rent_exemption(size))).value

    # Submitting.

    async def sign(
        self,
        instructions: Sequence[Instruction],
        payer: Account,
        signers: Sequence[Account] = (),
        *,
        tables: Sequence[AddressLookupTableAccount] = (),
        legacy: bool = False,
    ) -> VersionedTransaction:
        """Return a signed transaction with a new signature, not sent to the node.

        Args:
            instructions: Its instructions, in order.
            payer: The account that pays the fee and signs first.
            signers: Further accounts that sign.
            tables: Address tables whose addresses it may take; none for a legacy transaction.
            legacy: Whether it is a legacy transaction, without a version.
        """
        return await self._sign_uniquely(
            lambda recent: _transaction(instructions, payer, signers, tables, recent, legacy=legacy)
        )

    async def sign_again(self, message: MessageV0, payer: Account) -> VersionedTransaction:
        """Return the transaction of a message with the newest blockhash, signed by the paying account only."""

        def build(recent: Hash) -> VersionedTransaction:
            parts = (message.header, message.account_keys, recent, message.instructions, message.address_table_lookups)
            return VersionedTransaction(MessageV0(*parts), [payer.keypair])

        return await self._sign_uniquely(build)

    async def _sign_uniquely(self, build: Callable[[Hash], VersionedTransaction]) -> VersionedTransaction:
        try:
            async with asyncio.timeout(self._budgets.confirmation):
                while True:
                    recent = (await self.ask(self.client.get_latest_blockhash(Confirmed))).value
                    transaction = build(recent.blockhash)
                    # Equal transactions with one blockhash have one signature, and the node executes them once. A
                    # memo or another fee cannot distinguish them, because checks choose the content: so this waits
                    # for the next blockhash.
                    if transaction.signatures[0] not in self._last_heights:
                        self._last_heights[transaction.signatures[0]] = recent.last_valid_block_height
                        self._names.name(str(transaction.signatures[0]), "TX_ID")
                        return transaction
                    await asyncio.sleep(_GATHER_SECONDS)
        except TimeoutError as fault:
            seconds = f"{self._budgets.confirmation:g}"
            raise Inconclusive(f"the Solana node gave no new blockhash within {seconds} s") from fault

    async def deliver(
        self,
        draft: VersionedTransaction,
        sign_again: Callable[[], Awaitable[VersionedTransaction]],
        *,
        skip_preflight: bool = False,
    ) -> VersionedTransaction:
        """Submit a transaction that this object signed, and return it or the one that replaced it.

        Raises:
            Refused: The node refuses it.
            Inconclusive: The node could not be asked.
        """
        # A node answers `BlockhashNotFound` if a blockhash is too old, but also if the node is behind its neighbours.
        # The same bytes are submitted again, unless the chain is past the last block that may contain them and the
        # node does not know the transaction. Only then can it never land, and another one is signed. Thus no transfer
        # happens twice, even if a proxy gave the first transaction to several nodes.
        pauses = iter(_SUBMIT_AGAIN_SECONDS)
        while True:
            try:
                await self.submit(draft, skip_preflight=skip_preflight)
            except UnknownBlockhash as refusal:
                is_lapsed = await self.is_lapsed(refusal.tx_id)
                # The order matters: a transaction that is unknown after the chain has passed its last block can never
                # land.
                if await self.status(refusal.tx_id) is not None:
                    return draft
                pause = next(pauses, None)
                if pause is None:
                    raise
                if is_lapsed:
                    draft = await sign_again()
                else:
                    await asyncio.sleep(pause)
            else:
                return draft

    async def is_lapsed(self, tx_id: str) -> bool:
        """Return whether the chain is past the last block that may contain a transaction which this object signed."""
        height = (await self.ask(self.client.get_block_height(Confirmed))).value
        return height > self._last_heights[Signature.from_string(tx_id)]

    async def submit(self, transaction: VersionedTransaction, *, skip_preflight: bool = False) -> str:
        """Submit a transaction and return its id.

        Raises:
            UnknownBlockhash: The node refuses it because of its blockhash.
            Refused: The node refuses it.
            Inconclusive: The node could not be asked.
        """
        tx_id = str(transaction.signatures[0])
        options = TxOpts(skip_preflight=skip_preflight, preflight_commitment=Confirmed)
        async with self._translate_faults():
            try:
                await self.client.send_transaction(transaction, opts=options)
            except RPCException as fault:
                raise make_refusal(fault, tx_id) from fault
        return tx_id

    async def status(self, tx_id: str) -> TransactionStatus | None:
        """Return a transaction's status; None if the node does not know it (yet)."""
        signature = Signature.from_string(tx_id)
        self._pending_signatures.add(signature)
        if self._answer is None:
            # Many checks wait for transactions at once; one request asks for all of them, since public nodes limit
            # requests.
            self._answer = asyncio.create_task(self._ask_statuses())
            self._asking.add(self._answer)
            self._answer.add_done_callback(self._asking.discard)
        # Shielded: the request serves several callers, and the cancellation of one must not cancel it for all.
        return (await asyncio.shield(self._answer)).get(signature)

    async def _ask_statuses(self) -> dict[Signature, TransactionStatus | None]:
        await asyncio.sleep(_GATHER_SECONDS)
        self._answer, signatures = None, list(self._pending_signatures)[:_MOST_STATUSES]
        # Emptied before the request: signatures that arrive during it belong to the next one.
        self._pending_signatures = set()
        # With the history: the recent cache forgets a transaction within minutes.
        answer = await self.ask(self.client.get_signature_statuses(signatures, search_transaction_history=True))
        return dict(zip(signatures, answer.value, strict=False))

    async def may_land(self, message: MessageV0) -> bool:
        """Return whether a transaction can still get into a block."""
        # A node knows the fee of a message only while its blockhash is valid.
        return (await self.ask(self.client.get_fee_for_message(message, Confirmed))).value is not None

    async def wait_for_level(self, tx_id: str, level: TransactionConfirmationStatus = FINALIZED) -> TransactionStatus:
        """Wait until a transaction has reached a level of commitment, whether it succeeded or not; return its status.

        Raises:
            Inconclusive: It did not reach the level within the budget.
        """
        loop = asyncio.get_running_loop()
        start = loop.time()
        while (status := await self.status(tx_id)) is None or _rank(status) < _RANK[str(level)]:
            if loop.time() > start + self._budgets.confirmation:
                raise Inconclusive(f"the transaction was not {level} within {self._budgets.confirmation:g} s")
            # A simulated chain is final in a second, other chains in a quarter of a minute.
            await asyncio.sleep(0 if loop.time() < start + _SOON_SECONDS else _LATER_SECONDS)
        return status

    async def lists(self, account: Pubkey, tx_id: str) -> bool:
        """Return whether the node lists a confirmed transaction under an account, where a watcher searches."""
        signatures = (await self.ask(self.client.get_signatures_for_address(account, commitment=Confirmed))).value
        return any(str(one.signature) == tx_id for one in signatures)

    async def read_evidence(self, tx_id: str) -> Mapping[str, Any] | None:
        """Return a transaction with its outcome, as the weld's oracle takes them; None if it is unknown.

        Raises:
            Inconclusive: The node could not be asked.
        """
        try:
            signature = Signature.from_string(tx_id)
        except ValueError:
            return None
        status = await self.status(tx_id)
        question = self.client.get_transaction(signature, "base64", Confirmed, max_supported_transaction_version=0)
        found = (await self.ask(question)).value
        if status is None or found is None or not isinstance(found.transaction.transaction, VersionedTransaction):
            return None
        meta = found.transaction.meta
        loaded = None if meta is None else meta.loaded_addresses
        return {
            "transaction_b64": base64.b64encode(bytes(found.transaction.transaction)).decode("ascii"),
            "loaded_addresses": {
                "writable": [] if loaded is None else [str(one) for one in loaded.writable],
                "readonly": [] if loaded is None else [str(one) for one in loaded.readonly],
            },
            "err": None if status.err is None else str(status.err),
            "confirmation": "finalized" if _rank(status) >= _RANK[str(FINALIZED)] else "confirmed",
            "block_time": found.block_time,
        }

    async def read_changes(self, tx_id: str, mint: Pubkey) -> dict[str, int]:
        """Return the changes of owners' token balances by a confirmed transaction, in atomic units, without zeros."""
        question = self.client.get_transaction(
            Signature.from_string(tx_id), "json", Confirmed, max_supported_transaction_version=0
        )
        transaction = (await self.ask(question)).value
        meta = None if transaction is None else transaction.transaction.meta
        if meta is None:
            raise Inconclusive("the Solana node returns no balances for a transaction")
        changes: dict[str, int] = {}
        for sign, balances in ((-1, meta.pre_token_balances), (1, meta.post_token_balances)):
            for balance in balances or ():
                if balance.mint == mint:
                    owner = str(balance.owner)
                    changes[owner] = changes.get(owner, 0) + sign * int(balance.ui_token_amount.amount)
        return {owner: amount for owner, amount in changes.items() if amount}

    async def wait_for_success(self, tx_id: str, level: TransactionConfirmationStatus = FINALIZED) -> None:
        """Wait until a transaction has reached a level of commitment.

        Raises:
            Refused: It failed on the chain.
            Inconclusive: It has not within the budget.
        """
        err = (await self.wait_for_level(tx_id, level)).err
        if err is not None:
            raise Refused(f"the transaction failed on the chain: {err}"[:_SHORT], tx_id)


def _transaction(
    instructions: Sequence[Instruction],
    payer: Account,
    signers: Sequence[Account],
    tables: Sequence[AddressLookupTableAccount],
    recent: Hash,
    *,
    legacy: bool,
) -> VersionedTransaction:
    keys = [payer.keypair, *(one.keypair for one in signers if one.key != payer.key)]
    if legacy:
        return VersionedTransaction(Message.new_with_blockhash(instructions, payer.key, recent), keys)
    return VersionedTransaction(MessageV0.try_compile(payer.key, instructions, tables, recent), keys)


def _rank(status: TransactionStatus) -> int:
    return _RANK.get(str(status.confirmation_status), -1)
