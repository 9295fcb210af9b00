"""Money of the operator that `weldproof pay` took and that bought nothing: it stays while it may be wanted.

After that it returns. The rail never answers a proof. The chain is a simulated Base, where a payment moves only when
the rail sends it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from tests import prepared
from tests.conformance.served import Served, serve
from tests.reference.rail.base_stack import SimulatedBase

CALL = "/pay/v1/compliance/receipt"
PRICE = 50_000


@pytest.fixture
def chain() -> Iterator[SimulatedBase]:
    """A simulated Base."""
    new_chain = SimulatedBase()
    yield new_chain
    new_chain.stop()


@contextmanager
def rail(chain: SimulatedBase, payee: str, status: int) -> Iterator[Served]:
    """A rail that asks for a price and answers every proof with one status and no receipt."""
    extra = {"payment_reference": "9" * 20 + ":rest", "name": "USD Coin", "version": "2"}
    entry: dict[str, Any] = {
        "scheme": "exact",
        "network": "eip155:8453",
        "asset": chain.usdc,
        "payTo": payee,
        "extra": extra,
    }
    entry |= {"maxAmountRequired": str(PRICE), "maxTimeoutSeconds": 1800}

    def answer(method: str, path: str, headers: Any, body: bytes) -> tuple[int, Any]:
        del body
        if path == "/openapi.json":
            return 200, {"paths": {CALL: {"post": {"responses": {"402": {"description": "pay"}}}}}}
        if method == "POST" and path == CALL:
            return (status, {"error": "down"}) if headers.get("X-PAYMENT") else (402, {"accepts": [entry]})
        return 404, {}

    with serve(answer) as rail_server:
        yield rail_server


@pytest.mark.parametrize(("status", "code"), [(503, 5), (200, 6)])
def test_an_authorization_that_was_never_used_returns_its_money(
    chain: SimulatedBase, tmp_path: Path, status: int, code: int
) -> None:
    """The account keeps the price while the authorization may be used; after its end, the funder has it again."""
    funder, payee = Account.create(), Account.create().address
    chain.control("fund", address=funder.address, amount=str(10**18))
    chain.control("mint", address=funder.address, amount="1000000")
    (tmp_path / "key").write_text(bytes(funder.key).hex())
    with rail(chain, payee, status) as rail_url:
        (tmp_path / "target.toml").write_text(
            f'[surfaces.rail]\nurl = "{rail_url.url}"\n[claims]\nsurfaces = ["rail"]\nlanes = ["base"]\n'
            f'[chains.base]\nnetwork = "base_mainnet"\nrpc = "{chain.rpc}"\nfunder = {{ file = "key" }}\n'
            'spending_limit = "100000"\n'
        )

        def pay(*words: str) -> Any:
            line = ["pay", *words, "--config", "target.toml", "--wait", "0", "--json", "--main-network"]
            env = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")}
            return prepared.run("conformance", *line, env=env, cwd=tmp_path, timeout=600)

        result = pay(rail_url.url + CALL)
        assert result.returncode == code, result.stderr
        document = json.loads(result.stdout)
        assert (document["state"], document["tx_id"]) == ("signed", None)
        file_text = Path(document["file"]).read_text()
        account = json.loads(file_text)["signed"]["payer"]
        assert (chain.usdc_of(funder.address), chain.usdc_of(account)) == (1_000_000 - PRICE, PRICE)
        assert bytes(funder.key).hex() not in file_text
        chain.control("block_time_offset", seconds=1800 + 3600 + 600)
        chain.control("advance", blocks=1)
        result = pay("--resume", document["file"])
        assert (result.returncode, "Nothing was paid" in result.stderr) == (1, True), result.stderr
        assert json.loads(result.stdout)["state"] == "not_paid"
        assert (chain.usdc_of(funder.address), chain.usdc_of(account)) == (1_000_000, 0)
        assert chain.usdc_of(payee) == 0
