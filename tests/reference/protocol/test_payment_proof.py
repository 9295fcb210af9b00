"""X-PAYMENT by its two shapes, and everything that is neither (5.6)."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.protocol.canonical_json import JsonValue
from reference.protocol.eip3009 import Authorization
from reference.protocol.payment_proof import AuthorizedProof, MinedProof, decode
from reference.protocol.refusals import PaymentRefused

MINED_PROOF = {"tx_id": "T", "payment_reference": "R"}
AUTHORIZATION: dict[str, JsonValue] = {
    "from": "0x" + "aB" * 20,
    "to": "0x" + "12" * 20,
    "value": "1",
    "validAfter": 0,
    "validBefore": "9",
    "nonce": "0x" + "00" * 32,
}
AUTHORIZED_PROOF = {"authorization": AUTHORIZATION, "signature": "S", "challenge_token": "C"}


def encode_header(value: object) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


def code_of(*values: str) -> str:
    with pytest.raises(PaymentRefused) as error_info:
        decode(values)
    assert error_info.value.answers_payment
    return error_info.value.code


def test_a_mined_proof() -> None:
    """tx_id and payment_reference make a mined proof; further members are ignored (P-LN-04)."""
    assert MinedProof("T", "R", None) == decode([encode_header(MINED_PROOF | {"more": 1})])


def test_an_authorized_proof() -> None:
    """authorization, signature and challenge_token make a proof to be settled."""
    read = Authorization("0x" + "ab" * 20, "0x" + "12" * 20, 1, 0, 9, "0x" + "00" * 32, "S")
    assert AuthorizedProof(read, "C", "eip155:8453") == decode(
        [encode_header(AUTHORIZED_PROOF | {"network": "eip155:8453"})]
    )


def test_the_order_of_members_and_white_space_do_not_matter() -> None:
    """The header holds JSON, not a byte pattern."""
    text = '\n{ "payment_reference" : "R",\t"tx_id":"\\u0054" }'
    assert MinedProof("T", "R", None) == decode([base64.b64encode(text.encode()).decode()])


MALFORMED_HEADERS: dict[str, str] = {
    "empty": "",
    "not base64": "%%%",
    "base64url": base64.urlsafe_b64encode(b'{"tx_id":"\xc3\xbf\xc3\xbf\xc3\xbe","payment_reference":"R"}').decode(),
    "no padding": encode_header(MINED_PROOF | {"x": ""}).rstrip("="),
    "white space": encode_header(MINED_PROOF)[:8] + " " + encode_header(MINED_PROOF)[8:],
    "line feed": encode_header(MINED_PROOF) + "\n",
    "spare bits": "eyJ0eF9pZCI6IlQifR==",
    "truncated": encode_header(MINED_PROOF)[:-4],
    "not JSON": base64.b64encode(b"tx_id=T").decode(),
    "not UTF-8": base64.b64encode(b'{"tx_id":"\xff","payment_reference":"R"}').decode(),
    "byte order mark": base64.b64encode(b"\xef\xbb\xbf" + json.dumps(MINED_PROOF).encode()).decode(),
    "duplicate member": base64.b64encode(b'{"tx_id":"T","tx_id":"U","payment_reference":"R"}').decode(),
    "NaN": base64.b64encode(b'{"tx_id":"T","payment_reference":"R","x":NaN}').decode(),
    "too deep": base64.b64encode(b'{"tx_id":' + b"[" * 40 + b"]" * 40 + b"}").decode(),
    "array": encode_header([MINED_PROOF]),
    "text": encode_header("T"),
    "number": encode_header(7),
    "null": encode_header(None),
    "nothing in it": encode_header({}),
    "no reference": encode_header({"tx_id": "T"}),
    "no transaction": encode_header({"payment_reference": "R"}),
    "empty transaction": encode_header(MINED_PROOF | {"tx_id": ""}),
    "number for transaction": encode_header(MINED_PROOF | {"tx_id": 5}),
    "null for reference": encode_header(MINED_PROOF | {"payment_reference": None}),
    "both shapes": encode_header(MINED_PROOF | AUTHORIZED_PROOF),
    "a mix": encode_header(MINED_PROOF | {"signature": "S"}),
    "authorization is a text": encode_header(AUTHORIZED_PROOF | {"authorization": "A"}),
    "no signature": encode_header({"authorization": {}, "challenge_token": "C"}),
    "network is a number": encode_header(MINED_PROOF | {"network": 1}),
    "too long": encode_header(MINED_PROOF | {"more": "x" * 8192}),
    "not ASCII": encode_header(MINED_PROOF)[:-1] + "\u00e9",
}


@pytest.mark.parametrize("value", MALFORMED_HEADERS.values(), ids=MALFORMED_HEADERS.keys())
def test_a_malformed_header_is_none(value: str) -> None:
    """One fault each; all are `invalid_payment_header` (P-XP-01)."""
    assert code_of(value) == "invalid_payment_header"


def test_exactly_one_header_counts() -> None:
    """None and two are as invalid as a bad one."""
    assert code_of() == "invalid_payment_header"
    assert code_of(encode_header(MINED_PROOF), encode_header(MINED_PROOF)) == "invalid_payment_header"


@pytest.mark.parametrize("member", ["x402Version", "scheme", "accepted", "payload"])
def test_an_ordinary_x402_payload_is_not_welded(member: str) -> None:
    """Any member of a stock client's payload gives it away (P-XP-03)."""
    assert code_of(encode_header({member: 2})) == "payment_not_welded"


@given(
    st.text(st.characters(codec="latin-1"), max_size=300)
    | st.binary(max_size=200).map(base64.b64encode).map(bytes.decode)
)
def test_no_header_is_a_crash(value: str) -> None:
    """Whatever is sent, the outcome is a proof or a refusal with a code of the header."""
    try:
        outcome: Any = decode([value])
    except PaymentRefused as refusal:
        outcome = refusal
    codes = {"invalid_payment_header", "payment_not_welded"}
    assert isinstance(outcome, MinedProof | AuthorizedProof) or outcome.code in codes
