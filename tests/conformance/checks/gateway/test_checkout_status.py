"""Where payers return to, by the status of a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.gateway.scripted_checkout import Checkout, Link, run_check, status_of_unpaid

RETURNS = "the_status_tells_where_payers_return"
BOTH_OPTIONS = '"gateway.checkout", "gateway.records"'


@pytest.fixture(autouse=True)
def tenant_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_0123456789abcdef")


def nowhere(link: Link) -> Mapping[str, Any]:
    return {**status_of_unpaid(link), "redirect_url": None}


@dataclass
class Narrowed(Checkout):
    """A checkout that creates no link whose payer returns to another address than its own."""

    kind: str = "return_address"
    own: str | None = None

    async def send(self, method: str, url: str, headers: Any, body: bytes | None) -> Any:
        """Answer one request."""
        is_refused_body = b"redirect_url" in (body or b"") and (self.own or "\n").encode() not in (body or b"")
        if method == "POST" and url.endswith("/v1/payment-links") and is_refused_body:
            return self._answer(422, {"error": "validation_error", "detail": [{"type": self.kind}]})
        return await super().send(method, url, headers, body)


@pytest.mark.parametrize(
    ("status", "options", "defaults", "verdict"),
    [
        (status_of_unpaid, BOTH_OPTIONS, "none", Verdict.PASS),
        (status_of_unpaid, BOTH_OPTIONS, "reference", Verdict.PASS),
        (nowhere, BOTH_OPTIONS, "none", Verdict.FAIL),
        (nowhere, '"gateway.checkout"', "reference", Verdict.FAIL),
        (nowhere, '"gateway.checkout"', "none", Verdict.WARN),
    ],
)
async def test_a_status_without_the_address_is_caught(
    status: Any, options: str, defaults: str, verdict: Verdict
) -> None:
    """It fails where the members of links are claimed, too, and warns where they are free."""
    verdict_by_row = await run_check(RETURNS, Checkout(status=status), options=options, defaults=defaults)
    assert verdict_by_row == {"GW-CHK-19": verdict}


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
    verdict_by_row = await run_check(
        RETURNS, Narrowed(status=status_of_unpaid, kind=kind), options=BOTH_OPTIONS, defaults=defaults
    )
    assert verdict_by_row == {"GW-CHK-19": verdict}


@pytest.mark.parametrize("status", [status_of_unpaid, nowhere])
async def test_a_bound_address_is_the_one_that_is_sent(status: Any) -> None:
    """A profile that names one has it sent and looked for."""
    binding = '[gateway.link_body]\nredirect_url = "https://mine.example/"\n'
    checkout = Narrowed(status=status, own="https://mine.example/")
    verdict_by_row = await run_check(RETURNS, checkout, options=BOTH_OPTIONS, defaults="none", profile=binding)
    assert verdict_by_row == {"GW-CHK-19": Verdict.PASS if status is status_of_unpaid else Verdict.FAIL}
