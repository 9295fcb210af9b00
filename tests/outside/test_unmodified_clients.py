"""Unmodified outside clients agree with the rail, each with a control that must fail.

Nothing of ours takes part on the client's side: the x402 package reads the challenge, py-algorand-sdk pays, urllib
calls, PyJWT verifies the receipt from the published key set.
"""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import jwt
import pytest
from algosdk import account, transaction
from algosdk.error import AlgodHTTPError
from algosdk.v2client.algod import AlgodClient
from pydantic import ValidationError
from x402.schemas.helpers import parse_payment_required

from tests.algorand_signing import opt_in, signed_by

PATH = "/pay/v1/compliance/receipt"
BODY = json.dumps({"recipient_address": "screen-block", "network": "algorand_mainnet"}).encode()
ASSET = 31566704


def call(url: str, headers: dict[str, str] | None = None, body: bytes = BODY) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of a POST."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as answer:
        return answer.code, dict(answer.headers), answer.read()


def control(stack: dict[str, str], **members: object) -> None:
    request = urllib.request.Request(
        stack["control"], json.dumps(members).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=600) as answer:
        assert answer.status == 200


class Wallet:
    """A payer that is py-algorand-sdk and nothing else."""

    def __init__(self, stack: dict[str, str]) -> None:
        token = Path(stack["algod_token_file"]).read_text().strip()
        self.algod = AlgodClient(token, stack["algod"])
        self.key, self.address = account.generate_account()
        control(stack, verb="fund", address=self.address, amount="10000000")
        opt_in(self.algod, self.key, ASSET)
        control(stack, verb="mint", address=self.address, amount="1000000")

    def pay(self, entry: dict[str, Any], note: bytes) -> str:
        """Pay an entry with a note and return the confirmed transaction's id."""
        transfer = transaction.AssetTransferTxn(
            self.address,
            self.algod.suggested_params(),
            entry["payTo"],
            int(entry["maxAmountRequired"]),
            int(entry["asset"]),
            note=note,
        )
        tx_id: str = self.algod.send_transaction(signed_by(self.key, transfer))
        transaction.wait_for_confirmation(self.algod, tx_id, 10)
        return tx_id


@pytest.fixture(scope="module")
def wallet(stack: dict[str, str]) -> Wallet:
    """A funded wallet."""
    return Wallet(stack)


def proof(tx_id: str, token: str) -> dict[str, str]:
    text = json.dumps({"tx_id": tx_id, "payment_reference": token}).encode()
    return {"X-PAYMENT": base64.b64encode(text).decode()}


def test_the_x402_package_reads_the_402_from_body_and_header(stack: dict[str, str]) -> None:
    """The public models take the challenge from either place, and both say the same."""
    status, headers, body = call(stack["rail"] + PATH)
    assert status == 402
    from_body = parse_payment_required(json.loads(body))
    from_header = parse_payment_required(json.loads(base64.b64decode(headers["payment-required"])))
    assert from_body == from_header
    assert from_body.x402_version == 2
    assert from_body.model_dump()["accepts"][0]["amount"] == "50000"


@pytest.mark.parametrize("spoil", ["amount", "payTo", "network"])
def test_the_x402_package_refuses_a_402_without_a_required_member(stack: dict[str, str], spoil: str) -> None:
    """The control: the public models refuse the same document without one of its members."""
    _, _, body = call(stack["rail"] + PATH)
    document = json.loads(body)
    del document["accepts"][0][spoil]
    with pytest.raises(ValidationError):
        parse_payment_required(document)


def test_the_algorand_sdk_pays_and_pyjwt_verifies_the_receipt(stack: dict[str, str], wallet: Wallet) -> None:
    """A call is bought with the SDK alone; PyJWT verifies its receipt from the published key set."""
    _, _, body = call(stack["rail"] + PATH)
    entry = json.loads(body)["accepts"][0]
    token = entry["extra"]["payment_reference"]
    tx_id = wallet.pay(entry, token.encode())
    status, _, body = call(stack["rail"] + PATH, proof(tx_id, token))
    assert status == 200, body
    answer = json.loads(body)
    assert answer["result"]["verdict"] == "DENY"
    key = jwt.PyJWKClient(stack["rail"] + "/.well-known/jwks.json").get_signing_key_from_jwt(answer["payable_receipt"])
    claims = jwt.decode(answer["payable_receipt"], key.key, algorithms=["EdDSA"])
    assert claims["service_id"] == "compliance-receipt"
    assert claims["response_hash"] == answer["response_hash"]
    head, _, signature = answer["payable_receipt"].split(".")
    forged_segment = (
        base64.urlsafe_b64encode(json.dumps({**claims, "amount_microunits": "1"}).encode()).decode().rstrip("=")
    )
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(f"{head}.{forged_segment}.{signature}", key.key, algorithms=["EdDSA"])


def test_the_sdk_without_the_weld_buys_nothing(stack: dict[str, str], wallet: Wallet) -> None:
    """The control: the same payment without the token in its note is refused."""
    _, _, body = call(stack["rail"] + PATH)
    entry = json.loads(body)["accepts"][0]
    tx_id = wallet.pay(entry, b"a tip")
    status, _, body = call(stack["rail"] + PATH, proof(tx_id, entry["extra"]["payment_reference"]))
    assert status == 402
    assert json.loads(body)["error"] == "weld_mismatch"


def test_the_node_refuses_what_an_algorand_node_refuses(wallet: Wallet) -> None:
    """The control for the chain: a transaction that was changed after signing does not verify."""
    params = wallet.algod.suggested_params()
    payment = transaction.PaymentTxn(wallet.address, params, wallet.address, 1)
    signed_payment = signed_by(wallet.key, payment)
    payment.amt = 2
    with pytest.raises(AlgodHTTPError, match="At least one signature didn't pass verification"):
        wallet.algod.send_transaction(signed_payment)
