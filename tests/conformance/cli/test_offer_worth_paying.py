"""`weldproof pay` looks at an offer before it pays: whatever it holds, what follows is a payment or one sentence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.cli.pay.call_payment import check_header, check_worth_paying, read_price
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.surfaces.gateway.checkout_payment import PaymentRefused
from conformance.surfaces.payer.quotes import to_header
from conformance.surfaces.rail.purchase import Challenge
from conformance.target import Profile, parse

OPERATION = Operation("receipt-verify", "http://rail.example/v1/x", "/v1/x", {"jws": "a"}, ())


def make_challenge(**terms: Any) -> Challenge:
    """Return a challenge whose offer for Base has further terms."""
    answer = Answer(1, 402, CIMultiDictProxy(CIMultiDict()), b"")
    return Challenge(OPERATION, OPERATION.body, answer, ({"network": "eip155:8453", **terms},))


@pytest.mark.parametrize("terms", [{}, {"extra": None}, {"extra": "none"}, {"extra": [1]}, {"extra": 3}])
def test_an_offer_without_an_object_extra_is_not_paid(terms: dict[str, Any]) -> None:
    """One line reports that nothing was paid."""
    with pytest.raises(PaymentRefused, match=r"^the challenge's offer has no object `extra`; nothing was paid$"):
        check_worth_paying(cast("Case", SimpleNamespace(lane="base")), make_challenge(**terms), ARRIVED_AT)


ARRIVED_AT = 1_800_000_000


def make_case(*, now: int, challenge_ttl: int | None = None) -> Case:
    """Return a case at a time, with the lifetime that its profile binds."""
    clock = SimpleNamespace(offset_file=None)
    profile = SimpleNamespace(rail_bindings=SimpleNamespace(challenge_ttl=challenge_ttl), clock=clock)
    return cast("Case", SimpleNamespace(lane="base", profile=profile, now=now))


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.engine.clock.now", lambda case: case.now)


@pytest.mark.parametrize("token", ["quote:rest", "9" * 5000 + ":rest"])
@pytest.mark.parametrize("is_bound", [True, False])
def test_a_token_without_a_time_is_as_old_as_its_arrival(token: str, *, is_bound: bool) -> None:
    """With 119 s left since the arrival it is not paid, and with 120 s it is; the profile's lifetime goes first."""

    def check(lifetime: int, waited: int) -> None:
        bound_ttl = lifetime if is_bound else None
        case = make_case(now=ARRIVED_AT + waited, challenge_ttl=bound_ttl)
        quote = make_challenge(extra={"payment_reference": token}, maxTimeoutSeconds=60 if is_bound else lifetime)
        check_worth_paying(case, quote, ARRIVED_AT)

    check(120, 0)
    check(600, 480)
    for lifetime, waited in ((119, 0), (600, 481)):
        with pytest.raises(PaymentRefused, match=r"^the challenge expires in less than 120 s"):
            check(lifetime, waited)


def test_a_token_with_a_time_is_as_old_as_that_time() -> None:
    """Whenever it arrived."""

    def check(lifetime: int, age: int) -> None:
        token = f"{ARRIVED_AT - age}:rest"
        quote = make_challenge(extra={"payment_reference": token}, maxTimeoutSeconds=lifetime)
        check_worth_paying(make_case(now=ARRIVED_AT), quote, ARRIVED_AT)

    check(300, 180)
    with pytest.raises(PaymentRefused, match=r"^the challenge expires in less than 120 s"):
        check(300, 181)


def make_answer(header: str | None) -> Challenge:
    """Return a 402 with one offer in its body, and a header."""
    fields = CIMultiDict[str]() if header is None else CIMultiDict({"PAYMENT-REQUIRED": header})
    answer = Answer(1, 402, CIMultiDictProxy(fields), b'{"accepts": [{"payTo": "a"}], "error_detail": []}')
    return Challenge(OPERATION, OPERATION.body, answer, ({"payTo": "a"},))


@pytest.mark.parametrize("header", [None, to_header({"accepts": [{"payTo": "a"}]})])
def test_a_header_that_repeats_the_offers_is_no_obstacle(header: str | None) -> None:
    """The header is optional, and may leave out other members."""
    check_header(make_answer(header))


@pytest.mark.parametrize(
    "header", [to_header({"accepts": [{"payTo": "b"}]}), to_header({}), "no base64", "bm8ganNvbg=="]
)
def test_a_header_that_offers_something_else_is_not_paid(header: str) -> None:
    """One line reports that nothing was paid."""
    with pytest.raises(PaymentRefused, match=r"PAYMENT-REQUIRED; nothing was paid$"):
        check_header(make_answer(header))


def with_node(network: str) -> Case:
    """Return a case with a node of a network of Base."""
    profile: Profile = parse(f"[chains.base]\nnetwork = '{network}'\nrpc = 'http://127.0.0.1:1'\n")
    return cast("Case", SimpleNamespace(lane="base", profile=profile))


USDC = {"asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "maxAmountRequired": "7"}


def test_a_price_is_read_on_the_network_of_the_node() -> None:
    """With or without the member `amount`; an offer on a network without a name is of the node's."""
    for entry in ({"network": "eip155:8453", "amount": "7"}, {"network": "eip155:8453"}, {"network": "eip155:31337"}):
        assert read_price(with_node("base_mainnet"), {**USDC, **entry}) == ("base_mainnet", 7)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"network": "eip155:84532"}, "asks for a payment on base_sepolia"),
        ({"network": "eip155:8453", "amount": "8"}, "asks for 7 and for 8 at once"),
        ({"network": "eip155:8453", "maxAmountRequired": "-7"}, "is not an amount"),
    ],
)
def test_a_price_that_is_not_this_one_is_not_paid(entry: dict[str, Any], reason: str) -> None:
    """Another network of the chain, two prices, or no price."""
    with pytest.raises(PaymentRefused, match=reason):
        read_price(with_node("base_mainnet"), {**USDC, **entry})
