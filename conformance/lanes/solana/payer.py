"""Solana payer: unmodified solana-py and solders, real keys, real transactions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.system_program import TransferParams
from solders.system_program import transfer as transfer_coin
from solders.transaction import VersionedTransaction
from solders.transaction_status import TransactionConfirmationStatus
from spl.token.constants import ACCOUNT_LEN, MINT_LEN, TOKEN_PROGRAM_ID
from spl.token.instructions import create_idempotent_associated_token_account

from conformance.http.client import Names
from conformance.lanes.funded_payer import FundedPayer, admit_node
from conformance.lanes.signed_payment import SignedPayment
from conformance.lanes.solana import relay_program
from conformance.lanes.solana.funds import Funds, choose_funds
from conformance.lanes.solana.instructions import (
    Order,
    TokenTransfer,
    amount_in,
    associated_account,
    decimals_in,
    make_account,
    make_mint,
    mint_to,
    pubkey,
    with_accounts,
)
from conformance.lanes.solana.node import CONFIRMED, FINALIZED, Account, SolanaNode
from conformance.lanes.solana.refusals import Refused, UnknownBlockhash
from conformance.lanes.solana.sender import read_signed
from conformance.lanes.solana.table import AddressTables
from conformance.lanes.spending import Wallet
from conformance.target import Budgets
from conformance.target.lanes.solana import SolanaChain

__all__ = ["Account", "Order", "Refused", "SolanaPayer", "UnknownBlockhash"]

# Atomic units, 2,000 USDC. A hostile rail may ask for any amount; no honest price comes near it.
_MOST_GIVEN = 2_000_000_000
_UINT64 = 2**64


class SolanaPayer(FundedPayer[Account]):
    """Payer and attacker on one Solana network. Faults of the node become `Inconclusive`.

    Attributes:
        caip2: CAIP-2 name of the network by its genesis hash.
    """

    def __init__(self, chain: SolanaChain, node: SolanaNode, funds: Funds) -> None:
        super().__init__(chain, node.control)
        self.node = node
        self._funds = funds
        self._mints: set[Pubkey] = set()
        self._stock: dict[tuple[Pubkey, Pubkey], int] = {}
        self._decimals: dict[Pubkey, int] = {}
        self._existing_accounts: set[Pubkey] = set()
        self._deploying = asyncio.Lock()
        self._relay: Pubkey | None = None
        self._tables = AddressTables(node)

    @classmethod
    async def open(
        cls, chain: SolanaChain, budgets: Budgets, names: Names, wallet: Wallet | None = None
    ) -> SolanaPayer:
        """Open a payer with a funded account.

        Raises:
            Inconclusive: The node cannot be asked or may not be paid on, or there is no way to fund an account.
        """
        node = SolanaNode(chain, budgets, names)
        async with admit_node(chain, node, wallet) as (network, purse):
            self = cls(chain, node, choose_funds(chain, node, names, network, purse))
            self.caip2 = network.caip2
            await self.new_account()
        return self

    @classmethod
    async def take_back(cls, chain: SolanaChain, budgets: Budgets, names: Names, wallet: Wallet, asset: str) -> None:
        """Give the funder back what the account of a wallet's label holds; see `Means`."""
        node = SolanaNode(chain, budgets, names)
        async with admit_node(chain, node, wallet) as (network, purse):
            self = cls(chain, node, choose_funds(chain, node, names, network, purse))
            self._accounts.append(self._funds.main_account())
            self._mints.add(pubkey(asset, "asset"))
        await self.close()

    async def close(self) -> None:
        """Return the rest of the operator's money, and close connections."""
        try:
            if not self.has_open_payment:
                await self._funds.take_back(self._accounts, sorted(self._mints, key=str))
        finally:
            await self.node.close()

    # The node.

    async def block_time(self) -> int:
        """Return the time of the newest confirmed block in unix seconds."""
        return await self.node.block_time()

    async def balance(self, owner: Pubkey, mint: Pubkey) -> int:
        """Return the balance of an owner's associated account, in atomic units."""
        return await self.read_holding(associated_account(owner, mint))

    async def read_holding(self, account: Pubkey) -> int:
        """Return the balance of a token account in atomic units; 0 if there is no such account."""
        return amount_in(await self.node.data(account))

    # Accounts and tokens.

    async def new_account(self, *, is_funded: bool = True) -> Account:
        """Return a fresh account, with native coin for fees and rent."""
        fresh = self.node.account() if self._accounts else self._funds.main_account()
        if is_funded:
            await self._funds.coin(fresh, main=not self._accounts)
            self._accounts.append(fresh)
        return fresh

    async def hold(self, mint: Pubkey, least: int | None = None, owner: Account | None = None) -> None:
        """Make sure that an account (the paying one) holds `least` atomic units of a token; a default if None."""
        holder = owner or self.main
        async with self._funding_lock:
            await self._fill(holder, mint, self._funds.purse // 10 if least is None else least)

    async def _reserve(self, mint: Pubkey, amount: int) -> None:
        """Fill the paying account for one transfer, and reserve its amount."""
        async with self._funding_lock:
            await self._fill(self.main, mint, amount)
            place = (self.main.key, mint)
            self._stock[place] = self._stock.get(place, 0) - amount

    async def _fill(self, holder: Account, mint: Pubkey, least: int) -> None:
        """Fill an account up to an amount; an absurd amount is not given, so that the node refuses the transfer."""
        have = self._stock.get((holder.key, mint))
        if have is not None and (have >= least or least > _MOST_GIVEN):
            return
        amount = max(self._funds.purse if holder is self.main else least, least if least <= _MOST_GIVEN else 0)
        self._mints.add(mint)
        await self._funds.token(holder.key, mint, amount)
        self._stock[holder.key, mint] = max(0, have or 0) + amount

    async def decimals(self, mint: Pubkey) -> int:
        """Return a mint's decimals."""
        if mint not in self._decimals:
            self._decimals[mint] = decimals_in(await self.node.data(mint))
        return self._decimals[mint]

    async def create_mint(
        self, *, decimals: int = 6, total: int = 10**15, program: Pubkey = TOKEN_PROGRAM_ID
    ) -> Pubkey:
        """Create a token of a token program, held completely by the paying account, and return its mint."""
        fresh, me = self.node.account(), self.main.key
        await self.send(
            [
                *make_mint(me, fresh.key, decimals, await self.node.rent(MINT_LEN), program),
                create_idempotent_associated_token_account(me, me, fresh.key, program),
                mint_to(fresh.key, associated_account(me, fresh.key, program), me, total, program),
            ],
            signers=[fresh],
            wait=CONFIRMED,
        )
        self._stock[me, fresh.key] = total
        return fresh.key

    async def token_account(self, mint: Pubkey, owner: Pubkey) -> Pubkey:
        """Create a token account of `owner` that is not the associated one, and return its address."""
        fresh = self.node.account()
        rent = await self.node.rent(ACCOUNT_LEN)
        instructions = make_account(self.main.key, fresh.key, mint, owner, rent)
        await self.send(instructions, signers=[fresh], wait=CONFIRMED)
        return fresh.key

    async def ensure_associated_account(
        self, owner: Pubkey, mint: Pubkey, program: Pubkey = TOKEN_PROGRAM_ID
    ) -> Pubkey:
        """Return an owner's associated token account, which is created if it is missing."""
        place = associated_account(owner, mint, program)
        # Known accounts are not asked for again: a run makes hundreds of transfers to the same payees.
        if place not in self._existing_accounts:
            if await self.node.data(place) is None:
                instruction = create_idempotent_associated_token_account(self.main.key, owner, mint, program)
                await self.send([instruction], wait=CONFIRMED)
            self._existing_accounts.add(place)
        return place

    # Transactions.

    async def pay(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Pay an `accepts` entry: the reference is an extra account of the transfer (P-LN table, Solana).

        Raises:
            Inconclusive: The entry is malformed, or the node could not be asked.
        """
        order = Order.of(entry)
        token_transfer = await self.transfer(order)
        return {"tx_id": await self.send([token_transfer.instruction()]), "payment_reference": order.text}

    async def sign(self, entry: Mapping[str, Any]) -> SignedPayment:
        """Sign the transfer of an entry; see `SignsEntries`."""
        order = Order.of(entry)
        token_transfer = await self.transfer(order)
        return await self.signed_payment([token_transfer.instruction()], order.mint, {"payment_reference": order.text})

    async def signed_payment(
        self, instructions: Sequence[Instruction], mint: Pubkey, proof: Mapping[str, Any]
    ) -> SignedPayment:
        """Return a signed, unsent transaction; its id is added to a proof with members."""
        balance = await self.balance(self.main.key, mint)
        draft = await self.draft(instructions)
        tx_id = str(draft.signatures[0])
        full_proof = {"tx_id": tx_id, **proof} if proof else {}
        return SignedPayment(self.address, str(mint), balance, tx_id, bytes(draft).hex(), full_proof)

    async def sign_again(self, payment: SignedPayment) -> SignedPayment | None:
        """Return a payment's instructions under the newest blockhash, without a reservation; see `SignsAgain`."""
        old_transaction, message = read_signed(payment)
        tx_id = str(old_transaction.signatures[0])
        # As long as the first transaction can land, a second one could be a second payment.
        if not await self.node.is_lapsed(tx_id) or await self.node.status(tx_id) is not None:
            return None
        transaction = await self.node.sign_again(message, self.main)
        tx_id = str(transaction.signatures[0])
        proof = {**payment.proof, "tx_id": tx_id} if payment.proof else {}
        now = int(time.time())
        return replace(payment, tx_id=tx_id, transaction=bytes(transaction).hex(), proof=proof, signed_at=now)

    async def transfer(self, order: Order, *, mint: Pubkey | None = None, **changes: Any) -> TokenTransfer:
        """Return the unsent transfer of an order, with `changes`; its tokens are reserved.

        Args:
            order: The payment that the entry asks for.
            mint: Another token, paid to the payee's associated account of that token.
            changes: Members of `TokenTransfer`.
        """
        token, program = mint or order.mint, changes.get("program", TOKEN_PROGRAM_ID)
        me = self.main.key
        standard: dict[str, Any] = {"amount": order.price, "references": (order.reference,), **changes}
        if "source" not in changes:
            await self._reserve(token, int(standard["amount"]))
        if "destination" not in changes:
            standard["destination"] = await self.ensure_associated_account(order.payee, token, program)
        if "decimals" not in changes:
            standard["decimals"] = await self.decimals(token)
        return TokenTransfer(token, **{"source": associated_account(me, token, program), "owner": me, **standard})

    async def send(
        self,
        instructions: Sequence[Instruction],
        *,
        sender: Account | None = None,
        signers: Sequence[Account] = (),
        tables: Sequence[AddressLookupTableAccount] = (),
        legacy: bool = False,
        skip_preflight: bool = False,
        wait: TransactionConfirmationStatus | None = FINALIZED,
    ) -> str:
        """Send a transaction (from the paying account) and return its id.

        Args:
            instructions: Its instructions, in order.
            sender: The account that pays the fee and signs first.
            signers: Further accounts that sign.
            tables: Address tables from which it may take addresses.
            legacy: Whether it is a legacy transaction, without a version.
            skip_preflight: Whether the node accepts it without simulating it first, so that it can fail on the chain.
            wait: The level of commitment to wait for, with success; None does not wait.

        Raises:
            Refused: The node refuses it, or it failed on the chain.
            Inconclusive: The node cannot be asked, or the level is not reached in time.
        """
        sign = partial(self.draft, instructions, sender=sender, signers=signers, tables=tables, legacy=legacy)
        transaction = await self.deliver(await sign(), sign, skip_preflight=skip_preflight, wait=wait)
        return str(transaction.signatures[0])

    async def deliver(
        self,
        draft: VersionedTransaction,
        sign_again: Callable[[], Awaitable[VersionedTransaction]],
        *,
        skip_preflight: bool = False,
        wait: TransactionConfirmationStatus | None = FINALIZED,
    ) -> VersionedTransaction:
        """Send a draft, or the result of `sign_again` if the draft can never land; return the sent transaction.

        `wait` for a level of commitment, with success.
        """
        transaction = await self.node.deliver(draft, sign_again, skip_preflight=skip_preflight)
        if wait is not None:
            await self.node.wait_for_success(str(transaction.signatures[0]), wait)
        return transaction

    async def draft(
        self,
        instructions: Sequence[Instruction],
        *,
        sender: Account | None = None,
        signers: Sequence[Account] = (),
        tables: Sequence[AddressLookupTableAccount] = (),
        legacy: bool = False,
    ) -> VersionedTransaction:
        """Return a signed, unsent transaction, whose id (the first signature) is already known."""
        return await self.node.sign(instructions, sender or self.main, signers, tables=tables, legacy=legacy)

    async def submit(
        self,
        transaction: VersionedTransaction,
        *,
        skip_preflight: bool = False,
        wait: TransactionConfirmationStatus | None = FINALIZED,
    ) -> str:
        """Send a signed transaction and return its id; `wait` for a level of commitment, with success."""
        tx_id = await self.node.submit(transaction, skip_preflight=skip_preflight)
        if wait is not None:
            await self.node.wait_for_success(tx_id, wait)
        return tx_id

    async def send_native(self, receiver: Pubkey, amount: int, *references: Pubkey) -> str:
        """Send native coin with further accounts in the transfer, and return the transaction's id."""
        params = TransferParams(from_pubkey=self.main.key, to_pubkey=receiver, lamports=amount)
        return await self.send([with_accounts(transfer_coin(params), references)])

    async def address_table(self, addresses: Sequence[Pubkey]) -> AddressLookupTableAccount:
        """Put addresses into an address table on the chain and return it, ready for use."""
        return await self._tables.make(self.main, addresses)

    async def relay(self) -> Pubkey:
        """Return the address of the suite's program (`relay_program`), which is deployed at first use."""
        async with self._deploying:
            if self._relay is None:
                self._relay = await self._deploy_relay()
            return self._relay

    async def _deploy_relay(self) -> Pubkey:
        buffer, program, me = self.node.account(), self.node.account(), self.main.key
        rent = await self.node.rent(relay_program.BUFFER_HEAD + len(relay_program.build_elf()))
        await self.send(relay_program.make_buffer(me, buffer.key, rent), signers=[buffer], wait=CONFIRMED)
        for part in relay_program.write_buffer(me, buffer.key):
            await self.send([part], wait=CONFIRMED)
        rent = await self.node.rent(relay_program.PROGRAM_SIZE)
        # Waits for finality, since a program can be called only in a later slot than that of its deployment.
        await self.send(relay_program.deploy(me, buffer.key, program.key, rent), signers=[program])
        return program.key
