"""The 402 and what the rail publishes (5.3, 5.10)."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from x402.schemas.helpers import parse_payment_required

from reference.protocol.hashes import request_hash
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, RECEIPT, RECEIPT_BODY, Rail

MESSAGE = "/pay/v1/verify/rfc9421"
PAID = {COMPLIANCE: "50000", RECEIPT: "10000", MESSAGE: "10000"}
DOCUMENTS = [
    "/pay/v1/index",
    "/.well-known/x402",
    "/discovery/resources",
    "/openapi.json",
    "/.well-known/did.json",
    "/.well-known/jwks.json",
]
LIVE = {"payment_reference", "request_hash", "authorization_nonce", "svm_reference_pubkey"}


def document(rail: Rail, path: str) -> dict[str, Any]:
    answer = rail.http.get(path)
    assert answer.status_code == 200
    value: dict[str, Any] = answer.json()
    return value


@pytest.mark.parametrize("path", PAID)
def test_the_402_is_the_document_of_the_profile(rail: Rail, path: str) -> None:
    """P-CH-01 to P-CH-09, member for member, but for the token."""
    body = {RECEIPT: RECEIPT_BODY, COMPLIANCE: COMPLIANCE_BODY}.get(path)
    answer = rail.http.post(path, json=body) if body is not None else rail.http.get(path)
    parsed_document = answer.json()
    assert answer.status_code == 402
    [entry] = parsed_document["accepts"]
    token = entry["extra"].pop("payment_reference")
    assert re.fullmatch(r"[1-9][0-9]{9,10}:[0-9a-f]{16}:[0-9a-f]{64}", token)
    example = parsed_document["extensions"]["bazaar"]["info"]["input"]["body"]
    service_id = parsed_document["accepts"][0]["extra"]["service_id"]
    bound = request_hash(body=example, path=path, query="", service_id=service_id)
    assert entry == {
        "scheme": "exact",
        "network": "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k",
        "amount": PAID[path],
        "maxAmountRequired": PAID[path],
        "asset": "31566704",
        "payTo": rail.pay_to,
        "maxTimeoutSeconds": 1800,
        "extra": {
            "request_hash": bound,
            "service_id": service_id,
            "binding": "note-binding",
            "name": "USDC",
            "decimals": 6,
        },
    }
    assert (parsed_document["x402Version"], parsed_document["error"]) == (2, "payment_required")
    assert set(parsed_document) == {"x402Version", "error", "resource", "accepts", "extensions"}
    assert set(parsed_document["resource"]) == {"url", "description", "mimeType"}
    assert (parsed_document["resource"]["url"], parsed_document["resource"]["mimeType"]) == (
        rail.public_url + path,
        "application/json",
    )
    header = answer.headers["PAYMENT-REQUIRED"]
    assert base64.b64decode(header, validate=True) == answer.content
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", PAID)
def test_the_discovery_extension_has_schemas_that_hold_for_it(rail: Rail, path: str) -> None:
    """P-CH-08: one of what is sent and one of what comes back, both true of what the extension shows."""
    bazaar = rail.http.get(path).json()["extensions"]["bazaar"]
    report = bazaar["schema"]["properties"]
    assert (
        report["input"]["properties"]["body"]["type"] == report["output"]["properties"]["example"]["type"] == "object"
    )
    validator = jsonschema_rs.validator_for(bazaar["schema"])
    assert validator.is_valid(bazaar["info"])
    for part, name in (("input", "body"), ("output", "example")):
        assert not validator.is_valid({**bazaar["info"], part: {name: "text"}})


def test_a_stock_client_can_read_the_402(rail: Rail) -> None:
    """The official x402 models accept it; without the price they do not."""
    body = rail.http.post(RECEIPT, json=RECEIPT_BODY).json()
    parsed = parse_payment_required(json.dumps(body).encode())
    assert [entry.model_dump()["amount"] for entry in parsed.accepts] == ["10000"]
    del body["accepts"][0]["amount"]
    with pytest.raises(ValueError, match="amount"):
        parse_payment_required(json.dumps(body).encode())


def test_every_token_is_fresh(rail: Rail) -> None:
    """No two challenges share a token, whether they succeed or refuse."""
    tokens = [rail.quote()["extra"]["payment_reference"] for _ in range(20)]
    assert len(set(tokens)) == 20


def test_the_request_s_own_hash_is_bound(rail: Rail) -> None:
    """A valid request is quoted as it is; another body or a query gives another hash."""
    other_request = {**COMPLIANCE_BODY, "recipient_address": "screen-flag"}
    hashes = {
        rail.http.post(COMPLIANCE + query, json=body).json()["accepts"][0]["extra"]["request_hash"]
        for query in ("", "?q")
        for body in (COMPLIANCE_BODY, other_request)
    }
    assert hashes == {
        request_hash(body=body, path=COMPLIANCE, query=query, service_id="compliance-receipt")
        for query in ("", "q")
        for body in (COMPLIANCE_BODY, other_request)
    }


@pytest.mark.parametrize("path", DOCUMENTS)
def test_documents_can_be_cached(rail: Rail, path: str) -> None:
    """An entity tag that stands for the content, and 304 for who has it."""
    first = rail.http.get(path)
    assert first.headers["Cache-Control"] == "public, max-age=300"
    again = rail.http.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    for known in ("*", f"W/{first.headers['ETag']}", f'"other", {first.headers["ETag"]}'):  # RFC 9110, 13.1.2
        assert rail.http.get(path, headers={"If-None-Match": known}).status_code == 304
    for unknown in ('"other"', first.headers["ETag"].strip('"')[:-1], ""):
        assert rail.http.get(path, headers={"If-None-Match": unknown}).content == first.content


def test_media_types(rail: Rail) -> None:
    """P-CV-03."""
    kinds = {path: rail.http.get(path).headers["Content-Type"] for path in DOCUMENTS}
    special = {
        "/.well-known/did.json": "application/did+json",
        "/.well-known/jwks.json": "application/jwk-set+json",
    }
    assert kinds == dict.fromkeys(DOCUMENTS, "application/json") | special


def test_both_catalogs_say_the_same_and_nothing_live(rail: Rail) -> None:
    """The same addresses, the prices of the live 402, and no token without a challenge."""
    catalog, listing = document(rail, "/.well-known/x402"), document(rail, "/discovery/resources")
    urls = {rail.public_url + path for path in PAID}
    assert set(catalog["resources"]) == {item["resource"] for item in listing["items"]} == urls
    assert set(catalog) == {"version", "x402Version", "resources", "accepts", "ownershipProofs", "instructions"}
    assert (catalog["version"], catalog["x402Version"], catalog["ownershipProofs"]) == (1, 2, [])
    for item in listing["items"]:
        [entry] = item["accepts"]
        assert entry["amount"] == PAID[item["resource"].removeprefix(rail.public_url)]
        assert not LIVE & entry["extra"].keys()
        assert (item["type"], item["x402Version"]) == ("http", 2)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", item["lastUpdated"])
        assert set(item["metadata"]) == {"service_id", "description"}
    assert not LIVE & catalog["accepts"][0]["extra"].keys()


def test_the_listing_has_pages(rail: Rail) -> None:
    """`limit`, `offset` and `type`; anything else than the profile allows is 422."""
    whole = document(rail, "/discovery/resources")
    assert whole["pagination"] == {"limit": 20, "offset": 0, "total": 3}
    paged = [document(rail, f"/discovery/resources?limit=1&offset={n}")["items"] for n in range(4)]
    assert [item for page in paged for item in page] == whole["items"]
    assert document(rail, "/discovery/resources?type=mcp")["items"] == []
    for query in ("limit=0", "limit=101", "limit=x", "limit=-1", "limit=1.5", "offset=-1", "offset=x", "limit="):
        answer = rail.http.get(f"/discovery/resources?{query}")
        assert answer.status_code == 422
        assert {frozenset(item) for item in answer.json()["detail"]} == {frozenset({"loc", "msg", "type"})}


def test_the_index_is_complete(rail: Rail) -> None:
    """Every member of 5.10, and the services at their live prices."""
    index = document(rail, "/pay/v1/index")
    assert set(index) == {
        "version",
        "provider",
        "provider_did",
        "actor_id",
        "auth",
        "protocol",
        "x402_versions",
        "scheme_disclosure",
        "payment_binding",
        "challenge_ttl_secs",
        "request_body_limit_bytes",
        "networks",
        "services",
        "receipts",
        "single_use",
    }
    assert {one["url"]: str(one["price_microusdc"]) for one in index["services"]} == {
        rail.public_url + path: price for path, price in PAID.items()
    }
    [network] = index["networks"]
    assert (network["asset"], network["binding"], network["scheme_kind"]) == ("31566704", "note-binding", "avm-note")
    assert index["provider_did"] == index["actor_id"] == document(rail, "/.well-known/did.json")["id"]


def test_the_openapi_document_is_valid_and_declares_what_it_costs(rail: Rail) -> None:
    """OpenAPI 3.1; each paid operation has its price, its 402, no security, and an optional proof."""
    openapi = document(rail, "/openapi.json")
    OpenAPIV31SpecValidator(openapi).validate()
    assert openapi["openapi"].startswith("3.1")
    assert openapi["x-discovery"] == {"ownershipProofs": []}
    for path, price in PAID.items():
        for method in ("get", "post"):
            operation = openapi["paths"][path][method]
            info = operation["x-payment-info"]
            assert "402" in operation["responses"]
            assert info["offers"][0]["amount"] == price
            assert info["price"] == {
                "mode": "fixed",
                "currency": "USD",
                "amount": {"10000": "0.01", "50000": "0.05"}[price],
            }
            assert operation["security"] == []
        assert {"200", "409", "413", "415", "422", "503"} <= set(openapi["paths"][path]["post"]["responses"])
    served = {path for path, item in openapi["paths"].items() if "get" in item}
    assert {*DOCUMENTS, "/health"} - {"/openapi.json"} <= served


def test_prices_are_the_same_everywhere(own_rail: Callable[..., Rail]) -> None:
    """A set price shows in the 402, both catalogs, the index and the OpenAPI document."""
    rail = own_rail(WP_RAIL_PRICES="receipt-verify=12345")
    body = {item["resource"]: item["accepts"][0]["amount"] for item in document(rail, "/discovery/resources")["items"]}
    index = {one["url"]: one["price_microusdc"] for one in document(rail, "/pay/v1/index")["services"]}
    info = document(rail, "/openapi.json")["paths"][RECEIPT]["post"]["x-payment-info"]
    url = rail.public_url + RECEIPT
    assert rail.quote(RECEIPT, RECEIPT_BODY)["maxAmountRequired"] == "12345"
    assert (body[url], index[url], info["offers"][0]["amount"], info["price"]["amount"]) == (
        "12345",
        12345,
        "12345",
        "0.012345",
    )


def test_identity_documents_agree(rail: Rail) -> None:
    """One key in both, a did:web of the public address, and nothing private."""
    did, jwks = document(rail, "/.well-known/did.json"), document(rail, "/.well-known/jwks.json")
    assert did["id"] == rail.public_url.replace("http://localhost:", "did:web:localhost%3A")
    assert [one["publicKeyJwk"] for one in did["verificationMethod"]] == jwks["keys"]
    assert {frozenset(key) for key in jwks["keys"]} == {frozenset({"kty", "crv", "x", "kid", "use"})}
    assert [one["serviceEndpoint"] for one in did["service"]] == [
        rail.public_url + path for path in ("/pay/v1/index", "/.well-known/agent-card.json", RECEIPT)
    ]


def test_health_says_what_is_offered(rail: Rail) -> None:
    """Status, service, version and lanes, and no caching by accident."""
    health = document(rail, "/health")
    assert set(health) == {"status", "service", "version", "lanes"}
    assert (health["status"], health["service"], health["lanes"]) == ("ok", "weldproof-rail", ["algorand_mainnet"])


def test_another_service_word_shows_everywhere(own_rail: Callable[..., Rail]) -> None:
    """P-SW-01: one setting renames the deployment."""
    rail = own_rail(WP_SERVICE_WORD="Otherpay")
    assert document(rail, "/health")["service"] == "otherpay-rail"
    assert document(rail, "/pay/v1/index")["receipts"]["payable_receipt"] == "otherpay/payable-svc-receipt/1"
