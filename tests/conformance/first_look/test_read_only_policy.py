"""A first look sends nothing from which a server could create anything."""

from __future__ import annotations

import pytest

from conformance.engine.check_loading import load_checks
from conformance.engine.exclusive import Exclusive
from conformance.first_look.read_only_policy import NotSent, ReadOnlyPolicy, is_tried
from conformance.ledger import load

BASE = "http://127.0.0.1:8402"
BODY = b'{"amount":1}'


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/anything?x=1", None),
        ("HEAD", "/", None),
        ("OPTIONS", "/v1/payment-links", None),
        ("POST", "/v1/receipt/verify", BODY),
        ("POST", "/verify/rfc9421", BODY),
        ("POST", "/pay/v1/receipt/verify?x", BODY),
        ("POST", "/v1/payment-links", b"{}"),
    ],
)
def test_what_reads_or_is_refused_is_sent(method: str, path: str, body: bytes | None) -> None:
    """Reading, computing, and calls that want a payment first."""
    ReadOnlyPolicy(BASE)(method, BASE + path, body)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/payment-links", BODY),
        ("POST", "/v1/resources", b'{"name":"x"}'),
        ("POST", "/compliance/screen", BODY),
        ("POST", "/a2a", BODY),
        ("POST", "/v1/services", None),
        ("PUT", "/v1/receipt/verify", BODY),
        ("DELETE", "/anything", None),
        ("PATCH", "/pay/v1/receipt/verify", BODY),
        ("POST", "/weather", None),
    ],
)
def test_what_might_create_something_is_not(method: str, path: str, body: bytes | None) -> None:
    """Whether or not a server would refuse it."""
    with pytest.raises(NotSent, match=f"it needs a {method}"):
        ReadOnlyPolicy(BASE)(method, BASE + path, body)


def test_another_server_is_not_this_one() -> None:
    """An operation is known by its whole address."""
    with pytest.raises(NotSent):
        ReadOnlyPolicy(BASE)("POST", "http://127.0.0.1:9/v1/receipt/verify", BODY)


def test_what_the_server_itself_sells_is_asked_for() -> None:
    """An address that its documents list, or that the operator gave with --method POST."""
    permit = ReadOnlyPolicy(BASE)
    permit.sells(f"{BASE}/weather?city=x")
    permit("POST", f"{BASE}/weather", b"{}")


def test_the_checks_are_those_whose_rows_need_nothing() -> None:
    """The list follows from the registry: no row of a tried check needs a payment, credential, receiver or program."""
    checks_tried = [one for one in load_checks() if is_tried(one)]
    needs = {need for one in checks_tried for row in one.rows for need in load()[row].needs}
    assert needs <= {"B", "V"}
    assert not [one.id for one in checks_tried if one.exclusive is not Exclusive.NOTHING or one.self_contained]
    names = {one.id for one in checks_tried}
    assert {"unpaid_call_is_challenged", "vectors_are_judged", "eight_codes"} <= names
    assert not {"challenge_is_short_lived", "generated_calls_of_the_rail", "receipt_verifies_offline"} & names
