"""Oracle of the form of receipts: what the reference signs has no fault, and another header or form is one."""

from __future__ import annotations

import json

from conformance.oracles.ed25519_keys import keys_of_jwks
from conformance.oracles.forging import Signer
from conformance.oracles.receipt_format import find_form_faults

SIGNER, RETIRED = Signer(bytes(range(32)), "active"), Signer(bytes(range(1, 33)), "retired")
KEYS = keys_of_jwks({"keys": [SIGNER.jwk, RETIRED.jwk]})
HEADER = '{"alg":"EdDSA","kid":"active","typ":"JWT"}'


def test_a_receipt_of_the_active_key_has_no_fault() -> None:
    """Header and payload are in JCS, and the header has its three members."""
    assert find_form_faults(SIGNER.sign(HEADER, b'{"a":1,"b":2}'), KEYS) == []


def test_another_header_or_form_is_a_fault() -> None:
    """A retired key, a header without typ, and members out of order are each named."""
    payload = b'{"a":1}'
    assert find_form_faults(RETIRED.sign(HEADER.replace("active", "retired"), payload), KEYS)
    assert find_form_faults(SIGNER.sign('{"alg":"EdDSA","kid":"active"}', payload), KEYS)
    assert find_form_faults(SIGNER.sign('{"typ":"JWT","alg":"EdDSA","kid":"active"}', payload), KEYS)
    assert find_form_faults(SIGNER.sign(HEADER, json.dumps({"b": 2, "a": 1}).encode()), KEYS)
