"""The page of receipts: one file, nothing loaded, nothing of the receipt's runs."""

from __future__ import annotations

import base64
import hashlib
import json
import re

from conformance.receipts.offline.inspecting import inspect
from conformance.receipts.offline.key_sources import of_jwks
from conformance.receipts.offline.page import inspection_page, verification_page
from conformance.receipts.offline.reading import Found
from conformance.receipts.offline.verifying import verify_all
from tests.conformance.receipts.offline.signed_receipts import COMPLIANCE, HEADER, JWKS, PAYABLE, SIGNER, sign_receipt

EVIL = "<script>alert(1)</script>\u202e\x1b[31m"
KEYS = of_jwks(json.dumps(JWKS).encode(), EVIL)


def evil() -> Found:
    """Return a receipt that tries to be markup wherever it can."""
    claims = {**PAYABLE, EVIL: EVIL, "service_id": EVIL, "iss": EVIL, "network": EVIL, "asset": [EVIL]}
    return Found(EVIL, SIGNER.sign(json.dumps({**HEADER, EVIL: EVIL, "typ": EVIL}), json.dumps(claims).encode()))


def test_nothing_of_a_receipt_becomes_markup() -> None:
    """Not its place, not its members' names, values or sentences; hidden characters are shown."""
    evil_receipt = evil()
    verifications = verify_all([evil_receipt], KEYS, {})
    for page in (inspection_page([inspect(evil_receipt)]), verification_page([inspect(evil_receipt)], verifications)):
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        assert "\u202e" not in page
        assert "\x1b" not in page


def test_the_page_loads_nothing_and_allows_its_own_style_alone() -> None:
    """The policy's digest is that of the one style element; there is no address in the page's markup."""
    page = inspection_page([inspect(Found("", sign_receipt(PAYABLE)))])
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'" in page
    assert re.search(r'(src|href)="(?!#)', page) is None
    assert "url(" not in page


def test_an_inspection_says_loudly_that_nothing_is_verified() -> None:
    """Whole or malformed."""
    assert "NOTHING IS VERIFIED" in inspection_page([inspect(Found("", sign_receipt(PAYABLE)))])
    malformed_page = inspection_page([inspect(Found("", "a.b"))])
    assert "Malformed, and not verified" in malformed_page
    assert "INVALID_JWS_FORMAT" in malformed_page


def test_a_verification_shows_steps_issuer_and_bindings() -> None:
    """Each receipt with its own word, and the whole with the worst."""
    receipts = [Found("a", sign_receipt(PAYABLE)), Found("b", sign_receipt({**COMPLIANCE, "screen_result": "NO"}))]
    page = verification_page(
        [inspect(one) for one in receipts], verify_all(receipts, KEYS, {"response": {"result": 1}})
    )
    assert "<strong>Not verified</strong>" in page
    assert "b: NOT VERIFIED" in page
    for word in ("step 9", "response_hash", "issuer", "screen_result has a value outside its set"):
        assert word in page
    good = verification_page([inspect(receipts[0])], verify_all(receipts[:1], KEYS, {}))
    assert "<strong>Verified</strong>" in good
    assert "TAMPERED_SIGNATURE" not in good, "the code of a failure beside a step that passes"
