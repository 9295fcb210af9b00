"""Algorand payer: unmodified py-algorand-sdk, real keys, real transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from algosdk import encoding, transaction

from conformance.http.client import Names
from conformance.lanes.algorand.funds import Funds, choose_funds
from conformance.lanes.algorand.node import Account, AlgorandNode, Refused
from conformance.lanes.algorand.transaction_ids import spellings
from conformance.lanes.funded_payer import FundedPayer, admit_node
from conformance.lanes.signed_payment import SignedPayment
from conformance.lanes.spending import Wallet
from conformance.outcome import Inconclusive
from conformance.target import Budgets
from conformance.target.lanes.algorand import AlgorandChain

__all__ = ["Account", "AlgorandPayer", "Refused"]

# Atomic units, 2,000 USDC. A hostile rail may ask for any amount; no honest price comes near it.
_MOST_GIVEN = 2_000_000_000
_UINT64 = 2**64


class AlgorandPayer(FundedPayer[Account]):
    """Payer and attacker on one Algorand network. Faults of the node become `Inconclusive`.

    Attributes:
        caip2: CAIP-2 name of the network by its genesis hash.
    """

    def __init__(self, chain: AlgorandChain, node: AlgorandNode, funds: Funds) -> None:
        super().__init__(chain, node.control)
        self._node = node
        self._funds = funds
        self._stock: dict[tuple[str, int], int] = {}

    @classmethod
    async def open(
        cls, chain: AlgorandChain, budgets: Budgets, names: Names, wallet: Wallet | None = None
    ) -> AlgorandPayer:
        """Open a payer with a funded account.

        Raises:
            Inconclusive: The node cannot be asked or may not be paid on, or there is no way to fund an account.
        """
        node = AlgorandNode(chain, budgets, names)
        async with admit_node(chain, node, wallet) as (network, purse):
            self = cls(chain, node, choose_funds(chain, node, names, network, purse))
            self.caip2 = network.caip2
            await self.new_account()
        return self

    @classmethod
    async def take_back(cls, chain: AlgorandChain, budgets: Budgets, names: Names, wallet: Wallet, asset: str) -> None:
        """Give the funder back what the account of a wallet's label holds; see `Means`."""
        del asset  # every asset that the account holds goes back
        node = AlgorandNode(chain, budgets, names)
        async with admit_node(chain, node, wallet) as (network, purse):
            self = cls(chain, node, choose_funds(chain, node, names, network, purse))
            self._accounts.append(self._funds.main_account())
        await self.close()

    async def close(self) -> None:
        """Return the rest of the operator's money, and close connections and threads."""
        try:
            if not self.has_open_payment:
                await self._funds.take_back(self._accounts)
        finally:
            await self._node.close()

    # The node.

    async def params(self) -> transaction.SuggestedParams:
        """Return suggested parameters, fresh from the node."""
        return await self._node.params()

    async def block_time(self) -> int:
        """Return the time of the newest block in unix seconds."""
        return await self._node.block_time()

    async def newest_round(self) -> int:
        """Return the number of the newest block."""
        return await self._node.newest_round()

    async def balance(self, address: str, asset: int) -> int:
        """Return the balance of an asset in atomic units."""
        return await self._node.balance(address, asset) or 0

    async def wait_for_block(self, tx_id: str) -> int:
        """Wait for a transaction's block and return its round.

        Raises:
            Inconclusive: It failed, or is not confirmed within the budget.
        """
        return await self._node.wait_for_block(tx_id)

    async def info(self, tx_id: str) -> Mapping[str, Any]:
        """Return the state of a transaction; empty if the node does not know it (yet)."""
        return await self._node.info(tx_id)

    async def read_evidence(self, tx_id: str) -> Mapping[str, Any] | None:
        """Return a transaction with its outcome and block, as the weld's oracle takes them; None if it is unknown."""
        return await self._node.read_evidence(tx_id)

    async def wait_for_drop(self, tx_id: str) -> None:
        """Wait until a transaction has left the pool with an error.

        Raises:
            Inconclusive: It was confirmed, or still waits when the budget is over.
        """
        await self._node.wait_for_drop(tx_id)

    # Accounts.

    async def new_account(self, *, is_funded: bool = True, assets: Sequence[int] = ()) -> Account:
        """Return a fresh account, with Algos for fees and opted in to `assets`."""
        fresh = self._node.account() if self._accounts else self._funds.main_account()
        if is_funded:
            await self._funds.algos(fresh, main=not self._accounts)
            self._accounts.append(fresh)
        # Sent without waiting: the node accepts each opt-in while the one before still waits for its block.
        tx_ids = [
            await self.transfer(asset=asset, receiver=fresh.address, amount=0, sender=fresh, wait=False)
            for asset in assets
        ]
        for tx_id in tx_ids:
            await self._node.wait_for_block(tx_id)
        return fresh

    async def hold(self, asset: int, least: int | None = None, owner: Account | None = None) -> None:
        """Make sure that an account (the paying one) holds `least` atomic units of an asset; a default if None."""
        holder = owner or self.main
        async with self._funding_lock:
            await self._fill(holder, asset, self._funds.purse // 10 if least is None else least)

    async def _reserve(self, holder: Account, asset: int, amount: int) -> None:
        """Fill the account for one transfer, and reserve its amount."""
        async with self._funding_lock:
            await self._fill(holder, asset, amount)
            # The stock is an upper bound of the payments, not the balance: concurrent transfers must not count one
            # unit twice.
            self._stock[holder.address, asset] = self._stock.get((holder.address, asset), 0) - amount

    async def _fill(self, holder: Account, asset: int, least: int) -> None:
        """Fill an account up to an amount; an absurd amount is not given, so that the node refuses the transfer."""
        have = self._stock.get((holder.address, asset))
        if have is not None and (have >= least or least > _MOST_GIVEN):
            return
        added_amount = max(self._funds.purse, least if least <= _MOST_GIVEN else 0)
        await self._funds.asset(holder, asset, added_amount)
        self._stock[holder.address, asset] = max(0, have or 0) + added_amount

    # Transactions.

    async def pay(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Pay an `accepts` entry: the note is the challenge token, exactly (P-LN table, Algorand).

        Raises:
            Inconclusive: The entry is malformed, or the node could not be asked.
        """
        token, price = _read_entry(entry)
        tx_id = await self.transfer(
            asset=self.asset_id(entry), receiver=str(entry.get("payTo")), amount=price, note=token.encode()
        )
        return {"tx_id": tx_id, "payment_reference": token}

    async def sign(self, entry: Mapping[str, Any]) -> SignedPayment:
        """Sign the transfer of an entry; see `SignsEntries`."""
        token, price = _read_entry(entry)
        return await self.signed_transfer(
            asset=self.asset_id(entry),
            receiver=str(entry.get("payTo")),
            amount=price,
            note=token.encode(),
            proof={"payment_reference": token},
        )

    async def signed_transfer(
        self, *, asset: int, receiver: str, amount: int, note: bytes, proof: Mapping[str, Any]
    ) -> SignedPayment:
        """Return a signed, unsent transfer of the paying account; its id is added to a proof with members."""
        draft = await self.draft(asset=asset, receiver=receiver, amount=amount, note=note)
        balance = await self.balance(self.address, asset)
        tx_id, raw = self._node.sign([draft], self.main)
        full_proof = {"tx_id": tx_id, **proof} if proof else {}
        return SignedPayment(self.address, str(asset), balance, tx_id, raw.hex(), full_proof)

    @staticmethod
    def asset_id(entry: Mapping[str, Any]) -> int:
        """Return the asset of an entry.

        Raises:
            Inconclusive: It names none.
        """
        text = str(entry.get("asset", ""))
        # Python's `isdecimal` accepts digits of other scripts, which a chain would not.
        if not (text.isascii() and text.isdecimal() and int(text) < _UINT64):
            raise Inconclusive(f"the entry's asset {text!r} is not an Algorand asset id")
        return int(text)

    async def transfer(
        self,
        *,
        asset: int,
        receiver: str,
        amount: int,
        note: bytes = b"",
        sender: Account | None = None,
        close_to: str | None = None,
        rekey_to: str | None = None,
        clawback_target: str | None = None,
        first_valid: int | None = None,
        wait: bool = True,
    ) -> str:
        """Send an asset transfer and return its id; `wait` for its block. The paying account is the default sender.

        Raises:
            Refused: The node refuses it.
            Inconclusive: The node cannot be asked, or the transaction is not confirmed in time.
        """
        _check_sendable(receiver, amount)
        # A close-out or rekey destroys its sender. It gets a fresh account, since other checks pay from the main
        # account.
        payer = sender or (await self.new_account() if close_to or rekey_to else self.main)
        if sender is None and clawback_target is None:
            await self._reserve(payer, asset, amount)
        transfer = transaction.AssetTransferTxn(
            payer.address,
            await self._node.params(first_valid),
            receiver,
            amount,
            asset,
            close_assets_to=close_to,
            revocation_target=clawback_target,
            note=note or None,
            rekey_to=rekey_to,
        )
        return await self.submit([transfer], payer, wait=wait)

    async def draft(self, *, asset: int, receiver: str, amount: int, note: bytes) -> Any:
        """Return an unsent transfer of the paying account, whose id is already known; `submit` sends it."""
        _check_sendable(receiver, amount)
        await self._reserve(self.main, asset, amount)
        return transaction.AssetTransferTxn(
            self.address, await self._node.params(), receiver, amount, asset, note=note or None
        )

    async def send_native(self, receiver: str, amount: int, note: bytes = b"") -> str:
        """Send Algos and return the transaction's id."""
        _check_sendable(receiver, amount)
        params = await self._node.params()
        payment = transaction.PaymentTxn(self.address, params, receiver, amount, note=note or None)
        return await self.submit([payment], self.main)

    async def create_asset(self, *, unit_name: str = "USDC", decimals: int = 6, total: int = 10**15) -> int:
        """Create an asset that looks like another one, with the payer as clawback address, and return its id."""
        creation = transaction.AssetConfigTxn(
            self.address,
            await self._node.params(),
            total=total,
            decimals=decimals,
            unit_name=unit_name,
            asset_name=unit_name,
            default_frozen=False,
            manager=self.address,
            clawback=self.address,
            # An empty reserve and freeze address is intended: only the clawback matters for the attack.
            strict_empty_address_check=False,
        )
        tx_id = await self.submit([creation], self.main)
        asset_id = (await self._node.info(tx_id)).get("asset-index")
        if not isinstance(asset_id, int):
            raise Inconclusive("the Algorand node returned no id of the asset that it created")
        self._stock[self.address, asset_id] = total
        return asset_id

    async def submit(self, transactions: Sequence[Any], *signers: Account, wait: bool = True) -> str:
        """Sign and submit transactions as one group (a single one without a group) and return the first one's id.

        One signer signs all of them; several sign one each, in their order.
        """
        return await self._node.submit(transactions, *signers, wait=wait)

    def list_group(self, tx_id: str) -> Sequence[str]:
        """Return the ids of the group of a transaction, or only its own id."""
        return self._node.groups.get(tx_id, (tx_id,))

    @staticmethod
    def spellings(tx_id: str) -> list[str]:
        """Return other texts that decode to the same transaction id."""
        return spellings(tx_id)


def _read_entry(entry: Mapping[str, Any]) -> tuple[str, int]:
    """Return the token and the price of an entry, in atomic units.

    Raises:
        Inconclusive: It has no token or no price.
    """
    extra = entry.get("extra")
    token = extra.get("payment_reference") if isinstance(extra, dict) else None
    if not isinstance(token, str) or not token:
        raise Inconclusive("the entry has no extra.payment_reference, so no payment can be welded to it")
    price = str(entry.get("maxAmountRequired"))
    if not (price.isascii() and price.isdecimal()):
        raise Inconclusive(f"the entry's maxAmountRequired {price!r} is no amount of atomic units")
    return token, int(price)


def _check_sendable(receiver: str, amount: int) -> None:
    if not encoding.is_valid_address(receiver):
        raise Inconclusive(f"{receiver[:80]!r} is no Algorand address, so nothing can be sent there")
    if not 0 <= amount < _UINT64:
        raise Inconclusive(f"{amount} is no amount that an Algorand transaction can carry")
