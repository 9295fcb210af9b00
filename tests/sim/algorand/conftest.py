"""A simulated Algorand as a child process, and SDK clients for it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from algosdk import account, transaction
from algosdk.v2client.algod import AlgodClient
from algosdk.v2client.indexer import IndexerClient

from tests import prepared
from tests.algorand_signing import opt_in, signed_by

USDC = 31566704


@dataclass
class Node:
    """A running simulator with unmodified SDK clients."""

    algod_url: str
    indexer_url: str
    algod: AlgodClient
    indexer: IndexerClient

    def control(self, verb: str, **members: Any) -> tuple[int, dict[str, Any]]:
        """Carry out a control verb and return status and body."""
        body = json.dumps({"verb": verb, **members}).encode()
        return self.post(self.algod_url + "/control", body)

    def post(self, url: str, body: bytes) -> tuple[int, dict[str, Any]]:
        """Return status and JSON of a POST."""
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as answer:
            return answer.code, json.loads(answer.read())

    def fund_account(self, *assets: int) -> tuple[str, str]:
        """Return key and address of a fresh account with Algos and USDC."""
        key, address = account.generate_account()
        assert self.control("fund", address=address, amount="10000000")[0] == 200
        for asset in assets:
            opt_in(self.algod, key, asset)
            assert self.control("mint", address=address, amount="1000000", asset=str(asset))[0] == 200
        return key, address

    def send(self, key: str, transaction_to_send: Any) -> str:
        """Sign, submit and wait; return the transaction's id."""
        tx_id: str = self.algod.send_transaction(signed_by(key, transaction_to_send))
        transaction.wait_for_confirmation(self.algod, tx_id, 10)
        return tx_id

    def holding(self, address: str, asset: int) -> int | None:
        """Return what an account holds of an asset, None when it is not opted in."""
        info: Any = self.algod.account_info(address)
        return next((one["amount"] for one in info["assets"] if one["asset-id"] == asset), None)


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """A simulator of its own for each module, with blocks every 20 ms."""
    words = ["--algod-port", "0", "--indexer-port", "0", "--block-seconds", "0.02"]
    with prepared.run_ready("sim.algorand", *words) as ready:
        algod = AlgodClient(ready["token"], ready["algod"], {"X-Algo-API-Token": ready["token"]})
        indexer = IndexerClient(ready["token"], ready["indexer"], {"X-Indexer-API-Token": ready["token"]})
        yield Node(ready["algod"], ready["indexer"], algod, indexer)
