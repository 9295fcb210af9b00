"""The oracle of the 402 body: strict x402 version 2 with the interface's name for the price."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from x402 import parse_payment_required

from conformance.oracles.addresses import is_address, is_caip2
from conformance.oracles.challenge_schema import atomic_amount, faults_of_challenge
from conformance.oracles.openapi_validity import LeadsElsewhere, faults_of_openapi

CHALLENGE: dict[str, Any] = {
    "x402Version": 2,
    "error": "payment_required",
    "resource": {"url": "http://localhost:8402/pay/v1/verify/receipt", "mimeType": "application/json"},
    "accepts": [
        {
            "scheme": "exact",
            "network": "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k",
            "amount": "10000",
            "maxAmountRequired": "10000",
            "asset": "31566704",
            "payTo": "VCMJKWOY5P5P7SKMZFFOCEROPJCZOTIJMNIYNUCKH7LRO45JMJP6UYBIJA",
            "maxTimeoutSeconds": 1800,
            "extra": {"payment_reference": "1767225600:0011223344556677:ab"},
        }
    ],
    "extensions": {},
}


def change_text(path: str, value: Any = None) -> dict[str, Any]:
    """Return the challenge with one member set, or taken out when no value is given."""
    document = copy.deepcopy(CHALLENGE)
    *way, last = path.split("/")
    place: Any = document
    for step in way:
        place = place[int(step) if step.isdecimal() else step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return document


def test_a_whole_challenge_keeps_the_schema_and_the_public_models() -> None:
    """The oracle and the x402 package both take it."""
    assert faults_of_challenge(CHALLENGE) == []
    assert parse_payment_required(CHALLENGE).accepts[0].network == CHALLENGE["accepts"][0]["network"]


def test_the_interfaces_own_name_of_the_price_is_enough() -> None:
    """`amount` may be left out (C-03), although public version 2 models then refuse the document."""
    document = change_text("accepts/0/amount")
    assert faults_of_challenge(document) == []
    with pytest.raises(ValueError, match="amount"):
        parse_payment_required(document)


@pytest.mark.parametrize(
    "path",
    [
        "x402Version",
        "resource",
        "resource/url",
        "accepts",
        *(
            f"accepts/0/{name}"
            for name in ("scheme", "network", "asset", "payTo", "maxAmountRequired", "maxTimeoutSeconds", "extra")
        ),
        "accepts/0/extra/payment_reference",
    ],
)
def test_a_member_that_is_missing_is_a_fault(path: str) -> None:
    """Each required member is missed by its name, and by nothing else."""
    faults = faults_of_challenge(change_text(path))
    faults_naming_member = [fault for fault in faults if path.rpartition("/")[2] in fault]
    assert faults_naming_member
    assert len(faults) - len(faults_naming_member) == 0


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("x402Version", 1),
        ("x402Version", "2"),
        ("accepts", []),
        ("accepts", {}),
        ("accepts/0", "entry"),
        ("accepts/0/network", "base"),
        ("accepts/0/network", "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8="),
        ("accepts/0/amount", 10000),
        ("accepts/0/amount", "0.01"),
        ("accepts/0/amount", "20000"),
        ("accepts/0/asset", 31566704),
        ("accepts/0/payTo", ""),
        ("accepts/0/maxTimeoutSeconds", 0),
        ("accepts/0/maxTimeoutSeconds", "1800"),
        ("accepts/0/extra", []),
        ("accepts/0/extra/payment_reference", ""),
        ("resource/url", ""),
        ("error", 402),
        ("extensions", []),
    ],
)
def test_a_member_of_the_wrong_kind_is_a_fault(path: str, value: Any) -> None:
    """One wrong member, one document with faults."""
    document = copy.deepcopy(CHALLENGE)
    if path == "accepts/0":
        document["accepts"] = [value]
    else:
        document = change_text(path, value)
    assert faults_of_challenge(document)


@pytest.mark.parametrize("document", [None, [], "x", 1, {}, {"accepts": [None, 1, {"amount": None}]}])
def test_odd_documents_have_faults_and_cause_none(document: Any) -> None:
    """Whatever a target answers, the oracle lists faults."""
    assert faults_of_challenge(document)


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        ("0", 0),
        ("10000", 10000),
        ("01", None),
        ("-1", None),
        ("+1", None),
        ("1.0", None),
        ("1e4", None),
        (" 1", None),
        ("1\n", None),
        ("\u0661", None),
        ("", None),
        (10000, None),
        (None, None),
        ("9" * 40, None),
    ],
)
def test_an_atomic_amount_is_plain_digits(value: Any, amount: int | None) -> None:
    """Decimal digits in a string, no sign, exponent, leading zero or white space (P-CV-05)."""
    assert atomic_amount(value) == amount


@pytest.mark.parametrize(
    ("namespace", "text", "is_expected"),
    [
        ("algorand", "VCMJKWOY5P5P7SKMZFFOCEROPJCZOTIJMNIYNUCKH7LRO45JMJP6UYBIJA", True),
        ("algorand", "VCMJKWOY5P5P7SKMZFFOCEROPJCZOTIJMNIYNUCKH7LRO45JMJP6UYBIJB", False),
        ("algorand", "", False),
        ("algorand", "é" * 58, False),
        ("eip155", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", True),
        ("eip155", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA0291", False),
        ("eip155", "833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", False),
        ("eip155", "0x" + "0" * 40, False),
        ("solana", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", True),
        ("solana", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyT", False),
        ("solana", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v\n", False),
        ("solana", "0OIl" * 11, False),
        ("solana", "é" * 40, False),
    ],
)
def test_an_address_belongs_to_its_chain(namespace: str, text: str, is_expected: bool) -> None:
    """Checksum on Algorand, twenty bytes that are not all zero on EVM chains, thirty-two on Solana."""
    assert is_address(namespace, text) is is_expected


def test_chain_ids_are_caip_2() -> None:
    """The three lanes' ids are; short names, the 44-character Algorand hash and empty parts are not."""
    for text in ("algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k", "eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"):
        assert is_caip2(text)
    for text in ("base", "eip155:", ":8453", "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=", "eip155:8453\n"):
        assert not is_caip2(text)


def test_an_openapi_document_is_judged_by_its_own_version() -> None:
    """A small 3.1 document is sound; without a title, with a bad reference or of another kind it has faults."""
    sound = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/p": {"post": {"responses": {"402": {"description": "pay"}}, "x-payment-info": {}}}},
    }
    assert faults_of_openapi(sound) == []
    assert any("title" in fault for fault in faults_of_openapi({**sound, "info": {"version": "1"}}))
    assert faults_of_openapi({**sound, "paths": {"/p": {"post": {"responses": {"402": {}}}}}})
    assert faults_of_openapi({**sound, "paths": {"/p": {"$ref": "#/nowhere"}}})
    oddities: tuple[Any, ...] = (None, [], {}, {"openapi": 3.1}, {"openapi": "2.0"}, {"swagger": "2.0"})
    for odd in oddities:
        assert faults_of_openapi(odd)


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/x.json", "file:///etc/hostname", "other.json#/a", "//h/x"])
def test_nothing_is_fetched_for_an_openapi_document(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference that leads out of the document is named, and nothing is opened for it; one within it is ignored."""
    monkeypatch.setattr("jsonschema_path.retrievers.urlopen", lambda uri: pytest.fail(f"opened {uri}"))
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/p": {"get": {"responses": {"200": {"description": "d"}}}}},
        "components": {"schemas": {"A": {"items": [{"$ref": address}]}, "B": {"$ref": "#/components/schemas/A"}}},
    }
    with pytest.raises(LeadsElsewhere, match=f"leads to {re.escape(address)}, which is not fetched"):
        faults_of_openapi(document)
    document["components"]["schemas"]["A"] = {"type": "object", "properties": {"$ref": {"type": "string"}}}
    assert faults_of_openapi(document) == []
