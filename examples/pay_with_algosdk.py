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
from algosdk.encoding import msgpack_encode
from algosdk.error import AlgodHTTPError
from algosdk.transaction import AssetTransferTxn, wait_for_confirmation
from algosdk.v2client.algod import AlgodClient

RAIL = os.environ["RAIL_URL"].rstrip("/")
SERVICE, PATH = "compliance-receipt", "/pay/v1/compliance/receipt"
QUERY = os.environ.get("QUERY", "")
URL = RAIL + PATH + (f"?{QUERY}" if QUERY else "")
BODY = {"recipient_address": "screen-allow", "network": "algorand_mainnet"}
LEFT_AT_LEAST = 120  # seconds; with less, a slow chain could cost the payment its challenge
# The only network and asset that are paid. A name proves nothing: any account can make an asset that is called USDC.
NETWORK = os.environ.get("NETWORK", "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k")
ASSET = os.environ.get("ASSET", "31566704")
PRICE_AT_MOST = int(os.environ.get("PRICE_AT_MOST", "100000"))  # atomic units, 0.10 USDC
SECONDS_AT_MOST = float(os.environ.get("SECONDS_AT_MOST", "300"))  # in which the proof is presented
FINAL = ("payment_already_spent", "payment_refunded")  # codes after which no proof is presented, whatever the status
UNSETTLED = ("tx_not_found", "tx_not_confirmed")  # codes of a 402 that leave the payment open
# Holds the payment from before it is made until its answer is here, so that no crash makes anyone pay twice.
PROOF_FILE = Path(os.environ.get("PROOF_FILE", "payment.json"))
ROUNDS = 40  # within which the transfer is confirmed, or never: less than LEFT_AT_LEAST at 2.8 s a round


def hash_of(data: bytes) -> str:
    """Return a hash as the rail and its receipts write it."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def request_hash() -> str:
    """Return the hash of this request."""
    request: dict[str, Any] = {"body": BODY, "method": "POST", "path": PATH, "query": QUERY, "service_id": SERVICE}
    return hash_of(rfc8785.dumps(request))


def check(entry: dict[str, Any]) -> None:
    """Stop before any money moves, unless the challenge is for this request, affordable and fresh."""
    if entry["extra"]["request_hash"] != request_hash():
        raise SystemExit("the challenge is for another request")
    if not entry["extra"]["payment_reference"]:
        raise SystemExit("the challenge has no token")
    issued = entry["extra"]["payment_reference"].split(":")[0]
    begins = int(issued) if issued.isdecimal() else time.time()  # a token without a time is as old as its arrival
    if begins + entry["maxTimeoutSeconds"] - time.time() <= LEFT_AT_LEAST:
        raise SystemExit("the challenge is about to lapse")
    price = str(entry["maxAmountRequired"])
    if not (price.isascii() and price.isdigit()) or int(price) > PRICE_AT_MOST:  # int() takes digits of any script
        raise SystemExit(f"the price is {price}")
    if entry.get("amount", entry["maxAmountRequired"]) != entry["maxAmountRequired"]:
        raise SystemExit("the challenge names two prices")
    if entry["asset"] != ASSET:
        raise SystemExit(f"the challenge asks for the asset {entry['asset']}")


def challenge() -> dict[str, Any]:
    """Ask without a payment and return the challenge of this chain, checked."""
    asked = httpx.post(URL, json=BODY, timeout=60)
    if asked.status_code != 402:
        raise SystemExit(f"no challenge: {asked.status_code}")
    offers = asked.json()["accepts"]
    header = asked.headers.get("PAYMENT-REQUIRED")
    if header is not None and json.loads(base64.b64decode(header))["accepts"] != offers:
        raise SystemExit("the header offers something else than the body")
    entry: dict[str, Any] | None = next((one for one in offers if one["network"] == NETWORK), None)
    if entry is None:
        raise SystemExit(f"the rail offers nothing on {NETWORK}")
    check(entry)
    return entry


def sign(chain: AlgodClient, key: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the signed transfer and its proof, the id that it will have; nothing is sent."""
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
    proof = {"tx_id": signed.get_txid(), "payment_reference": entry["extra"]["payment_reference"]}
    return {"proof": proof, "signed": msgpack_encode(signed)}


def send(chain: AlgodClient, payment: dict[str, Any]) -> None:
    """Send the transfer, which counts once however often it is sent, and wait for its block."""
    print(f"paying by {payment['proof']['tx_id']}", file=sys.stderr)
    try:
        chain.send_raw_transaction(payment["signed"])
    except AlgodHTTPError as fault:
        # An earlier run may have sent it. The rail looks at the chain and decides, so the proof is presented anyway.
        print(fault, file=sys.stderr)
    else:
        wait_for_confirmation(chain, payment["proof"]["tx_id"], ROUNDS)


def keep(payment: dict[str, Any]) -> dict[str, Any]:
    """Write the payment to disk, readable by its owner alone; return it, or the one of a run that was faster."""
    unfinished = PROOF_FILE.with_name(f"{PROOF_FILE.name}.{os.getpid()}")
    with open(unfinished, "w", opener=lambda path, flags: os.open(path, flags, 0o600), encoding="ascii") as file:
        json.dump({"rail": RAIL, **payment}, file)
        file.flush()
        os.fsync(file.fileno())
    try:
        # Unlike a rename, a link replaces no payment that another run of this script has just written.
        os.link(unfinished, PROOF_FILE)
    except FileExistsError:
        if (other := kept()) is None:
            raise SystemExit("another run of this call has just ended; nothing was paid") from None
        payment = other
    finally:
        unfinished.unlink()
    return payment


def kept() -> dict[str, Any] | None:
    """Return the payment of an earlier run whose answer never came, or None."""
    if not PROOF_FILE.exists():
        return None
    payment = dict(json.loads(PROOF_FILE.read_text(encoding="ascii")))
    if payment["rail"] != RAIL:
        raise SystemExit(f"{PROOF_FILE} holds a payment for {payment['rail']}")
    return payment


def present(proof: dict[str, str]) -> dict[str, Any]:
    """Send the call with its proof, again while the rail says when, fails, or cannot be reached."""
    header = {"X-PAYMENT": base64.b64encode(json.dumps(proof).encode()).decode()}
    ends = time.monotonic() + SECONDS_AT_MOST
    while True:
        try:
            # A rail that never answers must not hold the payer back beyond its time.
            answer = httpx.post(URL, json=BODY, headers=header, timeout=max(1.0, min(60.0, ends - time.monotonic())))
        except httpx.TransportError as fault:
            reason, wait = str(fault), "2"
        else:
            if answer.status_code == 200:
                return dict(answer.json())
            is_json = answer.headers.get("Content-Type", "").startswith("application/json")
            code = answer.json().get("error", "") if is_json else ""
            reason = f"{answer.status_code} {code}"
            if code in FINAL:
                break
            is_open = answer.status_code >= 500 or answer.status_code in {408, 409, 425, 429} or code in UNSETTLED
            wait = answer.headers.get("Retry-After", "2" if is_open else "")
        seconds = int(wait) if wait.isdigit() else 5  # it may be a date
        if not wait or time.monotonic() + seconds > ends:
            break
        time.sleep(seconds)
    print(
        "Run this again to present it. Remove the file only if the chain shows that it paid nothing.", file=sys.stderr
    )
    raise SystemExit(f"not served: {reason}; the payment is kept in {PROOF_FILE}")


def verify(answer: dict[str, Any], token: str) -> dict[str, Any]:
    """Return the claims of the receipt, which the rail's published key signed for this request, answer and payment."""
    receipt = answer["payable_receipt"]
    signer = jwt.PyJWKClient(RAIL + "/.well-known/jwks.json").get_signing_key_from_jwt(receipt)
    claims: dict[str, Any] = jwt.decode(receipt, signer.key, algorithms=["EdDSA"])
    own = {"request_hash": request_hash(), "response_hash": hash_of(rfc8785.dumps(answer["result"]))}
    own["payment_reference_hash"] = hash_of(token.encode())
    if wrong := [name for name, value in own.items() if claims.get(name) != value]:
        raise SystemExit(f"the receipt is of another call: {', '.join(wrong)}; the payment is kept in {PROOF_FILE}")
    return claims


def main() -> None:
    """Ask, check, pay, present, verify."""
    key = Path(os.environ["KEY_FILE"]).read_text(encoding="ascii").strip()
    chain = AlgodClient(os.environ["ALGOD_TOKEN"], os.environ["ALGOD_URL"])
    payment = kept()
    if payment is None:
        signed = sign(chain, key, challenge())
        payment = keep(signed)
    send(chain, payment)
    answer = present(payment["proof"])
    claims = verify(answer, payment["proof"]["payment_reference"])
    print(json.dumps({**answer, "claims": claims}, indent=2))
    PROOF_FILE.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
