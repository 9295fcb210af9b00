"""Algorand node: unmodified py-algorand-sdk calls on threads, with every fault of the node as `Inconclusive`."""

from __future__ import annotations

import asyncio
import base64
import http.client
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

import msgpack
from algosdk import account, encoding, transaction
from algosdk.atomic_transaction_composer import AccountTransactionSigner
from algosdk.error import AlgodHTTPError, AlgodResponseError

from conformance.http.client import Names
from conformance.lanes.algorand.bounded_algod import BoundedAlgod
from conformance.lanes.main_network_guard import NodeNetwork
from conformance.lanes.node_control import NodeControl, read_secret
from conformance.outcome import Inconclusive
from conformance.target import Budgets
from conformance.target.lanes.algorand import AlgorandChain

T = TypeVar("T")
# The SDK blocks a thread for each question; checks ask concurrently.
_THREADS = 16
_FIRST_WAIT, _LONGEST_WAIT, _LONGER = 0.05, 1.0, 1.5
# Algorand's longest validity of a transaction, in rounds.
_LIFE = 1000
_LIVES = 500
_SHORT = 300
# A CAIP-2 name contains this many letters of the genesis hash.
_CAIP2 = 32
# A node takes a transaction into its pool before it passes it on, and gives this answer if it cannot pass it on. The
# only node of a private network never can, and still puts the transaction into a block.
_QUEUE_FULL = "broadcast queue full"
# The exceptions that the SDK lets through if an answer is not JSON, not an object, or lacks members.
_STRANGE = (
    AlgodResponseError,
    http.client.HTTPException,
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

    address: str
    key: str = field(repr=False)


class Refused(Inconclusive):
    """A refusal of a transaction by the node, with its reason. A check that did not expect it decides nothing.

    Attributes:
        tx_id: Id of the transaction that was refused.
    """

    def __init__(self, reason: str, tx_id: str) -> None:
        super().__init__(reason)
        self.tx_id = tx_id


class AlgorandNode:
    """Client of one node: queries and submissions; every fault other than a refusal is `Inconclusive`."""

    def __init__(self, chain: AlgorandChain, budgets: Budgets, names: Names) -> None:
        self._budgets = budgets
        self._names = names
        token = "" if chain.token is None else read_secret(chain.token, names, "ALGOD_TOKEN", f"chains.{chain.lane}")
        self._algod = BoundedAlgod(token, chain.algod.rstrip("/"), budgets.request)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="algorand")
        self.control = NodeControl(chain.control, "Algorand", budgets.request)
        self._lives = count()
        # Ids of each group that was submitted, by that of its first transaction.
        self.groups: dict[str, tuple[str, ...]] = {}

    async def close(self) -> None:
        """Close connections and threads."""
        await self.control.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def account(self, key: str | None = None) -> Account:
        """Return the account of a private key, or a new account; the key is redacted in all logs."""
        private_key = key or account.generate_account()[0]
        self._names.key(private_key, "PAYER_KEY", is_given=key is not None)
        return Account(account.address_from_private_key(private_key), private_key)

    # Asking.

    async def _call(self, call: Callable[[], T]) -> T:
        """Run a blocking SDK call on a thread; only refusals by the node keep their exception."""
        # The SDK blocks, and has no timeout for the whole answer; the event loop must serve the other checks
        # meanwhile.
        future = asyncio.get_running_loop().run_in_executor(self._threads, call)
        try:
            async with asyncio.timeout(self._budgets.request):
                return await future
        except TimeoutError as fault:
            raise Inconclusive(f"the Algorand node gave no answer within {self._budgets.request:g} s") from fault
        except _STRANGE as fault:
            reason = f"{type(fault).__name__}: {fault}"[:_SHORT]
            raise Inconclusive(f"the Algorand node could not be asked: {reason}") from fault

    async def _ask(self, call: Callable[[], T]) -> T:
        try:
            return await self._call(call)
        except AlgodHTTPError as fault:
            raise Inconclusive(f"the Algorand node answered {fault.code}: {fault}"[:_SHORT]) from fault

    async def params(self, first_valid: int | None = None) -> transaction.SuggestedParams:
        """Return parameters with the flat minimum fee, fresh from the node."""
        params: transaction.SuggestedParams = await self._ask(self._algod.suggested_params)
        params.flat_fee, params.fee = True, max(1000, params.min_fee or 0)
        params.first = params.first if first_valid is None else first_valid
        # Consecutive transactions get different last valid rounds. Equal transactions would have one id, and the node
        # takes an id only once. A note or a lease cannot distinguish them, because checks choose the note.
        params.last = params.first + _LIFE - next(self._lives) % _LIVES
        return params

    async def read_network(self) -> NodeNetwork:
        """Return the network of the node, by its genesis hash."""
        genesis = str((await self.params()).gh)
        return NodeNetwork("algorand:" + genesis.replace("+", "-").replace("/", "_")[:_CAIP2])

    async def decimals(self, asset: int) -> int:
        """Return an asset's decimals."""

        def ask() -> int:
            info: Any = self._algod.asset_info(asset)
            return int(info["params"]["decimals"])

        return await self._ask(ask)

    async def block_time(self) -> int:
        """Return the time of the newest block in unix seconds."""

        def ask() -> int:
            status: Any = self._algod.status()
            block: Any = self._algod.block_info(status["last-round"])
            return int(block["block"].get("ts", 0))

        return await self._ask(ask)

    async def next_block_time(self) -> int:
        """Return the time of the newest block: the next one is not older."""
        return await self.block_time()

    async def newest_round(self) -> int:
        """Return the number of the newest block."""

        def ask() -> int:
            status: Any = self._algod.status()
            return int(status["last-round"])

        return await self._ask(ask)

    async def holdings(self, address: str) -> Mapping[str, Any]:
        """Return the state of an account: Algos, minimum balance, assets held and created."""
        info: Any = await self._ask(lambda: self._algod.account_info(address))
        if not isinstance(info, dict):
            raise Inconclusive("the Algorand node returned nothing about an account")
        return info

    async def balance(self, address: str, asset: int) -> int | None:
        """Return the balance of an asset in atomic units, or None if the account has not opted in."""
        assets = (await self.holdings(address)).get("assets", [])
        return next((int(one["amount"]) for one in assets if one["asset-id"] == asset), None)

    # Submitting.

    async def submit(self, transactions: Sequence[Any], *signers: Account, wait: bool = True) -> str:
        """Sign and submit transactions as one group (a single one without a group) and return the first one's id.

        One signer signs all of them; several sign one each, in their order.

        Raises:
            Refused: The node refuses them.
            Inconclusive: The node cannot be asked, or the first is not confirmed in time.
        """
        tx_id, raw = self.sign(transactions, *signers)
        await self.send(tx_id, raw)
        if wait:
            await self.wait_for_block(tx_id)
        return tx_id

    def sign(self, transactions: Sequence[Any], *signers: Account) -> tuple[str, bytes]:
        """Sign transactions as one group, without sending them; return the first one's id and the bytes to send."""
        keys = [signer.key for signer in signers] if len(signers) > 1 else [signers[0].key] * len(transactions)
        if len(transactions) > 1:
            transaction.assign_group_id(list(transactions))
        pairs = zip(transactions, keys, strict=True)
        signed_transactions = [
            AccountTransactionSigner(key).sign_transactions([group_id], [0])[0] for group_id, key in pairs
        ]
        raw = b"".join(base64.b64decode(encoding.msgpack_encode(group_id)) for group_id in signed_transactions)
        tx_id = str(transactions[0].get_txid())
        self.groups[tx_id] = tuple(str(group_id.get_txid()) for group_id in transactions)
        for group_id in self.groups[tx_id]:
            self._names.name(group_id, "TX_ID")
        return tx_id, raw

    async def send(self, tx_id: str, raw: bytes) -> None:
        """Give the node signed transactions.

        Raises:
            Refused: The node refuses them.
            Inconclusive: The node cannot be asked.
        """
        try:
            await self._call(lambda: self._algod.send_raw_transaction(base64.b64encode(raw).decode()))
        except AlgodHTTPError as fault:
            # The transaction is in the pool, so it can be in a block: this is not a refusal.
            if _QUEUE_FULL in str(fault) and await self.info(tx_id):
                return
            # algod answers 400 if it judged the transaction; every other status is about the node itself.
            if fault.code == http.HTTPStatus.BAD_REQUEST:
                raise Refused(f"the Algorand node refused the transaction: {fault}"[:_SHORT], tx_id) from fault
            raise Inconclusive(
                f"the Algorand node answered a submission with {fault.code}: {fault}"[:_SHORT]
            ) from fault

    async def info(self, tx_id: str) -> Mapping[str, Any]:
        """Return the state of a transaction; empty if the node does not know it (yet)."""
        try:
            info: Any = await self._call(lambda: self._algod.pending_transaction_info(tx_id))
        except AlgodHTTPError as fault:
            # algod answers 404 for a transaction that it does not know, or has forgotten.
            if fault.code == http.HTTPStatus.NOT_FOUND:
                return {}
            raise Inconclusive(f"the Algorand node answered {fault.code}: {fault}"[:_SHORT]) from fault
        if not isinstance(info, dict):
            raise Inconclusive("the Algorand node returned nothing readable about a transaction")
        return info

    async def read_evidence(self, tx_id: str) -> Mapping[str, Any] | None:
        """Return a transaction with its outcome and block, as the weld's oracle takes them; None if it is unknown.

        Raises:
            Inconclusive: The node could not be asked.
        """
        info = await self.info(tx_id)
        if not info:
            return None
        path, options = f"/transactions/pending/{tx_id}", {"format": "msgpack"}
        raw = await self._ask(lambda: self._algod.algod_request("GET", path, params=options, response_format="msgpack"))
        # The signature covers bytes, so the transaction is packed again in the order in which the node wrote it.
        signed_bytes = msgpack.packb(msgpack.unpackb(raw)["txn"])
        number = info.get("confirmed-round")
        block = None
        if number:
            block_info: Any = await self._ask(lambda: self._algod.block_info(number))
            block = {"round": number, "time": int(block_info["block"].get("ts", 0))}
        outcome = "confirmed" if number else "failed" if info.get("pool-error") else "pending"
        encoded = base64.b64encode(signed_bytes).decode("ascii")
        return {"signed_transaction_b64": encoded, "outcome": outcome, "block": block}

    async def wait_for_block(self, tx_id: str) -> int:
        """Wait for a transaction's block and return its round.

        Raises:
            Inconclusive: It failed, or is not confirmed within the budget.
        """
        info = await self._poll_until(tx_id, lambda info: bool(info.get("confirmed-round") or info.get("pool-error")))
        if info.get("pool-error"):
            raise Inconclusive(f"the transaction left the pool: {info['pool-error']}")
        if not info.get("confirmed-round"):
            raise Inconclusive(f"the transaction was not confirmed within {self._budgets.confirmation:g} s")
        return int(info["confirmed-round"])

    async def wait_for_drop(self, tx_id: str) -> None:
        """Wait until a transaction has left the pool with an error.

        Raises:
            Inconclusive: It was confirmed, or still waits when the budget is over.
        """
        info = await self._poll_until(tx_id, lambda info: bool(info.get("confirmed-round") or info.get("pool-error")))
        if not info.get("pool-error"):
            raise Inconclusive("the node did not drop the transaction from its pool")

    async def _poll_until(self, tx_id: str, is_decided: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any]:
        """Ask for a transaction, ever less often, until `is_decided` or the budget is over; return the last answer."""
        loop, wait = asyncio.get_running_loop(), _FIRST_WAIT
        ends = loop.time() + self._budgets.confirmation
        while not is_decided(info := await self.info(tx_id)) and loop.time() < ends:
            await asyncio.sleep(wait)
            wait = min(wait * _LONGER, _LONGEST_WAIT)
        return info
