"""`weldproof pay` looks at an offer before it pays: whatever it holds, what follows is a payment or one sentence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.cli.pay.call_payment import check_worth_paying
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.surfaces.gateway.paying import PaymentRefused
from conformance.surfaces.rail.purchase import Challenge

OPERATION = Operation("receipt-verify", "http://rail.example/v1/x", "/v1/x", {"jws": "a"}, ())


def make_challenge(**terms: Any) -> Challenge:
    """Return a challenge whose offer for Base has further terms."""
    answer = Answer(1, 402, CIMultiDictProxy(CIMultiDict()), b"")
    return Challenge(OPERATION, OPERATION.body, answer, ({"network": "eip155:8453", **terms},))


@pytest.mark.parametrize("terms", [{}, {"extra": None}, {"extra": "none"}, {"extra": [1]}, {"extra": 3}])
def test_an_offer_without_an_object_extra_is_not_paid(terms: dict[str, Any]) -> None:
    """One line reports that nothing was paid."""
    with pytest.raises(PaymentRefused, match=r"^the challenge's offer has no object `extra`; nothing was paid$"):
        check_worth_paying(cast("Case", SimpleNamespace(lane="base")), make_challenge(**terms))


def test_a_number_that_is_no_moment_says_nothing_of_the_time_left() -> None:
    """A challenge token may begin with any number of digits: how it is made is its rail's own affair."""
    bindings = SimpleNamespace(rail_bindings=SimpleNamespace(challenge_ttl=600))
    case = cast("Case", SimpleNamespace(lane="base", profile=bindings))
    check_worth_paying(case, make_challenge(extra={"payment_reference": "9" * 5000 + ":rest"}))
