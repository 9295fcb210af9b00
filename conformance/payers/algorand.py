"""The Algorand payer: unmodified py-algorand-sdk, real keys, real transactions."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
from algosdk import account, encoding, mnemonic, transaction
from algosdk.error import AlgodHTTPError, AlgodResponseError
from algosdk.v2client.algod import AlgodClient

from conformance.check import Inconclusive
from conformance.client import Names
from conformance.target import AlgorandChain, Budgets

T = TypeVar("T")
_THREADS = 16
_FUND = "100000000"
_MINT = "1000000000"
_POLL_SECONDS = 0.05
_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


@dataclass(frozen=True, slots=True, repr=False)
class Account:
    """An account of the suite; its key shows in no text."""

    address: str
    key: str = field(repr=False)


class Refused(Inconclusive):
    """The node refused a transaction; the text is its reason."""


class AlgorandPayer:
    """Pays and attacks on one Algorand network. Node trouble becomes `Inconclusive`."""

    lane = "algorand"

    def __init__(self, chain: AlgorandChain, budgets: Budgets, names: Names) -> None:
        self._chain = chain
        self._budgets = budgets
        self._names = names
        token = chain.token.read() if chain.token is not None else ""
        names.secret(token, "ALGOD_TOKEN")
        self._algod = AlgodClient(token, chain.algod, {"X-Algo-API-Token": token})
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="algorand")
        self._session: aiohttp.ClientSession | None = None
        self._params: transaction.SuggestedParams | None = None
        self._funder: Account | None = None
        self._main: Account | None = None
        self._opened: set[int] = set()
        self._genesis = ""

    @classmethod
    async def open(cls, chain: AlgorandChain, budgets: Budgets, names: Names, seed: int) -> AlgorandPayer:
        """Open a payer with a funded account.

        Raises:
            Inconclusive: The node cannot be asked, or there is no way to fund an account.
        """
        del seed  # accounts are fresh in every run; only what is sent to the target follows the seed
        self = cls(chain, budgets, names)
        self._session = aiohttp.ClientSession(trust_env=False, timeout=aiohttp.ClientTimeout(total=budgets.request))
        try:
            params = await self.params()
            self._genesis = str(params.gh)
            if chain.funder is not None:
                self._funder = self._account(mnemonic.to_private_key(chain.funder.read()))
            elif chain.control is None:
                raise Inconclusive("[chains.algorand] gives neither control nor funder, so no account can pay")
            self._main = self._funder or await self.new_account()
        except BaseException:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Close connections and threads."""
        if self._session is not None:
            await self._session.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def caip2(self) -> str:
        """CAIP-2 name of the network by its genesis hash."""
        return "algorand:" + self._genesis.replace("+", "-").replace("/", "_")[:32]

    @property
    def network_key(self) -> str:
        """Underscore name of the network, as the profile says."""
        return self._chain.network

    @property
    def address(self) -> str:
        """The paying account."""
        return self.main.address

    @property
    def main(self) -> Account:
        """The paying account with its key."""
        if self._main is None:
            raise Inconclusive("the Algorand payer is not open")
        return self._main

    @property
    def has_control(self) -> bool:
        """Whether the node has control verbs."""
        return self._chain.control is not None

    # Asking the node.

    async def _ask(self, call: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await asyncio.wait_for(loop.run_in_executor(self._threads, call), self._budgets.request)
        except (AlgodResponseError, OSError, TimeoutError, ValueError) as fault:
            raise Inconclusive(f"the Algorand node could not be asked: {type(fault).__name__}: {fault}") from fault

    async def params(self) -> transaction.SuggestedParams:
        """Return suggested parameters, fresh from the node."""
        params: transaction.SuggestedParams = await self._ask(self._algod.suggested_params)
        params.flat_fee, params.fee = True, max(1000, params.min_fee or 0)
        return params

    async def block_time(self) -> int:
        """Return the time of the newest block in unix seconds."""
        status: Any = await self._ask(self._algod.status)
        block: Any = await self._ask(lambda: self._algod.block_info(status["last-round"]))
        return int(block["block"]["ts"])

    async def balance(self, address: str, asset: int) -> int:
        """Return what an account holds of an asset in atomic units."""
        info: Any = await self._ask(lambda: self._algod.account_info(address))
        return next((int(one["amount"]) for one in info.get("assets", []) if one["asset-id"] == asset), 0)

    async def control(self, verb: str, **members: Any) -> dict[str, Any]:
        """Carry out a control verb of a simulated node.

        Raises:
            Inconclusive: The node has none, or refused it.
        """
        if self._chain.control is None or self._session is None:
            raise Inconclusive("this Algorand node has no control verbs")
        try:
            async with self._session.post(self._chain.control, json={"verb": verb, **members}) as response:
                answer = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as fault:
            raise Inconclusive(f"the control address could not be asked: {fault}") from fault
        if not isinstance(answer, dict) or answer.get("ok") is not True:
            raise Inconclusive(f"the node refused {verb}: {answer}")
        return answer

    async def fault_names(self) -> tuple[str, ...]:
        """Return the faults that the node can be made to show; none without control verbs."""
        if self._chain.control is None or self._session is None:
            return ()
        async with self._session.get(self._chain.control) as response:
            answer = await response.json(content_type=None)
        return tuple(answer.get("faults", ()))

    # Accounts.

    def _account(self, key: str) -> Account:
        self._names.secret(key, "PAYER_KEY")
        return Account(account.address_from_private_key(key), key)

    async def new_account(self, *, funded: bool = True, assets: Sequence[int] = ()) -> Account:
        """Return a fresh account, with Algos for fees and opted in to `assets`."""
        fresh = self._account(account.generate_account()[0])
        if funded:
            if self.has_control:
                await self.control("fund", address=fresh.address, amount=_FUND)
            else:
                await self.send_native(fresh.address, 1_000_000)
        for asset in assets:
            await self.transfer(asset=asset, receiver=fresh.address, amount=0, sender=fresh)
        return fresh

    async def hold(self, asset: int) -> None:
        """Make sure that the paying account holds enough of an asset."""
        if asset in self._opened or not self.has_control:
            return
        self._opened.add(asset)
        await self.control("mint", address=self.address, amount=_MINT, asset=str(asset))

    # Transactions.

    async def pay(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Pay an `accepts` entry: the note is the challenge token, exactly."""
        token = str(entry["extra"]["payment_reference"])
        tx_id = await self.transfer(
            asset=self.asset_id(entry),
            receiver=str(entry["payTo"]),
            amount=int(entry["maxAmountRequired"]),
            note=token.encode(),
        )
        return {"tx_id": tx_id, "payment_reference": token}

    @staticmethod
    def asset_id(entry: Mapping[str, Any]) -> int:
        """Return the asset of an entry.

        Raises:
            Inconclusive: It names none.
        """
        text = str(entry.get("asset", ""))
        if not text.isdecimal():
            raise Inconclusive(f"the entry's asset {text!r} is no Algorand asset id")
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
        """Send an asset transfer and return its id; `wait` for its block.

        Raises:
            Refused: The node refuses it.
            Inconclusive: The node cannot be asked, or the transaction is not confirmed in time.
        """
        payer = sender or self.main
        if sender is None:
            await self.hold(asset)
        params = await self.params()
        if first_valid is not None:
            params.first, params.last = first_valid, first_valid + 1000
        sent = transaction.AssetTransferTxn(
            payer.address,
            params,
            receiver,
            amount,
            asset,
            close_assets_to=close_to,
            revocation_target=clawback_target,
            note=note or None,
            rekey_to=rekey_to,
        )
        return await self.submit([sent], payer, wait=wait)

    async def send_native(self, receiver: str, amount: int, note: bytes = b"") -> str:
        """Send Algos and return the transaction's id."""
        sent = transaction.PaymentTxn(self.address, await self.params(), receiver, amount, note=note or None)
        return await self.submit([sent], self.main)

    async def create_asset(self, *, unit_name: str = "USDC", decimals: int = 6, total: int = 10**15) -> int:
        """Create an asset that looks like another one and return its id."""
        sent = transaction.AssetConfigTxn(
            self.address,
            await self.params(),
            total=total,
            decimals=decimals,
            unit_name=unit_name,
            asset_name=unit_name,
            default_frozen=False,
            manager=self.address,
            strict_empty_address_check=False,
        )
        tx_id = await self.submit([sent], self.main)
        info = await self._info(tx_id)
        self._opened.add(int(info["asset-index"]))
        return int(info["asset-index"])

    async def submit(self, unsigned: Sequence[Any], signer: Account, *, wait: bool = True) -> str:
        """Sign and submit transactions as one group (one alone stands alone) and return the first one's id."""
        if len(unsigned) > 1:
            transaction.assign_group_id(list(unsigned))
        signed = [one.sign(signer.key) for one in unsigned]
        tx_id = str(unsigned[0].get_txid())
        self._names.name(tx_id, "TX_ID")
        raw = b"".join(base64.b64decode(encoding.msgpack_encode(one)) for one in signed)
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(
                self._threads, lambda: self._algod.send_raw_transaction(base64.b64encode(raw).decode())
            )
        except AlgodHTTPError as fault:
            raise Refused(str(fault)) from fault
        except (OSError, ValueError, json.JSONDecodeError) as fault:
            raise Inconclusive(f"the Algorand node could not be asked: {fault}") from fault
        if wait:
            await self.confirmed(tx_id)
        return tx_id

    async def left_pool(self, tx_id: str) -> None:
        """Wait until a transaction has left the pool with an error.

        Raises:
            Inconclusive: It was confirmed, or still waits when the budget is over.
        """
        ends = asyncio.get_running_loop().time() + self._budgets.confirmation
        while not (info := await self._info(tx_id)).get("pool-error"):
            if info.get("confirmed-round", 0) > 0 or asyncio.get_running_loop().time() > ends:
                raise Inconclusive("the node did not drop the transaction from its pool")
            await asyncio.sleep(_POLL_SECONDS)

    async def _info(self, tx_id: str) -> Mapping[str, Any]:
        info: Any = await self._ask(lambda: self._algod.pending_transaction_info(tx_id))
        if not isinstance(info, dict):
            raise Inconclusive("the Algorand node told nothing about a transaction it took")
        return info

    async def confirmed(self, tx_id: str) -> int:
        """Wait for a transaction's block and return its round.

        Raises:
            Inconclusive: It failed, or is not confirmed within the budget.
        """
        ends = asyncio.get_running_loop().time() + self._budgets.confirmation
        while True:
            info = await self._info(tx_id)
            if info.get("confirmed-round", 0) > 0:
                return int(info["confirmed-round"])
            if info.get("pool-error"):
                raise Inconclusive(f"the transaction left the pool: {info['pool-error']}")
            if asyncio.get_running_loop().time() > ends:
                raise Inconclusive(f"the transaction was not confirmed within {self._budgets.confirmation:g} s")
            await asyncio.sleep(_POLL_SECONDS)


def invented_id(random_bytes: bytes | None = None) -> str:
    """Return a well-formed transaction id that no chain knows."""
    raw = random_bytes or os.urandom(32)
    return base64.b32encode(raw).decode().rstrip("=")


def spellings(tx_id: str) -> list[str]:
    """Return the three other texts that decode to the same id: its last character has four spare bits."""
    last = _BASE32.index(tx_id[-1])
    return [tx_id[:-1] + _BASE32[(last & 0b10000) | spare] for spare in (1, 7, 15)]
