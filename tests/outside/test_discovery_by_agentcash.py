"""AgentCash's discovery finds the rail, and finds no error in what it publishes and in its challenges."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import httpx

from localnet.npm import node_modules
from programs.node import node

HERE = Path(__file__).parent / "agentcash"
PRICES = {
    "/pay/v1/verify/receipt": "0.01 USD",
    "/pay/v1/verify/rfc9421": "0.01 USD",
    "/pay/v1/compliance/receipt": "0.05 USD",
}


def opinion(origin: str, bodies: list[Any]) -> dict[str, Any]:
    """Return what AgentCash says of an origin, its paid endpoints, and further 402 bodies."""
    words = [str(node().path), str(HERE / "opinion.mjs"), str(node_modules(HERE).parent)]
    asked = json.dumps({"origin": origin, "paths": list(PRICES), "bodies": bodies})
    done = subprocess.run(words, input=asked, capture_output=True, text=True, timeout=600, check=True)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def errors(warnings: list[dict[str, Any]]) -> list[str]:
    """Return the codes of what is an error."""
    return [one["code"] for one in warnings if one["severity"] == "error"]


def test_agentcash_finds_no_error(stack: dict[str, str]) -> None:
    """Neither in the contract nor in a challenge; a challenge without an output's schema, or a price, has one."""
    right = httpx.post(stack["rail"] + next(iter(PRICES)), trust_env=False).json()
    without_output, without_price = copy.deepcopy(right), copy.deepcopy(right)
    del without_output["extensions"]["bazaar"]["schema"]["properties"]["output"]
    del without_price["accepts"][0]["amount"]

    said = opinion(stack["rail"], [right, without_output, without_price])

    assert sorted(said["origin"]["paid"]) == sorted(
        f"{method} {path} {price}" for path, price in PRICES.items() for method in ("GET", "POST")
    )
    assert errors(said["origin"]["warnings"]) == []
    for path in PRICES:
        found = said["endpoints"][path]
        assert (sorted(found["probed"]), errors(found["warnings"])) == (["GET", "POST"], []), path
    whole, *broken = [errors(one) for one in said["bodies"]]
    assert whole == []
    assert broken[0] == ["SCHEMA_OUTPUT_MISSING"]
    assert "COINBASE_SCHEMA_INVALID" in broken[1]
