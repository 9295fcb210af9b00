"""`weldproof pay` takes the receipt of a paid call from its one place, and compares it with the call that it made."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.cli.pay.attempt import Attempt, PaymentStopped
from conformance.cli.pay.call_payment import find_receipt
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles.challenge_tokens import payment_reference_hash
from conformance.oracles.hash_recipes import request_hashes, sha256_hex
from conformance.surfaces.payer.quotes import new_signer, to_header
from conformance.surfaces.rail.purchase import Challenge, Purchase

SIGNER, TOKEN = new_signer(), "1800000000:token"
OPERATION = Operation("receipt-verify", "http://rail.example/v1/x", "/v1/x", {"jws": "a"}, ())
BODY = b'{"jws":"a"}'
OWN_HASHES = {
    name: min(hashes) for name, hashes in request_hashes("POST", "/v1/x", "", BODY, {"jws": "a"}, None).items()
}
CLAIMS = {
    "kind": "weldproof/payable-svc-receipt/1",
    "request_hash": OWN_HASHES["jcs-envelope-plain"],
    "payment_reference_hash": payment_reference_hash(TOKEN),
}


def sign(**members: Any) -> str:
    """Return a receipt of the call, its claims changed."""
    return SIGNER.sign({"alg": "EdDSA", "kid": SIGNER.kid}, json.dumps(CLAIMS | members).encode())


RECEIPT = sign()


async def find(receipt_at: str | None, body: dict[str, Any], **headers: str) -> str:
    """Return the receipt that is found in a paid answer."""
    keys = json.dumps({"keys": [SIGNER.jwk]}).encode()

    async def call(method: str, url: str) -> Answer:
        assert (method, url) == ("GET", "http://rail.example/.well-known/jwks.json")
        return Answer(2, 200, CIMultiDictProxy(CIMultiDict()), keys)

    case = SimpleNamespace(
        session=SimpleNamespace(rail="http://rail.example"),
        profile=SimpleNamespace(rail_bindings=SimpleNamespace(receipt_at=receipt_at)),
        client=SimpleNamespace(call=call),
    )
    fields = CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()})
    answer = Answer(1, 200, CIMultiDictProxy(fields), json.dumps(body).encode())
    purchase = Purchase(Challenge(OPERATION, OPERATION.body, answer, ()), "base", {}, answer)
    record = SimpleNamespace(entry={"extra": {}}, reference=TOKEN)
    attempt = SimpleNamespace(
        payment=SimpleNamespace(record=record),
        steps=SimpleNamespace(say=lambda step, detail: None),  # noqa: ARG005
    )
    result = await find_receipt(cast("Case", case), purchase, cast("Attempt", attempt))
    return str(result["payable_receipt"])


async def test_the_member_payable_receipt_is_the_receipt() -> None:
    """Of the body itself."""
    assert await find(None, {"payable_receipt": RECEIPT}) == RECEIPT


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ({}, {"X_PAYMENT_RESPONSE": RECEIPT}),
        ({}, {"Payable_Receipt": RECEIPT}),
        ({}, {"PAYMENT_RESPONSE": to_header({"payable_receipt": RECEIPT})}),
        ({"receipt": RECEIPT}, {}),
        ({"result": {"payable_receipt": RECEIPT}}, {}),
        ({"payable_receipt": [RECEIPT]}, {}),
    ],
)
async def test_a_receipt_elsewhere_is_missing(body: dict[str, Any], headers: dict[str, str]) -> None:
    """The command says at which place it looked, and how to bind another one."""
    expected = r"no receipt at body:payable_receipt verifies .*bind \[rail\] receipt_at$"
    with pytest.raises(PaymentStopped, match=expected):
        await find(None, body, **headers)


async def test_a_profile_binds_another_place() -> None:
    """A receipt in the usual member is then none."""
    place = "header:PAYMENT-RESPONSE:receipt"
    assert await find(place, {}, Payment_Response=to_header({"receipt": RECEIPT})) == RECEIPT
    with pytest.raises(PaymentStopped, match=r"no receipt at header:PAYMENT-RESPONSE:receipt verifies .* keys$"):
        await find(place, {"payable_receipt": RECEIPT})


@pytest.mark.parametrize("recipe", sorted(OWN_HASHES.keys() - {"jcs-envelope"}))
async def test_a_receipt_of_the_own_request_is_taken(recipe: str) -> None:
    """By any known recipe, although the challenge names no hash of the request."""
    receipt = sign(request_hash=OWN_HASHES[recipe])
    assert await find(None, {"payable_receipt": receipt}) == receipt


@pytest.mark.parametrize("claimed_hash", [f"sha256:{sha256_hex(b'another call')}", None, 7])
async def test_a_receipt_of_another_request_is_refused(claimed_hash: Any) -> None:
    """Although the challenge names no hash of the request."""
    with pytest.raises(PaymentStopped, match=r"its receipt is for another request$"):
        await find(None, {"payable_receipt": sign(request_hash=claimed_hash)})
