"""Base payer: unmodified web3.py and eth-account, real keys, real signatures."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from eth_utils.address import is_address, to_checksum_address

from conformance.http.client import Names
from conformance.lanes.base.authorization import Authorization, Domain, cancellation, nonce_of
from conformance.lanes.base.funds import Funds, Home, choose_funds
from conformance.lanes.base.node import Account, BaseNode, Refused
from conformance.lanes.base.token import SPLIT, Token, encode_creation, encode_own_call
from conformance.lanes.funded_payer import FundedPayer, admit_node
from conformance.lanes.signed_payment import SignedPayment
from conformance.lanes.spending import Wallet
from conformance.outcome import Inconclusive
from conformance.target import Budgets
from conformance.target.lanes.base import BaseChain

__all__ = ["Account", "BasePayer", "Refused"]

# Atomic units, 2,000 USDC. A hostile rail may ask for any amount; no honest price comes near it.
_MOST_GIVEN = 2_000_000_000
_UINT256 = 2**256
# Authorizations in one transaction, so that its gas stays far below the limit of a block.
_BATCH_SIZE = 40
_LIFETIME, _SPARE, _A_DAY = 1800, 3600, 86_400
# Public nodes answer a query for logs of at most about this many blocks.
_LOG_BLOCKS = 450


class BasePayer(FundedPayer[Account]):
    """Payer and attacker on one EVM network. Faults of the node become `Inconclusive`.

    Attributes:
        caip2: CAIP-2 name of the network by its chain id.
    """

    def __init__(self, chain: BaseChain, node: BaseNode, funds: Funds) -> None:
        super().__init__(chain, node.control)
        self.node = node
        self._funds = funds
        self._stock: dict[str, int] = {}
        self._deploying = asyncio.Lock()
        self._batcher: str | None = None

    @classmethod
    async def open(cls, chain: BaseChain, budgets: Budgets, names: Names, wallet: Wallet | None = None) -> BasePayer:
        """Open a payer with a funded account.

        Raises:
            Inconclusive: The node cannot be asked or may not be paid on, or there is no way to fund an account.
        """
        node = BaseNode(chain, budgets, names)
        async with admit_node(chain, node, wallet) as (network, purse):
            self = cls(chain, node, choose_funds(chain, node, names, network, purse))
            self.caip2 = network.caip2
            await self.new_account(coin=True)
        return self

    @classmethod
    async def take_back(cls, chain: BaseChain, budgets: Budgets, names: Names, wallet: Wallet, asset: str) -> None:
        """Give the funder back what the account of a wallet's label holds; see `Means`."""
        del asset  # it is the network's USDC, which is all that the funder gave
        node = BaseNode(chain, budgets, names)
        async with admit_node(chain, node, wallet) as (network, purse):
            self = cls(chain, node, choose_funds(chain, node, names, network, purse))
            self.caip2 = network.caip2
            self._accounts.append(self._funds.main_account())
        await self.close()

    async def close(self) -> None:
        """Return the rest of the operator's money, and close connections."""
        if self.has_open_payment:
            await self.node.close()
            return
        try:
            if self._funds.home is not None:
                await self._return_tokens(self._funds.home)
            await self._funds.take_back(self._accounts)
        finally:
            await self.node.close()

    async def _return_tokens(self, home: Home) -> None:
        """Return USDC to the operator, by authorizations that the paying account submits."""
        token, calls = Token(self.node, home.asset), list[tuple[str, bytes]]()
        with suppress(Inconclusive):
            # The domain of the contract itself, and not the domain of an offer, which a hostile rail may have chosen.
            domain = Domain(*await token.names(), self.chain_id, token.address)
            for account in self._accounts:
                if balance := await token.balance(account.address):
                    # Authorizations, since most of these accounts have no native coin to pay for gas.
                    terms = Authorization(
                        account.address, home.address, balance, 0, _UINT256 - 1, os.urandom(32), domain, token=""
                    )
                    calls.append((token.address, token.use_call(terms.sign(account.key))))
        for start in range(0, len(calls), _BATCH_SIZE):
            with suppress(Inconclusive):
                await self.batch(calls[start : start + _BATCH_SIZE])

    @property
    def chain_id(self) -> int:
        """The network's EIP-155 chain id."""
        return int(self.caip2.removeprefix("eip155:"))

    # The node.

    async def block_time(self) -> int:
        """Return the time of the newest block in unix seconds."""
        return await self.node.block_time()

    async def wait_for_blocks(self, count: int) -> None:
        """Wait for a number of new blocks; a node with the verb `advance` makes them at once.

        Raises:
            Inconclusive: They did not come within the budget.
        """
        if not await self.lacks("advance"):
            await self.control("advance", blocks=count)
        else:
            await self.node.wait_for_blocks(count)

    def token(self, entry: Mapping[str, Any]) -> Token:
        """Return the token of an entry.

        Raises:
            Inconclusive: Its `asset` is not an address.
        """
        return Token(self.node, _address(entry, "asset"))

    # Accounts.

    async def new_account(self, *, coin: bool = False, asset: str | None = None, amount: int = 0) -> Account:
        """Return a fresh account, on request with native coin for gas and `amount` atomic units of a token."""
        fresh = self.node.account() if self._accounts else self._funds.main_account()
        if coin:
            await self._funds.coin(fresh, main=not self._accounts)
        if coin or amount:
            self._accounts.append(fresh)
        if asset is not None and amount:
            await self.give(fresh.address, asset, amount)
        return fresh

    async def give(self, address: str, asset: str, amount: int) -> None:
        """Give an address `amount` atomic units of a token; an absurd amount is not given."""
        if not 0 < amount <= _MOST_GIVEN:
            return
        await self._funds.token(address, asset, amount)

    async def set_aside(self, asset: str, amount: int) -> None:
        """Fill the paying account for one more payment, and reserve its amount."""
        async with self._funding_lock:
            have = self._stock.get(asset, 0)
            if have < amount <= _MOST_GIVEN:
                added_amount = max(self._funds.purse, amount)
                await self.give(self.address, asset, added_amount)
                have += added_amount
            self._stock[asset] = have - amount

    # Authorizations.

    async def pay(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Sign the authorization of an `accepts` entry: the nonce is keccak256 of the token (P-LN table, Base).

        Raises:
            Inconclusive: The entry is malformed, or the node could not be asked.
        """
        authorization = await self.authorize(entry)
        # With the operator's money, an authorization for another chain would be a payment there: a rail must not be
        # able to ask for one.
        if self._funds.home is not None and authorization.domain.chain_id != self.chain_id:
            raise Inconclusive(
                f"the entry is paid on eip155:{authorization.domain.chain_id}, and the node of [chains.{self.lane}] "
                f"serves {self.caip2}: nothing is signed"
            )
        await self.set_aside(authorization.domain.contract, authorization.value)
        return authorization.proof()

    async def sign(self, entry: Mapping[str, Any]) -> SignedPayment:
        """Sign the authorization of an entry, which the rail sends; see `SignsEntries`."""
        proof = await self.pay(entry)
        token = self.token(entry)
        return SignedPayment(self.address, token.address, await token.balance(self.address), None, "", proof)

    async def authorize(
        self, entry: Mapping[str, Any], payer: Account | None = None, *, key: bytes | None = None, **changes: Any
    ) -> Authorization:
        """Return the signed authorization of an entry, with `changes` made before it was signed.

        Args:
            entry: The `accepts` entry.
            payer: The account that pays; the paying account if None.
            key: The signing key; the payer's if None.
            changes: Members of `Authorization`.

        Raises:
            Inconclusive: The entry names no domain, no price or no token, or the node could not be asked.
        """
        holder = payer or self.main
        token = _extra(entry, "payment_reference")
        lifetime = entry.get("maxTimeoutSeconds")
        # The window ends an hour after the challenge, so that the challenge's lifetime decides. It is at most a day
        # and an hour: an authorization without an end would let the payee take the money at any time.
        seconds = min(lifetime, _A_DAY) if isinstance(lifetime, int) and lifetime > 0 else _LIFETIME
        now = await self.block_time()
        authorization = Authorization(
            sender=holder.address,
            to=_address(entry, "payTo"),
            value=_price(entry),
            valid_after=0,
            valid_before=now + seconds + _SPARE,
            nonce=nonce_of(token),
            domain=self.domain(entry),
            token=token,
        )
        return authorization.with_changes(**changes).sign(key or holder.key)

    async def sign_unfunded(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return a proof for an entry that is right except that its payer holds nothing.

        Raises:
            Inconclusive: As `authorize`.
        """
        return (await self.authorize(entry, self.node.account())).proof()

    async def settlement(self, entry: Mapping[str, Any], proof: Mapping[str, Any]) -> str | None:
        """Return the transaction that settled a proof of `pay`, found by its authorization in the newest blocks.

        Raises:
            Inconclusive: The node could not be asked.
        """
        terms = proof.get("authorization")
        if not isinstance(terms, Mapping):
            return None
        newest = await self.node.ask(self.node.web3.eth.block_number)
        nonce = bytes.fromhex(str(terms["nonce"]).removeprefix("0x"))
        return await self.token(entry).used_in(str(terms["from"]), nonce, max(0, newest - _LOG_BLOCKS))

    def domain(self, entry: Mapping[str, Any]) -> Domain:
        """Return the EIP-712 domain of an entry.

        Raises:
            Inconclusive: It names none.
        """
        network = str(entry.get("network", ""))
        number = network.removeprefix("eip155:")
        chain_id = int(number) if network.startswith("eip155:") and number.isascii() and number.isdecimal() else None
        if chain_id is None:
            chain_id = self.chain_id
        return Domain(_extra(entry, "name"), _extra(entry, "version"), chain_id, _address(entry, "asset"))

    # Transactions.

    async def use(
        self,
        authorization: Authorization,
        *,
        sender: Account | None = None,
        overload: str = SPLIT,
        gas: int | None = None,
        wait: bool = True,
    ) -> str:
        """Use an authorization on the chain and return the transaction's id.

        Raises:
            Refused: It reverts.
            Inconclusive: The node cannot be asked, or the transaction is in no block in time.
        """
        data = Token(self.node, authorization.domain.contract).use_call(authorization, overload=overload)
        return await self.send(authorization.domain.contract, data, sender=sender, gas=gas, wait=wait)

    async def cancel(self, payer: Account, authorization: Authorization) -> str:
        """Cancel an authorization's nonce with the payer's signature, and return the transaction's id."""
        signature = cancellation(authorization.domain, payer.address, authorization.nonce, payer.key)
        data = Token(self.node, authorization.domain.contract).cancel_call(
            payer.address, authorization.nonce, signature
        )
        return await self.send(authorization.domain.contract, data)

    async def transfer(
        self, asset: str, to: str, amount: int, *, sender: Account | None = None, wait: bool = True
    ) -> str:
        """Send a plain transfer, which is welded to no challenge, and return its id."""
        if not 0 <= amount < _UINT256:
            raise Inconclusive(f"{amount} is no amount that a token's transfer can carry")
        return await self.send(asset, Token(self.node, asset).transfer_call(to, amount), sender=sender, wait=wait)

    async def send(
        self, to: str, data: bytes, *, sender: Account | None = None, gas: int | None = None, wait: bool = True
    ) -> str:
        """Send a transaction (from the paying account) and return its id; `wait` for its block and its success."""
        tx_id = await self.node.send(sender or self.main, to, data, gas=gas)
        if wait:
            await self.node.wait_for_success(tx_id)
        return tx_id

    async def deploy(self, name: str, *arguments: Any) -> str:
        """Deploy a contract of the suite and return its address; its owner is the paying account."""
        tx_id = await self.node.send(self.main, None, encode_creation(name, arguments))
        address = (await self.node.wait_for_success(tx_id)).get("contractAddress")
        if not isinstance(address, str):
            raise Inconclusive("the Base node returned no address of the contract that it created")
        return address

    async def batch(self, calls: Sequence[tuple[str, bytes]], *, suffix: bytes = b"") -> str:
        """Carry out calls in one transaction, all or none, from `batcher`, and return its id.

        Args:
            calls: Contracts and call data.
            suffix: Bytes after the call data, which the batcher ignores.
        """
        call_list = [(to_checksum_address(to), data) for to, data in calls]
        return await self.send(await self.batcher(), encode_own_call("Batcher", "run", call_list) + suffix)

    async def batcher(self) -> str:
        """Return the address of the payer's batching contract, which is deployed at first use."""
        async with self._deploying:
            if self._batcher is None:
                self._batcher = await self.deploy("Batcher")
            return self._batcher


def _extra(entry: Mapping[str, Any], member: str) -> str:
    extra = entry.get("extra")
    value = extra.get(member) if isinstance(extra, dict) else None
    if not isinstance(value, str) or not value:
        raise Inconclusive(f"the entry has no extra.{member}, so no authorization can be signed for it")
    return value


def _address(entry: Mapping[str, Any], member: str) -> str:
    text = str(entry.get(member, ""))
    if not is_address(text):
        raise Inconclusive(f"the entry's {member} {text[:80]!r} is not an EVM address")
    return str(to_checksum_address(text))


def _price(entry: Mapping[str, Any]) -> int:
    text = str(entry.get("maxAmountRequired"))
    if not (text.isascii() and text.isdecimal() and int(text) < _UINT256):
        raise Inconclusive(f"the entry's maxAmountRequired {text[:80]!r} is no amount of atomic units")
    return int(text)
