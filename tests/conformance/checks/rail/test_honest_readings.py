"""Behaviour of honest rails that differs from the reference is read as it is meant."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.client import Answer, read_retry_after
from conformance.oracles.hash_recipes import jcs_bytes, response_hashes, settled_refs, sha256_hex
from conformance.surfaces.rail.purchase import lane_of
from conformance.surfaces.rail.unpaid_answers import find_leaks

_JWS = ".".join(
    base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b'{"alg":"HS256"}', b'{"jti":"1"}', b"m" * 32)
)


def answer(document: Any = None, **headers: str) -> Answer:
    """Return an answer as the client gives it."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(1, 402, CIMultiDictProxy(CIMultiDict(fields)), json.dumps(document).encode())


@pytest.mark.parametrize(
    ("network", "lane"),
    [
        ("eip155:8453", "base"),
        ("eip155:84532", "base"),
        ("eip155:4217", None),
        ("algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k", "algorand"),
        ("voi:mainnet", None),
        (7, None),
    ],
)
def test_an_evm_chain_that_is_not_base_is_a_lane_of_its_own(network: Any, lane: str | None) -> None:
    """A further EVM lane is not taken for Base."""
    assert lane_of({"network": network}) == lane


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        ("5", "", 5.0),
        ("Sat, 21 Nov 2026 14:00:07 GMT", "Sat, 21 Nov 2026 14:00:00 GMT", 7.0),
        ("Sat, 21 Nov 2026 13:00:00 GMT", "Sat, 21 Nov 2026 14:00:00 GMT", 0.0),
        ("99999", "", 120.0),
        ("soon", "Sat, 21 Nov 2026 14:00:00 GMT", None),
        ("", "", None),
    ],
)
def test_retry_after_may_be_a_date(value: str, date: str, seconds: float | None) -> None:
    """Retry-After counts in seconds, or as a date from the answer's own Date."""
    assert read_retry_after(answer(Retry_After=value, Date=date)) == seconds


def test_a_challenge_token_that_is_a_jws_is_no_leak() -> None:
    """The token is in the challenge for the payer; any other signed token there has leaked."""
    honest = {"accepts": [{"extra": {"payment_reference": _JWS}}]}
    assert find_leaks(answer(honest)) == []
    assert find_leaks(answer({"accepts": [], "note": _JWS})) == ["body:note"]


def test_a_response_hash_may_leave_the_receipt_out() -> None:
    """The body without the receipt is a recipe, whatever other tokens it holds and wherever the receipt stood."""
    other_members = {"result": {"jws": _JWS}, "list": []}
    body = json.dumps({**other_members, "proof": {"receipt": "a.b.c"}, "receipts": ["a.b.c"]}).encode()
    hashes = response_hashes(body, other_members["result"], "a.b.c")
    assert sha256_hex(jcs_bytes(other_members)) in hashes["jcs-body-without-receipt"]


def test_a_settlement_may_be_bound_by_the_token_where_nobody_tells_the_transaction() -> None:
    """Without a transaction id the recipes over the token are left."""
    assert set(settled_refs(None, None, "base_mainnet", "token")) == {"sha256-token", "raw-token"}
