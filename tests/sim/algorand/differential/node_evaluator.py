"""The go-algorand evaluator over line-JSON; runs in an environment of its own, never in the project's.

Reads one JSON object a line: `{"accounts": {address: {"algos", "holding": int or null, "frozen", "auth": address or
null}}, "asset", "roles": address, "group": [base64 msgpack]}`. Writes one a line: `{"error": text or null, "after":
{address: [algos, holding or null]}}`. The first line it writes is `{"genesis_hash", "genesis_id"}`.
"""

import fcntl
import json
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

from algojig import JigLedger, get_suggested_params  # noqa: E402
from algosdk import encoding  # noqa: E402

# The library's own name, whatever TMPDIR is.
SCRATCH = Path("/tmp/jig")  # noqa: S108


def evaluate(case: dict[str, Any]) -> dict[str, Any]:
    """Return what the evaluator makes of one case."""
    ledger = JigLedger()
    roles = encoding.decode_address(case["roles"])
    params = {"decimals": 6, "unit_name": "USDC", "manager": roles, "freeze": roles, "clawback": roles}
    ledger.create_asset(case["asset"], params)
    for address, account in case["accounts"].items():
        ledger.set_account_balance(address, account["algos"])
        if account["holding"] is not None:
            ledger.set_account_balance(address, account["holding"], asset_id=case["asset"], frozen=account["frozen"])
        if account["auth"] is not None:
            ledger.set_auth_addr(address, account["auth"])
    group = [encoding.msgpack_decode(text) for text in case["group"]]
    try:
        ledger.eval_transactions(group)
    except Exception as refusal:  # noqa: BLE001 - the library raises a bare Exception for every refusal
        return {"error": str(refusal), "after": {}}
    after = {
        address: [ledger.get_account_balance(address)[0], read_holding(ledger, address, case["asset"])]
        for address in case["accounts"]
    }
    return {"error": None, "after": after}


def read_holding(ledger: JigLedger, address: str, asset: int) -> Any:
    """Return a holding, or None when the account is not opted in."""
    return ledger.accounts.get(address, {"balances": {}})["balances"].get(asset, [None])[0]


def text_of(value: Any) -> Any:
    """Return a text that a library may give as bytes."""
    return value.decode() if isinstance(value, bytes) else value


def say(value: dict[str, Any]) -> None:
    """Write one line of JSON."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answer cases until standard input ends; the evaluator's scratch folder takes one at a time.

    The folder is deleted in between, for it has one name for all users of a machine.
    """
    params = get_suggested_params()
    say({"genesis_hash": text_of(params.gh), "genesis_id": params.gen or ""})
    with (Path(tempfile.gettempdir()) / "jig.lock").open("w") as lock:
        for line in sys.stdin:
            fcntl.flock(lock, fcntl.LOCK_EX)
            answer = evaluate(json.loads(line))
            shutil.rmtree(SCRATCH, ignore_errors=True)
            fcntl.flock(lock, fcntl.LOCK_UN)
            say(answer)


if __name__ == "__main__":
    main()
