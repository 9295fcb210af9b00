"""`python -m tests.load.rail_worker FOLDER`: one worker of the rail, whose chain is a file of payments.

All of the rail runs as it ships. Only the chain is replaced: a node would need longer for a transaction than the rail
for the call that it pays.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from reference.lanes.algorand.lane import AlgorandLane
from reference.protocol.networks import NETWORKS
from reference.protocol.observed_transaction import ABSENT, ObservedTransaction
from reference.rail.runtime import open_rail_with_lanes
from reference.rail.settings import RailSettings
from reference.web.http.asgi_envelope import AsgiApp
from reference.web.servers.serving import run_server
from reference.web.settings import read_settings
from tools.bench.reference.memory_rail import NoNode, describe_payment, name_transaction

PAYMENTS: Final = "payments"


class FileLane(AlgorandLane):
    """The Algorand lane over a file with one token in each line, which is paid by the transaction of its name."""

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
            self._tokens = {name_transaction(token): token for token in text.split()}
        token = self._tokens.get(tx_id)
        return ABSENT if token is None else describe_payment(token, self.facts.network.asset_id, self._amount)


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
