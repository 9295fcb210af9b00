"""Funds of the Solana payer: the control verbs of a simulated node, or the operator's account."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from spl.token.instructions import create_idempotent_associated_token_account

from conformance.http.client import Names
from conformance.lanes.main_network_guard import NodeNetwork, usdc_of
from conformance.lanes.node_control import read_secret
from conformance.lanes.solana.instructions import TokenTransfer, amount_in, associated_account, close, decimals_in
from conformance.lanes.solana.node import CONFIRMED, Account, SolanaNode
from conformance.lanes.solana.refusals import Refused
from conformance.lanes.spending import SpendingLimit, Wallet, derive_seed
from conformance.outcome import Inconclusive
from conformance.target.lanes.solana import SolanaChain

# Lamports for one signature.
_FEE = 5000


class ControlFunds:
    """Money from the control verbs `fund` and `mint` of a simulated node (9.1)."""

    purse = 1_000_000_000

    def __init__(self, node: SolanaNode) -> None:
        self._node = node

    def main_account(self) -> Account:
        """Return the account that pays."""
        return self._node.account()

    async def coin(self, account: Account, *, main: bool) -> None:
        """Let the node give native coin."""
        # Lamports: the main account pays fees and rents of every check, the others those of a few transactions.
        amount = 10**11 if main else 10**9
        await self._node.control.carry_out("fund", address=account.address, amount=str(amount))

    async def token(self, owner: Pubkey, mint: Pubkey, amount: int) -> None:
        """Let the node give the token."""
        await self._node.control.carry_out("mint", address=str(owner), amount=str(amount), asset=str(mint))

    async def take_back(self, accounts: Iterable[Account], mints: Iterable[Pubkey]) -> None:
        """Do nothing: a simulated chain ends with its process."""


# The suite never attacks from the operator's account: attacks hand token accounts to others and empty them. Each
# attack runs on a throw-away account that is filled here and emptied at the end.
class OperatorFunds:
    """Money from the operator's account by ordinary transfers, returned at the end."""

    _PURSE = 1_000_000
    _MAIN_LAMPORTS, _LAMPORTS = 60_000_000, 6_000_000

    def __init__(self, node: SolanaNode, funder: Account, limit: SpendingLimit) -> None:
        self._node = node
        self._funder = funder
        self._limit = limit

    @property
    def purse(self) -> int:
        """How much is given at a time, in atomic units."""
        return self._limit.size_purse(self._PURSE)

    def main_account(self) -> Account:
        """Return the account that pays, the same for each process that has the funder's key and the label."""
        if self._limit.label is None:
            return self._node.account()
        return self._node.account(Keypair.from_seed(derive_seed(self._funder.keypair.secret(), self._limit.label)))

    async def coin(self, account: Account, *, main: bool) -> None:
        """Send native coin from the operator's account."""
        amount = self._MAIN_LAMPORTS if main else self._LAMPORTS
        params = TransferParams(from_pubkey=self._funder.key, to_pubkey=account.key, lamports=amount)
        await self._give([transfer(params)], f"{amount} lamports")

    async def token(self, owner: Pubkey, mint: Pubkey, amount: int) -> None:
        """Send USDC from the operator's associated account; any other token is refused."""
        await self._limit.take(str(mint), amount, lambda: self._decimals(mint))
        account = create_idempotent_associated_token_account(self._funder.key, owner, mint)
        transfer_ = await self._transfer(mint, self._funder.key, owner, amount)
        await self._give([account, transfer_.instruction()], f"{amount} atomic units of {mint}")

    async def _transfer(self, mint: Pubkey, owner: Pubkey, to: Pubkey, amount: int) -> TokenTransfer:
        decimals = await self._decimals(mint)
        return TokenTransfer(
            mint, associated_account(owner, mint), associated_account(to, mint), owner, amount, decimals
        )

    async def _decimals(self, mint: Pubkey) -> int:
        return decimals_in(await self._node.data(mint))

    async def _give(self, instructions: Sequence[Instruction], amount: str) -> None:
        try:
            await self._send(instructions, self._funder)
        except Refused as reason:
            raise Inconclusive(
                f"the account of [{self._limit.table}] funder cannot give {amount}: {reason}"
            ) from reason

    async def _send(self, instructions: Sequence[Instruction], payer: Account) -> None:
        sign = partial(self._node.sign, instructions, payer)
        transaction = await self._node.deliver(await sign(), sign)
        await self._node.wait_for_success(str(transaction.signatures[0]), CONFIRMED)

    async def take_back(self, accounts: Iterable[Account], mints: Iterable[Pubkey]) -> None:
        """Send each account's tokens, the rent of its token accounts, and its native coin to the operator."""
        mint_list = tuple(mints)
        for account in accounts:
            for mint in mint_list:
                with suppress(Inconclusive):
                    await self._return_tokens(account, mint)
            with suppress(Inconclusive):
                await self._return_coin(account)

    async def _return_tokens(self, account: Account, mint: Pubkey) -> None:
        place = associated_account(account.key, mint)
        data = await self._node.data(place)
        if data is None:
            return
        remainder = await self._transfer(mint, account.key, self._funder.key, amount_in(data))
        await self._send([remainder.instruction(), close(place, account.key, self._funder.key)], account)

    async def _return_coin(self, account: Account) -> None:
        # The account ends with exactly 0 lamports: a smaller rest would be below the rent, and the node would refuse
        # the transfer.
        remainder = await self._node.lamports(account.key) - _FEE
        if remainder > 0:
            params = TransferParams(from_pubkey=account.key, to_pubkey=self._funder.key, lamports=remainder)
            await self._send([transfer(params)], account)


Funds: TypeAlias = ControlFunds | OperatorFunds


def choose_funds(chain: SolanaChain, node: SolanaNode, names: Names, network: NodeNetwork, wallet: Wallet) -> Funds:
    """Return the source of money in the profile; control verbs have priority, since they cost nothing.

    Raises:
        Inconclusive: The funder's key is not a key pair, or the profile has no spending limit.
    """
    if node.control.exists or chain.funder is None:
        return ControlFunds(node)
    table = f"chains.{chain.lane}"
    text = read_secret(chain.funder, names, "FUNDER_KEY", table)
    usdc = usdc_of(table, chain, network)
    limit = SpendingLimit(table, chain.spending_limit, usdc, wallet)
    try:
        pair = Keypair.from_bytes(json.loads(text)) if text.startswith("[") else Keypair.from_base58_string(text)
    except (ValueError, TypeError, OverflowError):
        raise Inconclusive(f"[{table}] funder is not a key pair: a JSON array of 64 bytes, or base58") from None
    return OperatorFunds(node, node.account(pair), limit)
