"""One of the scripts in `examples` as a payer under test.

weldproof run PAYER --lane base -- python examples/payers/sdk_script.py examples/pay_with_viem.mjs
"""
# ruff: noqa: INP001 - a script for people

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

ENV = {name.removeprefix("WELDPROOF_PAYER_"): value for name, value in os.environ.items()}
script = Path(sys.argv[1])
address = urlsplit(ENV["URL"])
os.environ |= {
    "RAIL_URL": f"{address.scheme}://{address.netloc}",
    "QUERY": address.query,
    "KEY_FILE": ENV["ACCOUNT_FILE"],
    "PROOF_FILE": str(Path(ENV["STATE_DIR"], "payment.json")),
    "NETWORK": ENV["NETWORK"],
    "ASSET": ENV["ASSET"],
    "PRICE_AT_MOST": ENV["LIMIT"],
    "SECONDS_AT_MOST": ENV["SECONDS"],
    "ALGOD_URL": ENV["NODE"],
    "RPC_URL": ENV["NODE"],
}
if "NODE_TOKEN_FILE" in ENV:
    os.environ["ALGOD_TOKEN"] = Path(ENV["NODE_TOKEN_FILE"]).read_text("ascii").strip()
if "NODE_WS" in ENV:
    os.environ["WS_URL"] = ENV["NODE_WS"]
runtime = os.environ.get("NODE", "node") if script.suffix == ".mjs" else sys.executable
os.execvp(runtime, [runtime, str(script)])  # noqa: S606 - the payer itself, in place of this process
