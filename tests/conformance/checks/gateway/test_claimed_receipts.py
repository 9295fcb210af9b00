"""The rows of receipts of a gateway that claims the specification: reports, key documents and rotations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.outcome import Verdict
from conformance.receipts.live_mutations import PROFILE_PAYLOAD
from reference.protocol import jws
from reference.protocol.keys import SigningKey, did_document, jwks
from reference.protocol.receipt_verification import verify_receipt
from tests.conformance.checks.gateway.scripted_verifier import PROFILE
from tests.conformance.checks.trial import find_broken_rows, run_one_check

ACTIVE, RETIRED = (SigningKey.from_seed(bytes([number]) * 32) for number in (1, 2))
KEYS = [ACTIVE.public, RETIRED.public]
DID = "did:web:gateway.test"
CLAIMS = """
[gateway]
screen_body = { who = "any party" }
[claims]"""
REPORTS, KEY_DOCUMENTS, ROTATION = (
    "receipt_reports",
    "key_documents_of_the_gateway",
    "a_rotation_keeps_what_was_signed",
)

Change = Callable[[str, Any], Any]


def keep(_: str, document: Any) -> Any:
    """Change nothing."""
    return document


def sign_payload(key: SigningKey) -> str:
    """Return the suite's compliance receipt, signed with a key."""
    return jws.sign_compact(json.loads(PROFILE_PAYLOAD), key)


@dataclass
class Gateway:
    """A gateway that verifies and publishes as the reference does; `change` changes its answers by path."""

    change: Change = keep
    signed: str = field(default_factory=lambda: sign_payload(ACTIVE))

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        del method, headers
        path = urlsplit(url).path
        status, document = self._answer(path, body or b"{}")
        content = json.dumps(self.change(path, document)).encode()
        return status, CIMultiDictProxy(CIMultiDict({"X-Request-Id": "req_1"})), content

    def _answer(self, path: str, body: bytes) -> tuple[int, Any]:
        if path == "/.well-known/jwks.json":
            return 200, jwks(KEYS)
        if path == "/.well-known/did.json":
            return 200, did_document(DID, KEYS, [])
        if path == "/health":
            return 200, {"status": "ok"}
        if path == "/compliance/screen":
            return 200, {"compliance_receipt_jws": self.signed}
        request: Mapping[str, Any] = json.loads(body)
        report: dict[str, Any] = verify_receipt(
            jws=request.get("jws"),
            jwks=request.get("jwks"),
            expected_payment_hash=request.get("expected_payment_hash"),
            platform_keys=jwks(KEYS)["keys"],
        )
        if report["verified"]:
            return 200, report
        added = {"error": "receipt_verification_failed", "message": report["error_message"], "request_id": "req_1"}
        return 422, {**report, **added}


async def judge(check: str, gateway: Gateway) -> dict[str, Verdict]:
    """Return the verdicts of a check of a gateway that claims the specification."""
    profile = PROFILE.format(defaults="reference").replace("[claims]", CLAIMS) + "\n"
    profile = profile.replace('lanes = ["algorand"]', 'lanes = ["algorand"]\nspecification = "1"')
    return await run_one_check(check, gateway, profile)


@pytest.mark.parametrize("check", [REPORTS, KEY_DOCUMENTS])
async def test_answers_of_the_reference_pass(check: str) -> None:
    """Reports and key documents of the reference break no row."""
    assert set((await judge(check, Gateway())).values()) == {Verdict.PASS}


@pytest.mark.parametrize("name", ["error_code", "receipt_kind", "checks", "content_hash", "key_source", "kid"])
async def test_a_member_of_a_report_that_is_wrong_breaks_the_row(name: str) -> None:
    """A member that is null in every report is noticed."""

    def change(path: str, document: Any) -> Any:
        return {**document, name: None} if path == "/v1/receipt/verify" else document

    assert find_broken_rows(await judge(REPORTS, Gateway(change))) == {"GW-REPORT-01"}


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ("/.well-known/jwks.json", "keys", [{**ACTIVE.public.jwk(), "alg": "EdDSA"}]),
        ("/.well-known/did.json", "assertionMethod", [f"{DID}#{key.kid}" for key in KEYS]),
        ("/.well-known/did.json", "alsoKnownAs", []),
        ("/.well-known/did.json", "service", []),
        ("/compliance/screen", "compliance_receipt_jws", sign_payload(RETIRED)),
        ("/compliance/screen", "compliance_receipt_jws", None),
    ],
)
async def test_a_key_document_that_is_wrong_breaks_the_row(path: str, name: str, value: Any) -> None:
    """A member of a document, or the signer of a receipt, is noticed."""

    def change(called_path: str, document: Any) -> Any:
        return {**document, name: value} if called_path == path else document

    assert find_broken_rows(await judge(KEY_DOCUMENTS, Gateway(change))) == {"GW-KEY-01"}


async def test_without_a_command_no_key_is_rotated() -> None:
    """The row is not applicable to a target whose profile has no command."""
    assert await judge(ROTATION, Gateway()) == {"GW-KEY-02": Verdict.NOT_APPLICABLE}
