"""What x402 demands of a 402: a sound one keeps every rule, and each fault breaks its own rule and no other."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from x402.http.x402_http_client_base import x402HTTPClientBase

from conformance.first_look.version_one import CAUSE
from conformance.first_look.x402_answer import ChallengeAnswer, read_challenge
from conformance.first_look.x402_rules import RULES, judge
from conformance.http.client import Answer
from conformance.outcome import Verdict

BROKEN = {Verdict.FAIL, Verdict.WARN}
Document = dict[str, Any]


def terms() -> Document:
    """Return terms as a stock server has them, with an offer on an EVM chain and one on Solana."""
    offer = {"scheme": "exact", "maxTimeoutSeconds": 60, "amount": "10000"}
    evm = {
        "network": "eip155:84532",
        "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        "payTo": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
        "extra": {"name": "USDC", "version": "2"},
    }
    solana = {
        "network": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
        "asset": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
        "payTo": "8vsKEALF4o17Ddo2S5mi5hrhgAikhw23Q1oyGPZVCphR",
        "extra": {"feePayer": "8vsKEALF4o17Ddo2S5mi5hrhgAikhw23Q1oyGPZVCphR"},
    }
    resource = {"url": "https://shop.example/weather"}
    return {"x402Version": 2, "error": "pay", "resource": resource, "accepts": [offer | evm, offer | solana]}


def encode_document(document: object) -> str:
    """Return a document as the header carries it."""
    return base64.b64encode(json.dumps(document).encode()).decode()


def make_answer(
    header: str | None, *fields: tuple[str, str], body: bytes = b"{}", status: int = 402
) -> ChallengeAnswer:
    """Return an answer with this header and further fields."""
    headers = CIMultiDict([("Cache-Control", "no-store"), *fields])
    if header is not None:
        headers.add("PAYMENT-REQUIRED", header)
    return read_challenge("GET", "https://shop.example/weather", Answer(1, status, CIMultiDictProxy(headers), body))


def broken_ids(answer: ChallengeAnswer) -> set[str]:
    """Return the ids of the rules that an answer breaks."""
    return {one.rule.id for one in judge(answer) if one.verdict in BROKEN}


def change_terms(**members: Any) -> Document:
    """Return the terms with other members; None takes one out."""
    return {name: value for name, value in {**terms(), **members}.items() if value is not None}


def change_offer(place: int = 0, **members: Any) -> Document:
    """Return the terms with other members in one offer; None takes one out."""
    document = terms()
    offer = {**document["accepts"][place], **members}
    document["accepts"][place] = {name: value for name, value in offer.items() if value is not None}
    return document


# One fault each, and the rules that it breaks.
FAULTS: dict[str, tuple[Document, set[str]]] = {
    "version as text": (change_terms(x402Version="2"), {"X402-04"}),
    "version true": (change_terms(x402Version=True), {"X402-04"}),
    "version 1": (change_terms(x402Version=1), {"X402-04"}),
    "no resource": (change_terms(resource=None), {"X402-05"}),
    "resource as in version 1": (change_terms(resource="https://shop.example/weather"), {"X402-05"}),
    "resource without url": (change_terms(resource={}), {"X402-05"}),
    "no offer": (change_terms(accepts=[]), {"X402-06"}),
    "accepts no array": (change_terms(accepts={}), {"X402-06"}),
    "an offer as text": (change_terms(accepts=[*terms()["accepts"], "exact"]), {"X402-06"}),
    "no scheme": (change_offer(1, scheme=None), {"X402-07"}),
    "network by name": (change_offer(network="base-sepolia"), {"X402-08"}),
    "network as number": (change_offer(network=84532), {"X402-08"}),
    "amount a float": (change_offer(amount=0.01), {"X402-09"}),
    "amount a number": (change_offer(amount=10000), {"X402-09"}),
    "amount with a point": (change_offer(amount="0.01"), {"X402-09"}),
    "amount in exponents": (change_offer(amount="1e4"), {"X402-09"}),
    "amount negative": (change_offer(amount="-1"), {"X402-09"}),
    "amount missing": (change_offer(amount=None, maxAmountRequired="10000"), {"X402-09"}),
    "asset a number": (change_offer(1, asset=31566704), {"X402-10"}),
    "asset by symbol": (change_offer(asset="USDC"), {"X402-10"}),
    "no payee": (change_offer(payTo=""), {"X402-11"}),
    "payee of another chain": (change_offer(payTo=terms()["accepts"][1]["payTo"]), {"X402-11"}),
    "timeout as text": (change_offer(maxTimeoutSeconds="60"), {"X402-12"}),
    "timeout 0": (change_offer(maxTimeoutSeconds=0), {"X402-12"}),
    "timeout a fraction": (change_offer(maxTimeoutSeconds=0.5), {"X402-12"}),
    "timeout endless": (change_offer(maxTimeoutSeconds=1e999), {"X402-03"}),
    "no domain": (change_offer(extra={}), {"X402-14", "X402-15"}),
    "no extra": (change_offer(extra=None), {"X402-14", "X402-15"}),
    "extra as text": (change_offer(extra="USDC"), {"X402-13", "X402-14", "X402-15"}),
    "domain of the main network": (change_offer(extra={"name": "USD Coin", "version": "2"}), {"X402-15"}),
    "no fee payer": (change_offer(1, extra={}), {"X402-16"}),
    "fee payer of another chain": (change_offer(1, extra={"feePayer": terms()["accepts"][0]["payTo"]}), {"X402-16"}),
    "another network's USDC": (change_offer(asset="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"), {"X402-24"}),
    "another network's mint": (change_offer(1, asset="EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"), {"X402-24"}),
    "the token is paid": (change_offer(payTo="0x036CbD53842c5426634e7929541eC2318f3dCF7e".lower()), {"X402-25"}),
    "the mint is paid": (change_offer(1, payTo=terms()["accepts"][1]["asset"]), {"X402-25"}),
    "nothing to pay": (change_offer(amount="0"), {"X402-26"}),
    "another host": (change_terms(resource={"url": "https://other.example/weather"}), {"X402-27"}),
    "another path": (change_terms(resource={"url": "https://shop.example/climate"}), {"X402-27"}),
    "another port": (change_terms(resource={"url": "https://shop.example:8443/weather"}), {"X402-27"}),
    "an invalid port": (change_terms(resource={"url": "https://shop.example:x/weather"}), {"X402-27"}),
    "a sentence for an address": (change_terms(resource={"url": "Tells the weather of today."}), {"X402-27"}),
    "error no text": (change_terms(error={"code": 1}), {"X402-17"}),
    "extensions no object": (change_terms(extensions=[]), {"X402-17"}),
}


def test_rules_have_ids_of_their_own_and_say_what_to_do() -> None:
    """No fault is reported twice, nor without a remedy."""
    assert [one.id for one in RULES] == [f"X402-{number:02}" for number in range(1, len(RULES) + 1)]
    assert all(one.sentence and one.fix and one.source for one in RULES)


def test_a_sound_402_breaks_nothing() -> None:
    """The control of all others, with the terms in the body as well."""
    body = json.dumps(terms()).encode()
    answer = make_answer(encode_document(terms()), body=body)
    verdicts = {one.rule.id: one.verdict for one in judge(answer)}
    assert not broken_ids(answer)
    untried_rules = {"X402-21", "X402-22", "X402-23", "X402-28", "X402-29"}
    assert {name for name, one in verdicts.items() if one is not Verdict.PASS} == untried_rules


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_breaks_its_rule_and_no_other(name: str) -> None:
    """A reader of the report finds the fault where it is."""
    document, expected_rules = FAULTS[name]
    assert broken_ids(make_answer(encode_document(document))) == expected_rules


@pytest.mark.parametrize(
    "document",
    [
        change_terms(resource={"url": "https://SHOP.example:443/weather?city=x"}),
        change_terms(resource={"url": "/weather"}),
        change_offer(network="algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k", asset="10458941", payTo="A" * 58, extra={}),
    ],
    ids=["the same address", "a relative address", "an asset of that id"],
)
def test_what_is_right_by_another_spelling_breaks_none_of_these(document: Document) -> None:
    """Neither the address in another form nor a number that another network gave, too."""
    assert not broken_ids(make_answer(encode_document(document))) & {"X402-24", "X402-25", "X402-26", "X402-27"}


def test_the_page_lists_every_rule() -> None:
    """Who reads an id finds it there."""
    page = (Path(__file__).parents[3] / "docs" / "x402-rules.md").read_text(encoding="utf-8")
    for rule in RULES:
        assert f"| {rule.id} | {rule.level} | {rule.sentence} | {rule.source} |" in page


def test_permit2_needs_no_domain_of_the_token() -> None:
    """Only transfers by EIP-3009 are signed for the token's own domain."""
    document = change_offer(extra={"assetTransferMethod": "permit2", "name": "USDC", "version": "2"})
    assert not broken_ids(make_answer(encode_document(document)))


@pytest.mark.parametrize(
    ("header", "expected_rules"),
    [
        (None, {"X402-02"}),
        (json.dumps(terms()), {"X402-03"}),
        (encode_document(terms()).rstrip("=") + "=" * 3, {"X402-03"}),
        (base64.b64encode(b'{"x402Version":2').decode(), {"X402-03"}),
        (encode_document([terms()]), {"X402-03"}),
        (base64.urlsafe_b64encode(b"\xfb\xff" + json.dumps(terms()).encode()).decode(), {"X402-03"}),
    ],
    ids=["none", "plain JSON", "wrong padding", "cut JSON", "an array", "base64url"],
)
def test_terms_that_no_client_reads(header: str | None, expected_rules: set[str]) -> None:
    """The terms in the body save nothing: clients of version 2 read the header. They are judged all the same."""
    assert broken_ids(make_answer(header, body=json.dumps(terms()).encode())) == expected_rules
    wrong = json.dumps(change_offer(amount=1.5)).encode()
    assert broken_ids(make_answer(header, body=wrong)) == expected_rules | {"X402-09"}


def test_what_cannot_be_read_anywhere_is_not_judged() -> None:
    """Neither kept nor broken."""
    verdicts = {one.rule.id: one.verdict for one in judge(make_answer(None))}
    assert verdicts["X402-02"] is Verdict.FAIL
    assert verdicts["X402-09"] is Verdict.INCONCLUSIVE


def test_fields_beside_the_terms() -> None:
    """Status, copies of the header, caches, length and other origins have rules of their own."""
    header, wide = encode_document(terms()), encode_document(change_terms(error="x" * 8000))
    origin = ("Access-Control-Allow-Origin", "*")
    assert broken_ids(make_answer(header, status=200)) == {"X402-01"}
    assert broken_ids(make_answer(header, ("PAYMENT-REQUIRED", header))) == {"X402-02"}
    assert broken_ids(make_answer(header, ("Access-Control-Expose-Headers", "X-Other"), origin)) == {"X402-21"}
    assert not broken_ids(
        make_answer(header, ("Access-Control-Expose-Headers", "payment-response, Payment-Required"), origin)
    )
    assert broken_ids(make_answer(wide)) == {"X402-20"}


# A body, and whether it contradicts the terms in the header. The transport leaves the body to the server.
BODIES: dict[str, tuple[Document, bool]] = {
    "another price": (change_offer(amount="1"), True),
    "another payee": (change_offer(payTo="0x000000000000000000000000000000000000dEaD"), True),
    "another asset": (change_offer(asset="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"), True),
    "other networks alone": (change_terms(accepts=[{**terms()["accepts"][0], "network": "eip155:8453"}]), True),
    "a further member": (change_terms(extensions={"bazaar": {"info": {}}}), False),
    "another sentence": (change_terms(error="Payment required", resource=None), False),
    "fewer offers": (change_terms(accepts=terms()["accepts"][:1]), False),
    "a further offer": (change_terms(accepts=[*terms()["accepts"], {"scheme": "upto", "network": "eip155:1"}]), False),
    "an address in another case": (change_offer(payTo=terms()["accepts"][0]["payTo"].lower()), False),
    "another domain and time": (change_offer(maxTimeoutSeconds=90, extra={"name": "x", "version": "1"}), False),
    "terms of version 1": ({"x402Version": 1, "accepts": [{"network": "base", "maxAmountRequired": "9"}]}, False),
    "a price by its other name": (
        change_terms(
            accepts=[
                {**{name: value for name, value in offer.items() if name != "amount"}, "maxAmountRequired": "9"}
                for offer in terms()["accepts"]
            ]
        ),
        False,
    ),
    "no offer": (change_terms(accepts=[]), False),
    "invalid offers": (change_terms(accepts=["exact"]), False),
    "a scheme that is no text": (change_terms(accepts=[{**terms()["accepts"][0], "scheme": ["exact"]}]), True),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_the_servers_own_and_warns_where_it_contradicts_the_header(name: str) -> None:
    """Only price, payee, asset and network count, within one version, and nothing fails."""
    document, contradicts = BODIES[name]
    verdicts = {
        judgement.rule.id: judgement.verdict
        for judgement in judge(make_answer(encode_document(terms()), body=json.dumps(document).encode()))
    }
    assert (verdicts["X402-18"] is Verdict.WARN) is contradicts
    assert Verdict.FAIL not in verdicts.values()


VERSION_ONE: Document = {
    "x402Version": 1,
    "error": "pay",
    "accepts": [
        {
            "scheme": "exact",
            "network": "base-sepolia",
            "maxAmountRequired": "10000",
            "resource": "https://shop.example/weather",
            "description": "",
            "mimeType": "application/json",
            "payTo": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
            "maxTimeoutSeconds": 60,
            "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
            "extra": {"name": "USDC", "version": "2"},
        }
    ],
}
OF_VERSION_ONE = {"X402-02", "X402-04", "X402-05", "X402-08", "X402-09"}


def causes(answer: ChallengeAnswer) -> dict[str, str | None]:
    """Return the cause of each breach."""
    return {one.rule.id: one.cause for one in judge(answer) if one.verdict in BROKEN}


def test_terms_of_version_one_break_five_rules_by_one_cause() -> None:
    """What else is wrong keeps its own remedy."""
    cause_list = causes(make_answer(None, body=json.dumps(VERSION_ONE).encode()))
    assert cause_list == dict.fromkeys(OF_VERSION_ONE, CAUSE)
    offer = {**VERSION_ONE["accepts"][0], "maxAmountRequired": 0.01, "payTo": ""}
    cause_list = causes(make_answer(None, body=json.dumps({**VERSION_ONE, "accepts": [offer]}).encode()))
    assert {name for name, cause in cause_list.items() if cause is None} == {"X402-09", "X402-11"}
    cause_list = causes(make_answer(None, body=json.dumps(change_terms(x402Version=2)).encode()))
    assert cause_list == {"X402-02": None}


def test_the_stock_client_reads_terms_of_version_one() -> None:
    """Of version 1 it is not said that no client can pay: PyPI's reads them from the body, where no header is."""
    read = x402HTTPClientBase().get_payment_required_response(lambda _: None, VERSION_ONE)
    assert read.x402_version == 1


def test_a_header_that_cannot_be_read_is_not_judged_by_a_body_of_version_one() -> None:
    """The body is for clients of version 1, and says nothing of the header."""
    assert broken_ids(make_answer("{", body=json.dumps(VERSION_ONE).encode())) == {"X402-03"}


@pytest.mark.parametrize(
    ("offer", "verdict"),
    [
        ({"network": "eip155:137", "asset": "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"}, Verdict.INCONCLUSIVE),
        ({"asset": "0x808456652fdb597867f38412077A9182bf77359F"}, Verdict.INCONCLUSIVE),
        ({"extra": {"name": "USDC", "version": "2", "assetTransferMethod": "eip3009"}}, Verdict.PASS),
        ({"extra": {"name": "USD Coin", "version": "2", "assetTransferMethod": "eip3009"}}, Verdict.FAIL),
        ({"extra": {"assetTransferMethod": "permit2"}}, Verdict.NOT_APPLICABLE),
    ],
    ids=["another chain", "another token", "eip3009", "eip3009 and another domain", "permit2"],
)
def test_a_domain_that_is_not_known_is_not_verified(offer: Document, verdict: Verdict) -> None:
    """It counts as neither kept nor broken, and the report says which offer it is."""
    (judgement,) = (
        one for one in judge(make_answer(encode_document(change_offer(**offer)))) if one.rule.id == "X402-15"
    )
    assert judgement.verdict is verdict
    assert verdict is not Verdict.INCONCLUSIVE or judgement.found.startswith("not verified: accepts[0] on 'eip155:")


@pytest.mark.parametrize(("status", "is_kept"), [(402, True), (400, True), (200, False), (500, False), (302, False)])
def test_an_unreadable_payment(status: int, is_kept: bool) -> None:
    """It buys nothing and breaks nothing."""
    answer = replace(make_answer(encode_document(terms())), to_unreadable=status)
    assert ("X402-22" in broken_ids(answer)) is not is_kept


@pytest.mark.parametrize(("status", "is_kept"), [(402, True), (403, True), (200, False), (204, False)])
def test_a_forged_payment(status: int, is_kept: bool) -> None:
    """It buys nothing, on whichever network it is."""
    networks = [one["network"] for one in terms()["accepts"]]
    answer = replace(make_answer(encode_document(terms())), to_forged={networks[0]: 402, networks[1]: status})
    verdicts = {one.rule.id: one.verdict for one in judge(answer)}
    assert verdicts["X402-23"] is (Verdict.PASS if is_kept else Verdict.FAIL)
    untried_look = replace(make_answer(encode_document(terms())), to_forged={networks[0]: status})
    verdicts = {one.rule.id: one.verdict for one in judge(untried_look)}
    assert verdicts["X402-23"] is (Verdict.INCONCLUSIVE if is_kept else Verdict.FAIL)
