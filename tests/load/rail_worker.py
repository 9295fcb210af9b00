"""`python -m tests.load.rail_worker FOLDER`: one worker of the rail, whose chain is a file of payments.

All of the rail runs as it ships. Only the chain is replaced: a node would need longer for a transaction than the rail
for the call that it pays.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from algosdk import encoding

from reference.lanes.algorand.lane import AlgorandLane
from reference.lanes.lane import ChainUnavailable
from reference.lanes.node import Node
from reference.protocol.networks import NETWORKS
from reference.protocol.observed_transaction import ABSENT, ObservedTransaction, Transfer, TxStatus
from reference.rail.runtime import open_rail_with_lanes
from reference.rail.settings import RailSettings
from reference.web.http.asgi_envelope import AsgiApp
from reference.web.servers.serving import run_server
from reference.web.settings import read_settings

PAYEE: Final = str(encoding.encode_address(bytes(31) + b"\x02"))
PAYMENTS: Final = "payments"
_PAYER = str(encoding.encode_address(bytes(31) + b"\x01"))


def pay(token: str) -> str:
    """Return the id of the transaction that pays a token."""
    return base64.b32encode(hashlib.sha512(token.encode()).digest()[:32]).decode().rstrip("=")


class NoNode(Node):
    """A node that is never asked."""

    def __init__(self) -> None:
        """Take no connection."""

    async def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        del method, path, body
        raise ChainUnavailable("the chain is a file")


class FileLane(AlgorandLane):
    """The Algorand lane over a file with one token in each line: each is paid by the transaction of `pay`."""

    def __init__(self, file: Path, amount: int) -> None:
        super().__init__(NETWORKS["algorand_mainnet"], NoNode(), None)
        self._file = file
        self._amount = amount
        self._tokens: dict[str, str] = {}
        self._bytes_read = 0

    async def observe(self, tx_id: str) -> ObservedTransaction:
        """Return the payment as a final transaction of this moment."""
        if tx_id not in self._tokens and self._file.exists() and self._file.stat().st_size > self._bytes_read:
            text = await asyncio.to_thread(self._file.read_text, "ascii")
            self._bytes_read = len(text)
            self._tokens = {pay(token): token for token in text.split()}
        token = self._tokens.get(tx_id)
        if token is None:
            return ABSENT
        return ObservedTransaction(
            TxStatus.CONFIRMED,
            final=True,
            block_time=int(time.time()),
            sender=_PAYER,
            note=token.encode(),
            transfers=(Transfer(0, self.facts.network.asset_id, _PAYER, PAYEE, self._amount),),
        )


def main(folder: Path) -> None:
    """Serve until a signal ends the process."""
    settings = read_settings(RailSettings)
    lane = FileLane(folder / PAYMENTS, settings.price("receipt-verify"))

    @asynccontextmanager
    async def open_rail() -> AsyncIterator[AsgiApp]:
        async with open_rail_with_lanes(settings, {"algorand_mainnet": lane}) as app:
            yield app

    assert settings.rail_fd is not None
    run_server(open_rail, settings.rail_fd, settings.server)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
