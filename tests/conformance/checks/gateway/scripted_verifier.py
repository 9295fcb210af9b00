"""A hosted receipt verifier in memory, honest but for one flaw, and what a check makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from multidict import CIMultiDict, CIMultiDictProxy

from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.oracles.forging import Signer
from conformance.oracles.receipts import ReceiptFault, verify_receipt
from conformance.outcome import Verdict
from conformance.receipts.live_mutations import PROFILE_PAYLOAD, keys
from tests.conformance.checks.trial import run_one_check

PLATFORM = Signer(bytes(range(32)), "platform")
PROFILE = """
[target]
defaults = "{defaults}"
[surfaces.gateway]
url = "http://gateway.test"
[claims]
surfaces = ["gateway"]
lanes = ["algorand"]
[pace]
requests_per_second = 0.0
"""
UNBOUND_SCREEN = """
[gateway]
screen_body = { who = "any party" }
"""

Judge = Callable[[Any, Any, Any], dict[str, Any]]


def honest(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
    """Return the claims of a receipt that verifies.

    Raises:
        ReceiptFault: It does not.
    """
    return verify_receipt(token, keys(PLATFORM) if key_set is None else key_set, expected_payment_hash=expected_hash)


@dataclass
class Hosted:
    """Answers as a transport."""

    judge: Judge = honest
    member: str = "jws"
    code: Callable[[str], Any] = field(default=lambda code: code)
    fail_status: int = 422
    told: str = "verified"
    jwks: Any = field(default_factory=lambda: keys(PLATFORM))
    jwks_path: str = "/.well-known/jwks.json"
    emitted: Callable[[], Any] = field(
        default=lambda: PLATFORM.sign({"alg": "EdDSA", "kid": PLATFORM.kid, "typ": "JWT"}, PROFILE_PAYLOAD)
    )
    screen_path: str = "/compliance/screen"
    screened_elsewhere: bool = False
    calls: int = 0

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        del headers
        status, document = self._answer_call(method, urlsplit(url).path, body or b"")
        return (
            status,
            CIMultiDictProxy(CIMultiDict({"X-Request-Id": f"req_{self.calls}"})),
            json.dumps(document).encode(),
        )

    def _answer_call(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        self.calls += 1
        if (method, path) == ("GET", self.jwks_path):
            return 200, self.jwks
        if self.screened_elsewhere and path == self.screen_path:
            return 308, {"see": "/v1" + path}
        if (method, path) == ("POST", self.screen_path):
            return 200, {"verdict": "allow", "compliance_receipt_jws": self.emitted()}
        if (method, path) != ("POST", "/v1/receipt/verify"):
            return 404, {"error": "not_found", "message": "No such path."}
        try:
            request = json.loads(body)
        except ValueError:
            return 400, {"error": "invalid_request", "message": "Not JSON."}
        if not isinstance(request, dict) or not isinstance(request.get(self.member, ""), str | None):
            return 422, {"error": "validation_error", "message": "Not so."}
        return self._report(request)

    def _report(self, request: Mapping[str, Any]) -> tuple[int, Any]:
        try:
            self.judge(request.get(self.member), request.get("jwks"), request.get("expected_payment_hash"))
        except ReceiptFault as fault:
            report = {self.told: False, "error_code": self.code(fault.code), "id": self.calls}
            return self.fail_status, {**report, "error": "receipt_verification_failed", "message": str(fault)}
        return 200, {self.told: True, "error_code": None, "id": self.calls}


async def run_check(
    name: str, hosted: Hosted, *, defaults: str = "reference", profile: str = "", log: EventLog | None = None
) -> dict[str, Verdict]:
    """Run one check against a verifier and return the verdict of each row it judged.

    No profile of these tests claims the specification, so rows for targets that do are left out.
    """
    verdicts = await run_one_check(name, hosted, PROFILE.format(defaults=defaults) + profile, log=log)
    return {row: verdict for row, verdict in verdicts.items() if load()[row].option != "specification"}
