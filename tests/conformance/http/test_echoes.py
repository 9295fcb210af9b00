"""Which answers repeat the secret of their request, and which only tell what a chain shows."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from conformance.http.client import Names
from conformance.http.echoes import find_echoes

SIGNED_PROOF = {
    "authorization": {"from": "0x" + "a1" * 20},
    "signature": "0x" + "5e" * 65,
    "challenge_token": "1:2:3?>",
}
MINED_PROOF = {"tx_id": "A" * 52, "payment_reference": "1795240615:0000000000000001:" + "ab" * 32}
KEY = "weld_live_0123456789abcdef"


def value_of(proof: Any) -> str:
    """Return a header's value."""
    return base64.b64encode(json.dumps(proof, separators=(",", ":")).encode()).decode()


def list_echoes(
    request_fields: Mapping[str, str],
    body: Any,
    answer_fields: Mapping[str, str] | None = None,
    rest_of_answer: bytes = b"",
) -> list[bool]:
    """Return, of each echo, whether it decides."""
    names = Names()
    names.secret(KEY, "TENANT_FIRST_KEY")
    names.secret("1.2.3.4:5678-a-host-name", "HUB_ADDRESS")
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return [
        one.beyond is None
        for one in find_echoes([*request_fields.items()], answer_fields or {}, text, names, rest_of_answer)
    ]


@pytest.mark.parametrize("proof", [SIGNED_PROOF, MINED_PROOF])
@pytest.mark.parametrize("header", ["X-PAYMENT", "x-payment"])
def test_a_whole_proof_is_an_echo(proof: Any, header: str) -> None:
    """In a message, escaped, in base64 inside a header of x402, and in a header of its own."""
    value = value_of(proof)
    request_fields = {header: value}
    escaped_value = "".join(f"\\u{ord(letter):04X}" if letter in "+/=" else letter for letter in value)
    for body in ({"message": f"already spent: {value}"}, f'{{"message":"{escaped_value}"}}'.encode()):
        assert list_echoes(request_fields, body) == [True]
    inside = base64.b64encode(json.dumps({"errorReason": value}).encode()).decode()
    assert list_echoes(request_fields, {}, {"PAYMENT-RESPONSE": inside}) == [True]
    assert list_echoes(request_fields, {}, {"X-Seen": value}) == [True]


def test_the_json_of_a_signed_proof_is_an_echo_and_of_a_public_one_warns() -> None:
    """What is on the chain for everybody is no secret, and the header of it is."""
    for proof, decides in ((SIGNED_PROOF, True), (MINED_PROOF, False)):
        text = base64.b64decode(value_of(proof)).decode()
        assert list_echoes({"X-PAYMENT": value_of(proof)}, {"message": f"cannot take {text}"}) == [decides]


def test_what_a_payment_shows_is_no_echo() -> None:
    """Transaction, payer, token and signature may be named, and `accepts` repeated."""
    payment_answer = {
        "transaction": MINED_PROOF["tx_id"],
        "payer": "0x" + "a1" * 20,
        "signature": SIGNED_PROOF["signature"],
        "accepts": [{}],
    }
    inside = base64.b64encode(json.dumps(payment_answer).encode()).decode()
    for proof in (SIGNED_PROOF, MINED_PROOF):
        assert list_echoes({"X-PAYMENT": value_of(proof)}, payment_answer, {"PAYMENT-RESPONSE": inside}) == []
    assert list_echoes({"X-PAYMENT": value_of(MINED_PROOF)}, dict(reversed(MINED_PROOF.items()))) == []


def test_what_is_no_proof_is_judged_where_it_was_made_up() -> None:
    """A header of one letter stands in every answer."""
    for value in ("e", "e30=", value_of({"x": 1}), value_of([1]), "please", "1" * 5000):
        assert list_echoes({"X-PAYMENT": value}, {"message": f"no payment: {value}"}) == []


def test_a_proof_of_an_ordinary_client_only_warns() -> None:
    """The interface has no secret in PAYMENT-SIGNATURE."""
    proof = {"x402Version": 2, "payload": {"signature": "0x1"}}
    assert list_echoes({"PAYMENT-SIGNATURE": value_of(proof)}, {"message": value_of(proof)}) == [False]


def test_a_key_is_an_echo_where_it_is_one() -> None:
    """Keys and tokens of the run's, and no address that stands in Authorization by mistake."""
    request_fields = {"Authorization": f"Bearer {KEY}"}
    assert list_echoes(request_fields, {"message": f"{KEY} is not known"}) == [True]
    assert list_echoes(request_fields, {"message": "not known"}) == []
    assert list_echoes({"Authorization": "Bearer 1.2.3.4:5678-a-host-name"}, {"at": "1.2.3.4:5678-a-host-name"}) == []
    assert list_echoes({"Authorization": "Bearer anybodys-text-of-some-length"}, b"anybodys-text-of-some-length") == []


def test_what_stands_elsewhere_in_the_request_is_no_secret_of_its_header() -> None:
    """An answer may repeat an id, a path or a member of the body."""
    request_fields = {"Authorization": f"Bearer {KEY}"}
    assert list_echoes({**request_fields, "X-Tenant-Id": KEY}, {"message": f"no tenant {KEY}"}) == []
    assert list_echoes(request_fields, {"message": f"no path /{KEY}"}, rest_of_answer=f"http://a/{KEY}".encode()) == []


def test_what_is_no_text_is_no_fault_of_the_suite() -> None:
    """Hostile requests hold bytes that are no UTF-8, in headers, paths and bodies."""
    odd = "\udc80\ud800" + KEY
    assert list_echoes({"Authorization": odd, "X-PAYMENT": odd}, {"message": "no"}) == []
    assert list_echoes({"X-PAYMENT": value_of(SIGNED_PROOF), "X-Odd": odd}, b"\xff\xfe", {"X-Odd": odd}) == []
