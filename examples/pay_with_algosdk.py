"""Pay for one call on Algorand with py-algorand-sdk: an asset transfer whose note is the challenge's token.

Reads RAIL_URL, ALGOD_URL, ALGOD_TOKEN and KEY_FILE (the base64 of seed and public key) from the environment.
"""
# ruff: noqa: INP001, T201 - a script for people, which prints

import base64
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import jwt
import rfc8785
from algosdk.account import address_from_private_key
from algosdk.atomic_transaction_composer import AccountTransactionSigner
from algosdk.transaction import AssetTransferTxn, wait_for_confirmation
from algosdk.v2client.algod import AlgodClient

RAIL = os.environ["RAIL_URL"].rstrip("/")
SERVICE, PATH = "compliance-receipt", "/pay/v1/compliance/receipt"
BODY = {"recipient_address": "screen-allow", "network": "algorand_mainnet"}
LEFT_AT_LEAST = 120  # seconds; with less, a slow chain could cost the payment its challenge
PRICE_AT_MOST = 100_000  # atomic units, 0.10 USDC
ROUNDS = 10  # within which the transfer is confirmed, or never


def check(entry: dict[str, Any]) -> None:
    """Stop before any money moves, unless the challenge is for this request, affordable and fresh."""
    request: dict[str, Any] = {"body": BODY, "method": "POST", "path": PATH, "query": "", "service_id": SERVICE}
    if entry["extra"]["request_hash"] != "sha256:" + hashlib.sha256(rfc8785.dumps(request)).hexdigest():
        raise SystemExit("the challenge is for another request")
    issued = int(entry["extra"]["payment_reference"].split(":")[0])
    if issued + entry["maxTimeoutSeconds"] - time.time() <= LEFT_AT_LEAST:
        raise SystemExit("the challenge is about to lapse")
    if int(entry["maxAmountRequired"]) > PRICE_AT_MOST:
        raise SystemExit(f"the price is {entry['maxAmountRequired']}")


def pay(key: str, entry: dict[str, Any]) -> dict[str, str]:
    """Send the transfer and return the proof: its transaction id."""
    chain = AlgodClient(os.environ["ALGOD_TOKEN"], os.environ["ALGOD_URL"])
    terms = chain.suggested_params()
    terms.last = terms.first + ROUNDS
    transfer = AssetTransferTxn(
        sender=address_from_private_key(key),
        sp=terms,
        receiver=entry["payTo"],
        amt=int(entry["maxAmountRequired"]),
        index=int(entry["asset"]),
        note=entry["extra"]["payment_reference"].encode(),
    )
    (signed,) = AccountTransactionSigner(key).sign_transactions([transfer], [0])
    sent = chain.send_transaction(signed)
    print(f"paid by {sent}", file=sys.stderr)  # whoever is cut off from here on still holds the proof
    wait_for_confirmation(chain, sent, ROUNDS)
    return {"tx_id": sent, "payment_reference": entry["extra"]["payment_reference"]}


def present(proof: dict[str, str]) -> dict[str, Any]:
    """Send the call with its proof, again and again as long as the rail says when."""
    header = {"X-PAYMENT": base64.b64encode(json.dumps(proof).encode()).decode()}
    for _ in range(30):
        answer = httpx.post(RAIL + PATH, json=BODY, headers=header, timeout=60)
        if answer.status_code == 200:
            return dict(answer.json())
        if "Retry-After" not in answer.headers:
            break
        time.sleep(int(answer.headers["Retry-After"]))
    raise SystemExit(f"not served: {answer.status_code} {answer.json()['error']}")


def main() -> None:
    """Ask, check, pay, present, verify."""
    key = Path(os.environ["KEY_FILE"]).read_text(encoding="ascii").strip()
    asked = httpx.post(RAIL + PATH, json=BODY, timeout=60)
    if asked.status_code != 402:
        raise SystemExit(f"no challenge: {asked.status_code}")
    entry = next(one for one in asked.json()["accepts"] if one["network"].startswith("algorand:"))
    check(entry)
    answer = present(pay(key, entry))
    receipt = answer["payable_receipt"]
    signer = jwt.PyJWKClient(RAIL + "/.well-known/jwks.json").get_signing_key_from_jwt(receipt)
    claims = jwt.decode(receipt, signer.key, algorithms=["EdDSA"])
    print(json.dumps({"payable_receipt": receipt, "claims": claims}, indent=2))


if __name__ == "__main__":
    main()
