"""Funds of the Base payer: the control verbs of a simulated node, or the operator's account."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple, TypeAlias

from conformance.http.client import Names
from conformance.lanes.base.eth_account_import import Signer
from conformance.lanes.base.node import Account, BaseNode, Refused
from conformance.lanes.base.token import Token
from conformance.lanes.main_network_guard import NodeNetwork, usdc_of
from conformance.lanes.node_control import read_secret
from conformance.lanes.spending import SpendingLimit, Wallet, derive_seed
from conformance.outcome import Inconclusive
from conformance.target.lanes.base import BaseChain

_TRANSFER_GAS = 21_000


class Home(NamedTuple):
    """Destination of the rest of the money.

    Attributes:
        address: The operator's account.
        asset: USDC, the only asset that the operator gives.
    """

    address: str
    asset: str


class ControlFunds:
    """Money from the control verbs `fund` and `mint` of a simulated node (9.1)."""

    purse = 1_000_000_000
    home: Home | None = None

    def __init__(self, node: BaseNode) -> None:
        self._node = node

    def main_account(self) -> Account:
        """Return the account that pays."""
        return self._node.account()

    async def coin(self, account: Account, *, main: bool) -> None:
        """Let the node give native coin."""
        # Wei: the main account pays the gas of every check, the others that of a few transactions.
        amount = 10**20 if main else 10**18
        await self._node.control.carry_out("fund", address=account.address, amount=str(amount))

    async def token(self, address: str, asset: str, amount: int) -> None:
        """Let the node give the token."""
        await self._node.control.carry_out("mint", address=address, amount=str(amount), asset=asset)

    async def take_back(self, accounts: Iterable[Account]) -> None:
        """Do nothing: a simulated chain ends with its process."""


# The suite never signs an authorization with the operator's account: attacks empty accounts and use up their nonces.
# Each attack runs on a throw-away account that is filled here and emptied at the end.
class OperatorFunds:
    """Money from the operator's account by ordinary transfers, returned at the end."""

    _PURSE = 1_000_000
    _MAIN_WEI, _WEI = 10**15, 10**14

    def __init__(self, node: BaseNode, funder: Account, limit: SpendingLimit) -> None:
        self._node = node
        self._funder = funder
        self._limit = limit
        self.home: Home | None = Home(funder.address, limit.usdc.asset_id)

    @property
    def purse(self) -> int:
        """How much is given at a time, in atomic units."""
        return self._limit.size_purse(self._PURSE)

    def main_account(self) -> Account:
        """Return the account that pays, the same for each process that has the funder's key and the label."""
        if self._limit.label is None:
            return self._node.account()
        return self._node.account(derive_seed(self._funder.key, self._limit.label))

    async def coin(self, account: Account, *, main: bool) -> None:
        """Send native coin from the operator's account."""
        amount = self._MAIN_WEI if main else self._WEI
        await self._give(account.address, b"", amount, f"{amount} wei")

    async def token(self, address: str, asset: str, amount: int) -> None:
        """Send USDC from the operator's account; any other token is refused."""
        token = Token(self._node, asset)
        await self._limit.take(asset, amount, token.decimals)
        data = token.transfer_call(address, amount)
        await self._give(asset, data, 0, f"{amount} atomic units of {asset}")

    async def _give(self, to: str, data: bytes, value: int, amount: str) -> None:
        try:
            await self._node.wait_for_success(await self._node.send(self._funder, to, data, value=value))
        except Refused as reason:
            raise Inconclusive(
                f"the account of [{self._limit.table}] funder cannot give {amount}: {reason}"
            ) from reason

    async def take_back(self, accounts: Iterable[Account]) -> None:
        """Send each account's native coin to the operator."""
        for account in accounts:
            with suppress(Inconclusive):
                await self._return_coin(account)

    async def _return_coin(self, account: Account) -> None:
        fee = _TRANSFER_GAS * await self._node.gas_price()
        # Twice the fee: the gas price may rise until the block.
        remainder = await self._node.wei(account.address) - fee * 2
        if remainder > 0:
            await self._node.send(account, self._funder.address, value=remainder, gas=_TRANSFER_GAS)


Funds: TypeAlias = ControlFunds | OperatorFunds


def choose_funds(chain: BaseChain, node: BaseNode, names: Names, network: NodeNetwork, wallet: Wallet) -> Funds:
    """Return the source of money in the profile; control verbs have priority, since they cost nothing.

    Raises:
        Inconclusive: The funder's key is not a private key, or the profile has no spending limit.
    """
    if node.control.exists or chain.funder is None:
        return ControlFunds(node)
    table = f"chains.{chain.lane}"
    text = read_secret(chain.funder, names, "FUNDER_KEY", table)
    usdc = usdc_of(table, chain, network)
    limit = SpendingLimit(table, chain.spending_limit, usdc, wallet)
    try:
        return OperatorFunds(node, node.account(bytes(Signer.from_key(text).key)), limit)
    except ValueError:
        raise Inconclusive(f"[{table}] funder is not a private key of 32 bytes in hexadecimal") from None
