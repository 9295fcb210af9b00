"""Funds of the Algorand payer: the control verbs of a simulated node, or the operator's account."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeAlias

from algosdk import error, mnemonic, transaction
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from conformance.http.client import Names
from conformance.lanes.algorand.node import Account, AlgorandNode, Refused
from conformance.lanes.main_network_guard import NodeNetwork, usdc_of
from conformance.lanes.node_control import read_secret
from conformance.lanes.spending import SpendingLimit, Wallet, derive_seed
from conformance.outcome import Inconclusive
from conformance.target.lanes.algorand import AlgorandChain


class ControlFunds:
    """Money from the control verbs `fund` and `mint` of a simulated node (9.1)."""

    purse = 1_000_000_000

    def __init__(self, node: AlgorandNode) -> None:
        self._node = node

    def main_account(self) -> Account:
        """Return the account that pays."""
        return self._node.account()

    async def algos(self, account: Account, *, main: bool) -> None:
        """Let the node give Algos."""
        await self._node.control.carry_out("fund", address=account.address, amount="100000000" if main else "10000000")

    async def asset(self, account: Account, asset: int, amount: int) -> None:
        """Opt the account in and let the node give it the asset."""
        # Without waiting: both land in this order, so the node accepts the transfer before the opt-in's block.
        if await self._node.balance(account.address, asset) is None:
            await opt_in(self._node, account, asset, wait=False)
        await self._node.control.carry_out("mint", address=account.address, amount=str(amount), asset=str(asset))

    async def take_back(self, accounts: Iterable[Account]) -> None:
        """Do nothing: a simulated chain ends with its process."""


# The suite never pays from the operator's account directly: attacks close accounts out and rekey them to others. Each
# attack runs on a throw-away account that is filled here and emptied at the end.
class OperatorFunds:
    """Money from the operator's account by ordinary transfers, returned at the end."""

    _PURSE = 2_000_000
    _MAIN_ALGOS, _ALGOS = 3_000_000, 500_000

    def __init__(self, node: AlgorandNode, funder: Account, limit: SpendingLimit) -> None:
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
        seed = derive_seed(self._funder.key.encode(), self._limit.label)
        public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
        return self._node.account(base64.b64encode(seed + public).decode())

    async def algos(self, account: Account, *, main: bool) -> None:
        """Send Algos from the operator's account."""
        amount = self._MAIN_ALGOS if main else self._ALGOS
        params = await self._node.params()
        payment = transaction.PaymentTxn(self._funder.address, params, account.address, amount)
        await self._give([payment], f"{amount} microAlgos")

    async def asset(self, account: Account, asset: int, amount: int) -> None:
        """Opt the account in and send it USDC from the operator's account; any other asset is refused."""
        await self._limit.take(str(asset), amount, lambda: self._node.decimals(asset))
        params = await self._node.params()
        transfer = transaction.AssetTransferTxn(self._funder.address, params, account.address, amount, asset)
        opt_in_transfer = transaction.AssetTransferTxn(account.address, params, account.address, 0, asset)
        is_in = await self._node.balance(account.address, asset) is not None
        # One group needs one block; separate transactions of two senders would need two blocks.
        group, signers = ([transfer], []) if is_in else ([opt_in_transfer, transfer], [account])
        await self._give(group, f"{amount} atomic units of asset {asset}", *signers)

    async def _give(self, transactions: list[Any], amount: str, *signers: Account) -> None:
        """Send transactions that the signers (one each) and the funder sign."""
        try:
            await self._node.submit(transactions, *signers, self._funder)
        except Refused as reason:
            raise Inconclusive(
                f"the account of [{self._limit.table}] funder cannot give {amount}: {reason}"
            ) from reason

    async def take_back(self, accounts: Iterable[Account]) -> None:
        """Close each account's assets and Algos out to the operator; accounts that an attack gave away are left."""
        for account in accounts:
            # Best effort: one account that cannot be emptied must not keep the money of the others.
            with suppress(Inconclusive, LookupError, TypeError, ValueError):
                await self._empty(account)

    async def _empty(self, account: Account) -> None:
        info = await self._node.holdings(account.address)
        home = {one["asset-id"] for one in (await self._node.holdings(self._funder.address)).get("assets", [])}
        mine = {one["asset-id"] for one in info.get("assets", [])}
        for asset in sorted(mine & home):
            params = await self._node.params()
            transfer = transaction.AssetTransferTxn(
                account.address, params, self._funder.address, 0, asset, close_assets_to=self._funder.address
            )
            await self._node.submit([transfer], account)
        info = await self._node.holdings(account.address)
        params = await self._node.params()
        # An account that still holds or created an asset cannot be closed: its minimum balance has to stay.
        whole = not info.get("assets") and not info.get("created-assets")
        spare = 0 if whole else int(info["amount"]) - int(info.get("min-balance", 0)) - int(params.fee)
        payment = transaction.PaymentTxn(
            account.address,
            params,
            self._funder.address,
            max(0, spare),
            close_remainder_to=self._funder.address if whole else None,
        )
        await self._node.submit([payment], account)


Funds: TypeAlias = ControlFunds | OperatorFunds


async def opt_in(node: AlgorandNode, account: Account, asset: int, *, wait: bool = True) -> None:
    """Opt an account in to an asset; return once the opt-in is in a block, or at once without `wait`.

    Raises:
        Inconclusive: The node refuses it.
    """
    transfer = transaction.AssetTransferTxn(account.address, await node.params(), account.address, 0, asset)
    await node.submit([transfer], account, wait=wait)


def choose_funds(chain: AlgorandChain, node: AlgorandNode, names: Names, network: NodeNetwork, wallet: Wallet) -> Funds:
    """Return the source of money in the profile; control verbs have priority, since they cost nothing.

    Raises:
        Inconclusive: The funder's words are not a mnemonic, or the profile has no spending limit.
    """
    if node.control.exists or chain.funder is None:
        return ControlFunds(node)
    table = f"chains.{chain.lane}"
    words = read_secret(chain.funder, names, "FUNDER_MNEMONIC", table)
    usdc = usdc_of(table, chain, network)
    limit = SpendingLimit(table, chain.spending_limit, usdc, wallet)
    try:
        return OperatorFunds(node, node.account(mnemonic.to_private_key(words)), limit)
    except (error.WrongMnemonicLengthError, error.WrongChecksumError, ValueError, KeyError):
        # `from None`: the SDK's exception may contain the words of the mnemonic.
        raise Inconclusive(f"[{table}] funder is not an Algorand mnemonic of 25 words") from None
