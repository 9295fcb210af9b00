"""The rail with its chain in memory: all of it but the node, which answers at once and needs no connection."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
from algosdk import encoding

from reference.lanes.algorand.lane import AlgorandLane
from reference.lanes.base.account import EvmAccount
from reference.lanes.base.lane import BaseLane
from reference.lanes.json_rpc import JsonRpc
from reference.lanes.lane import ChainUnavailable, Lane
from reference.lanes.node import Node
from reference.lanes.solana.lane import SolanaLane
from reference.protocol import solana_transfers
from reference.protocol.networks import NETWORKS
from reference.protocol.observed_transaction import ABSENT, ObservedTransaction, Transfer, TxStatus
from reference.rail.runtime import open_rail_with_lanes
from reference.rail.settings import RailSettings
from reference.web.http.asgi_envelope import AsgiApp
from tools.bench.reference.asgi_calls import call
from tools.bench.reference.material import Receipt

PATH = "/pay/v1/verify/receipt"
_PAYER = str(encoding.encode_address(bytes(31) + b"\x01"))
PAYEE = str(encoding.encode_address(bytes(31) + b"\x02"))


def name_transaction(token: str) -> str:
    """Return the id of the transaction that pays a token."""
    return base64.b32encode(hashlib.sha512(token.encode()).digest()[:32]).decode().rstrip("=")


def describe_payment(token: str, asset: str, amount: int) -> ObservedTransaction:
    """Return the payment of a token as a final transaction of this moment."""
    return ObservedTransaction(
        TxStatus.CONFIRMED,
        final=True,
        block_time=int(time.time()),
        sender=_PAYER,
        note=token.encode(),
        transfers=(Transfer(0, asset, _PAYER, PAYEE, amount),),
    )


class NoNode(Node):
    """A node that is never asked."""

    def __init__(self) -> None:
        """Take no connection."""

    async def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        del method, path, body
        raise ChainUnavailable("the chain has no node")


class MemoryLane(AlgorandLane):
    """The Algorand lane over payments that are held in memory."""

    def __init__(self, amount: int) -> None:
        super().__init__(NETWORKS["algorand_mainnet"], NoNode(), None)
        self._amount = amount
        self._tokens: dict[str, str] = {}

    def pay(self, token: str) -> str:
        """Hold a payment of a token and return its transaction id."""
        tx_id = name_transaction(token)
        self._tokens[tx_id] = token
        return tx_id

    async def observe(self, tx_id: str) -> ObservedTransaction:
        """Return the payment as a final transaction of this moment."""
        token = self._tokens.pop(tx_id, None)
        return ABSENT if token is None else describe_payment(token, self.facts.network.asset_id, self._amount)


class MemoryRail:
    """A rail that offers the three lanes and is paid on the one in memory."""

    def __init__(self, app: AsgiApp, lane: MemoryLane, receipt: Receipt) -> None:
        self.app = app
        self._lane = lane
        self.body = orjson.dumps({"jws": receipt.jws, "jwks": receipt.jwks})

    async def proofs(self, count: int) -> list[bytes]:
        """Return values of `X-PAYMENT`, each of a payment of its own for the call with `body`."""
        return [await self._proof() for _ in range(count)]

    async def _proof(self) -> bytes:
        answer = await call(self.app, "POST", PATH, self.body)
        token = orjson.loads(answer.body)["accepts"][0]["extra"]["payment_reference"]
        return base64.b64encode(orjson.dumps({"tx_id": self._lane.pay(token), "payment_reference": token}))


@asynccontextmanager
async def memory_rail(folder: Path, receipt: Receipt) -> AsyncIterator[MemoryRail]:
    """Open a rail whose data lies in `folder`: no limits of rate, everything else as it ships."""
    folder.mkdir(parents=True, exist_ok=True)
    key_file = folder / "settler_key"
    key_file.write_text(secrets.token_hex(32), "ascii")
    settings = RailSettings(
        rail_data_dir=folder,
        rail_settler_key_file=key_file,
        rail_payto={
            "algorand": PAYEE,
            "base": EvmAccount(bytes(31) + b"\x02").address,
            "solana": solana_transfers.reference_account(bytes(31) + b"\x02"),
        },
        rate_limits=False,
    )
    lane = MemoryLane(settings.price("receipt-verify"))
    node = JsonRpc(NoNode())
    lanes: dict[str, Lane] = {
        "algorand_mainnet": lane,
        "base_mainnet": BaseLane(NETWORKS["base_mainnet"], node, settings.evm_confirmations),
        "solana_mainnet": SolanaLane(NETWORKS["solana_mainnet"], node, settings.word, settings.solana_commitment),
    }
    async with open_rail_with_lanes(settings, lanes) as app:
        yield MemoryRail(app, lane, receipt)
