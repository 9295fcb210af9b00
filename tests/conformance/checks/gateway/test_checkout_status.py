"""Where payers return to, by the status of a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.gateway.scripted_checkout import Checkout, Link, judged, told

RETURNS = "the_status_tells_where_payers_return"
BOTH = '"gateway.checkout", "gateway.records"'


@pytest.fixture(autouse=True)
def tenant_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_0123456789abcdef")


def nowhere(link: Link) -> Mapping[str, Any]:
    return {**told(link), "redirect_url": None}


@dataclass
class Narrowed(Checkout):
    """A checkout that creates no link whose payer returns to another address than its own."""

    kind: str = "return_address"
    own: str | None = None

    async def send(self, method: str, url: str, headers: Any, body: bytes | None) -> Any:
        """Answer one request."""
        wanted = b"redirect_url" in (body or b"") and (self.own or "\n").encode() not in (body or b"")
        if method == "POST" and url.endswith("/v1/payment-links") and wanted:
            return self._answer(422, {"error": "validation_error", "detail": [{"type": self.kind}]})
        return await super().send(method, url, headers, body)


@pytest.mark.parametrize(
    ("status", "options", "defaults", "verdict"),
    [
        (told, BOTH, "none", Verdict.PASS),
        (told, BOTH, "reference", Verdict.PASS),
        (nowhere, BOTH, "none", Verdict.FAIL),
        (nowhere, '"gateway.checkout"', "reference", Verdict.FAIL),
        (nowhere, '"gateway.checkout"', "none", Verdict.WARN),
    ],
)
async def test_a_status_without_the_address_is_caught(
    status: Any, options: str, defaults: str, verdict: Verdict
) -> None:
    """It fails where the members of links are claimed, too, and warns where they are free."""
    found = await judged(RETURNS, Checkout(status=status), options=options, defaults=defaults)
    assert found == {"GW-CHK-19": verdict}


@pytest.mark.parametrize(
    ("kind", "defaults", "verdict"),
    [
        ("return_address", "none", Verdict.NOT_APPLICABLE),
        ("url_form", "none", Verdict.NOT_APPLICABLE),
        ("return_address", "reference", Verdict.NOT_APPLICABLE),
        ("url_form", "reference", Verdict.FAIL),
    ],
)
async def test_a_tenant_may_narrow_its_addresses(kind: str, defaults: str, verdict: Verdict) -> None:
    """No row is decided by a link that is refused, except the reference's, whose refusals say why."""
    found = await judged(RETURNS, Narrowed(status=told, kind=kind), options=BOTH, defaults=defaults)
    assert found == {"GW-CHK-19": verdict}


@pytest.mark.parametrize("status", [told, nowhere])
async def test_a_bound_address_is_the_one_that_is_sent(status: Any) -> None:
    """A profile that names one has it sent and looked for."""
    bound = '[gateway.link_body]\nredirect_url = "https://mine.example/"\n'
    checkout = Narrowed(status=status, own="https://mine.example/")
    found = await judged(RETURNS, checkout, options=BOTH, defaults="none", profile=bound)
    assert found == {"GW-CHK-19": Verdict.PASS if status is told else Verdict.FAIL}
