"""How links end: what calls them off, and how much time a check lets pass to see one end."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.checks.gateway import checkout_ends
from conformance.http.client import Answer
from conformance.outcome import Inconclusive, Verdict
from conformance.pages.browser import Browser
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway
from tests.conformance.checks.gateway.scripted_checkout import (
    PAYOUT,
    Checkout,
    Link,
    Off,
    end_link,
    plain_page,
    run_check,
    status_of_unpaid,
)

_NOW, _HOUR, _DAY = 1_800_000_000, 3600, 86_400


@dataclass
class Service:
    """A gateway for which no more than `longest` seconds may pass at once."""

    is_separate: bool
    longest: float = 2 * _DAY
    now: float = _NOW
    passed: list[float] = field(default_factory=list)

    async def advance(self, seconds: float) -> None:
        """Let seconds pass."""
        if seconds > self.longest:
            raise Inconclusive("too long")
        self.passed.append(seconds)


def make_answer(lifetime: int | None) -> Answer:
    members = {} if lifetime is None else {"expires_at": dt.datetime.fromtimestamp(_NOW + lifetime, dt.UTC).isoformat()}
    return Answer(1, 201, CIMultiDictProxy(CIMultiDict()), json.dumps(members).encode())


@pytest.mark.parametrize(
    ("service", "lifetime", "expected"),
    [
        (Service(is_separate=True), _DAY, [_DAY - 900]),
        (Service(is_separate=True), _HOUR, [_HOUR - 900]),
        (Service(is_separate=True), 900, []),
        (Service(is_separate=True), None, []),
        (Service(is_separate=True, longest=_HOUR), _DAY, []),
        (Service(is_separate=False), _DAY, []),
    ],
)
async def test_time_passes_until_shortly_before_the_end(
    service: Service, lifetime: int | None, expected: list[float]
) -> None:
    """A day passes for a service of its own alone, and nothing for every other, or where no more may pass."""
    await checkout_ends._advance_near_end(cast("LimitedGateway", service), make_answer(lifetime))
    assert service.passed == expected


OFF = "a_link_is_called_off"


@pytest.fixture
def tenant_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_0123456789abcdef")
    monkeypatch.setattr(checkout_ends, "_ROUND_SECONDS", 0.01)


def only(call: str, other_answer: tuple[int, Any]) -> Off:
    """Return what answers one of the two calls otherwise, and does nothing for it."""
    return lambda link, name, sent: other_answer if name == call else end_link(link, name, sent)


def not_gone(link: Link, call: str, body: Mapping[str, Any] | None) -> tuple[int, Any]:
    """Refuse to cancel a second time with another status than P-CK-07 has."""
    status, document = end_link(link, call, body)
    return (409 if status == 410 else status), document


def not_as_before(link: Link, call: str, body: Mapping[str, Any] | None) -> tuple[int, Any]:
    """Refuse to abandon what is cancelled."""
    return (410, {"error": "ended"}) if link.state == "cancelled" else end_link(link, call, body)


def wants_a_body(link: Link, call: str, body: Mapping[str, Any] | None) -> tuple[int, Any]:
    """Abandon by an object alone."""
    return (422, {"error": "validation_error"}) if body is None else end_link(link, call, body)


NOT_FOUND_ANSWER: tuple[int, Any] = (404, {"error": "not_found"})
IN_WORDS: tuple[int, Any] = (200, {"status": "cancelled"})


@pytest.mark.usefixtures("tenant_key")
@pytest.mark.parametrize(
    ("off", "verdict"),
    [
        (end_link, Verdict.PASS),
        (only("abandon", NOT_FOUND_ANSWER), Verdict.FAIL),
        (only("cancel", NOT_FOUND_ANSWER), Verdict.FAIL),
        (only("abandon", IN_WORDS), Verdict.FAIL),
        (only("cancel", IN_WORDS), Verdict.FAIL),
        (only("cancel", (200, {})), Verdict.FAIL),
        (not_gone, Verdict.FAIL),
        (not_as_before, Verdict.FAIL),
        (wants_a_body, Verdict.FAIL),
        (only("abandon", (503, {"error": "chain_unavailable"})), Verdict.INCONCLUSIVE),
        (only("abandon", (409, {"error": "payment_pending"})), Verdict.INCONCLUSIVE),
        (only("cancel", (503, {"error": "chain_unavailable"})), Verdict.INCONCLUSIVE),
        (only("abandon", (409, {"error": "payment_link_already_paid"})), Verdict.FAIL),
    ],
)
async def test_a_link_that_is_not_called_off_is_caught(off: Off, verdict: Verdict) -> None:
    """By its secret and by the payer's word it ends; where the chain cannot be asked nothing is decided."""
    assert await run_check(OFF, Checkout(status=status_of_unpaid, off=off)) == {"GW-CHK-22": verdict}


@pytest.mark.usefixtures("tenant_key")
@pytest.mark.parametrize(
    ("page", "verdict"),
    [
        ("<body><p>This order was canceled.</p></body>", Verdict.PASS),
        ("<body><p>It is over.</p></body>", Verdict.FAIL),
        (f"<body><p>Cancelled</p><p>{PAYOUT}</p></body>", Verdict.FAIL),
        ("<body><p>Cancelled</p><div id='memo'>svc:{token}</div></body>", Verdict.FAIL),
        ("<body><p>Cancelled, svc:{token}</p></body>", Verdict.FAIL),
        ("<body><p>Cancelled</p><div id='state'>Paid</div></body>", Verdict.FAIL),
    ],
)
async def test_a_page_that_still_asks_for_money_is_caught(page: str, verdict: Verdict) -> None:
    """The page of a link that was called off says so, and shows neither address nor memo."""

    def show_page(link: Link) -> str:
        return page.format(token=link.token) if link.state == "cancelled" else plain_page(link)

    assert await run_check(OFF, Checkout(page=show_page, status=status_of_unpaid, off=end_link)) == {
        "GW-CHK-22": verdict
    }


@pytest.mark.usefixtures("tenant_key")
@pytest.mark.parametrize(
    "page",
    [
        "<p>This link was cancelled and cannot be paid.</p>",
        "<p>Cancelled</p><p>Already paid? Contact the shop.</p>",
        "<p>Cancelled</p><p>Nothing was paid.</p>",
        "<p>Cancelled</p><dl><dt>Order reference</dt><dd>1234</dd></dl>",
        "<p>Cancelled</p><table><tr><th>Message</th><td>cancelled</td></tr></table>",
        "<p>Cancelled</p><p>Link {token}</p>",
        f'<p>Cancelled</p><script type=\'application/json\'>{{{{"pay_to":"{PAYOUT}"}}}}</script>',
    ],
)
async def test_other_words_on_an_ended_page_are_no_fault(page: str) -> None:
    """It has to show neither address nor memo; what else it says is left to it."""

    def show_page(link: Link) -> str:
        return f"<body>{page.format(token=link.token)}</body>" if link.state == "cancelled" else plain_page(link)

    checkout = Checkout(page=show_page, status=status_of_unpaid, off=end_link)
    assert await run_check(OFF, checkout, defaults="none") == {"GW-CHK-22": Verdict.PASS}


@pytest.mark.usefixtures("tenant_key")
async def test_a_status_and_a_page_that_are_behind_are_read_again() -> None:
    """A replica may tell for a moment what was before."""
    read: Counter[str] = Counter()

    def behind(link: Link) -> Any:
        read[link.token] += link.state == "cancelled"
        return {**status_of_unpaid(link), "status": "active"} if read[link.token] == 1 else status_of_unpaid(link)

    def page(link: Link) -> str:
        read[f"page {link.token}"] += link.state == "cancelled"
        late = link.state == "cancelled" and read[f"page {link.token}"] > 1
        return "<body><p>Cancelled</p></body>" if late else plain_page(link)

    assert await run_check(OFF, Checkout(page=page, status=behind, off=end_link)) == {"GW-CHK-22": Verdict.PASS}


@pytest.mark.usefixtures("tenant_key")
async def test_a_page_of_scripts_alone_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No target fails for a word that only a browser shows."""

    async def start_nothing(*_: object) -> None:
        raise Inconclusive("no browser")

    monkeypatch.setattr(Browser, "render", start_nothing)
    checkout = Checkout(
        page=lambda _: "<body><script src='/app.js'></script></body>", status=status_of_unpaid, off=end_link
    )
    assert await run_check(OFF, checkout, defaults="none") == {"GW-CHK-22": Verdict.INCONCLUSIVE}


@pytest.mark.usefixtures("tenant_key")
async def test_an_unavailable_chain_is_asked_again() -> None:
    """A client that abandons a link while its payment is undecided is answered "try again later", and does."""
    calls: list[str] = []

    def late(link: Link, call: str, sent: Mapping[str, Any] | None) -> tuple[int, Any]:
        calls.append(call)
        return (503, {"error": "chain_unavailable"}) if len(calls) < 3 else end_link(link, call, sent)

    assert await run_check(OFF, Checkout(status=status_of_unpaid, off=late)) == {"GW-CHK-22": Verdict.PASS}
