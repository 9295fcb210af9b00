"""The stock Python client of x402 (PyPI `x402`) as a payer under test.

weldproof run PAYER --stock -- python examples/payers/stock_x402.py httpx
weldproof run PAYER --stock -- python examples/payers/stock_x402.py requests

The client is set up as its documentation has it: the scheme `exact` on one network, and spend controls with the limit.
"""
# ruff: noqa: INP001 - a script for people

import asyncio
import os
import sys
from pathlib import Path

import requests
from eth_account import Account
from x402.client import SpendControls, x402Client, x402ClientSync
from x402.http.clients.httpx import wrapHttpxWithPayment
from x402.http.clients.requests import wrapRequestsWithPayment
from x402.mechanisms.evm.exact.client import ExactEvmScheme
from x402.mechanisms.evm.signers import EthAccountSigner

ENV = {name.removeprefix("WELDPROOF_PAYER_"): value for name, value in os.environ.items()}
URL, SECONDS = ENV["URL"], float(ENV["SECONDS"])
BODY, HEADERS = Path(ENV["BODY_FILE"]).read_bytes(), {"Content-Type": "application/json"}
SCHEME = ExactEvmScheme(EthAccountSigner(Account.from_key(Path(ENV["ACCOUNT_FILE"]).read_text("ascii").strip())))
LIMIT: SpendControls = {
    "allowed_assets": [
        {"network": ENV["NETWORK"], "asset": ENV["ASSET"], "max_amount_per_payment": ENV["LIMIT"]},
    ]
}


async def call_with_httpx() -> tuple[int, bytes]:
    """Return status and body of the call, paid by the httpx client."""
    client = x402Client().register(ENV["NETWORK"], SCHEME).set_spend_controls(LIMIT)
    async with wrapHttpxWithPayment(client, timeout=SECONDS) as http:
        answer = await http.post(URL, content=BODY, headers=HEADERS)
        return answer.status_code, answer.content


def call_with_requests() -> tuple[int, bytes]:
    """Return status and body of the call, paid by the requests client."""
    client = x402ClientSync().register(ENV["NETWORK"], SCHEME).set_spend_controls(LIMIT)
    with wrapRequestsWithPayment(requests.Session(), client) as session:
        answer = session.post(URL, data=BODY, headers=HEADERS, timeout=SECONDS)
        return answer.status_code, answer.content


def main() -> str | None:
    """Make one paid call and print its answer."""
    is_async = sys.argv[1:] != ["requests"]
    try:
        status, body = asyncio.run(call_with_httpx()) if is_async else call_with_requests()
    except Exception as fault:  # noqa: BLE001 - whatever it is, the call was not served
        return f"not served: {type(fault).__name__}: {fault}"
    if status != 200:
        return f"not served: {status}"
    sys.stdout.buffer.write(body)
    return None


if __name__ == "__main__":
    sys.exit(main())
