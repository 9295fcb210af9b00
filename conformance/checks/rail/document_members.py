"""RAIL-DISC-14: each member of the rail's documents, where the target claims the specification (5.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from conformance.assertions.rail.agent_card_members import find_card_faults
from conformance.assertions.rail.specified_request_bodies import EXAMPLES
from conformance.discovery.openapi_paths import resolve_reference
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.ed25519_keys import keys_of_jwks
from conformance.oracles.key_documents import find_did_faults, find_key_set_faults
from conformance.oracles.member_rules import Rule, Rules, between, equals, find_member_faults, is_an, is_equal, matches
from conformance.surfaces.agent.answer_reader import texts
from conformance.surfaces.rail.a2a import A2A, CARD
from conformance.surfaces.rail.challenge_faults import find_origin_faults
from conformance.surfaces.rail.keys import DID, JWKS, published_did
from conformance.surfaces.rail.unpaid_answers import entries, find_request_example

ROW: Final = "RAIL-DISC-14"
_TOKEN_MEMBERS: Final = ("payment_reference", "request_hash", "authorization_nonce", "svm_reference_pubkey")
_SCHEME_KINDS: Final = {"algorand": "avm-note", "eip155": "eip3009-exact", "solana": "solana-reference"}
_MICRO_UNITS: Final = 1_000_000
_PAGE_SIZE, _LARGEST_BODY = 20, 65_536
_DOCUMENTS: Final = (
    "/pay/v1/index",
    "/.well-known/x402",
    "/discovery/resources",
    "/openapi.json",
    DID,
    JWKS,
)
_OLD_CARD: Final = "/.well-known/agent.json"
# Fragment, type and path of the services in a rail's DID document (P-KY-07).
_SERVICES: Final = {
    "x402": ("AgentPaymentService", "/pay/v1/index"),
    "a2a": ("A2AAgentCard", CARD),
    "receipts": ("ReceiptVerification", "/pay/v1/verify/receipt"),
}
_IS_TIME: Final = matches(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})")


@check(
    ROW,
    surface="rail",
    fix="Publish the documents with exactly the members of 5.10, made from the same prices, lanes and keys as the "
    "challenges, and without tokens.",
)
async def members_of_documents(case: Case) -> None:
    """Each member of the published documents has the value that the specification gives it.

    Asks every operation for its price, and computes index, both catalogs and the paid operations of the OpenAPI
    document from the challenges. Expects the same prices, lanes, assets and addresses, and no live token. Asks for
    pages of the catalog by limit, offset and type, and for limits that are invalid. Expects the right totals, and 422.
    Expects in the DID document every key of the key set, and that only the first one, the active key, may authenticate
    and assert. Expects a cached, readable answer for each document, the health, and 404 for an unknown path. If the
    target has an agent card, expects each member of P-RA-01, the same card under its old address, and a hint to POST at
    /a2a.
    """
    challenges = [
        (operation, await case.client.call("POST", operation.url, json_body=operation.body))
        for operation in case.session.catalog.operations
    ]
    offers = [(operation, entries(answer)) for operation, answer in challenges]
    did = await published_did(case)
    # Card and A2A are options, and a target without them has no other fault.
    has_card, has_a2a = (case.profile.claims.includes(option) for option in ("rail.agent_card", "rail.a2a"))
    paths = [*_DOCUMENTS, CARD] if has_card else _DOCUMENTS
    documents = {path: await case.client.call("GET", case.session.rail + path) for path in paths}
    index, catalog = (documents[path] for path in _DOCUMENTS[:2])
    _expect(case, index, _find_index_faults(case, index.read_object(), offers, did), "the index")
    _expect(case, catalog, _find_catalog_faults(catalog.read_object(), offers), "the catalog")
    openapi = documents["/openapi.json"]
    faults = _find_openapi_faults(openapi.read_object(), offers)
    faults += _find_example_faults(case, openapi.read_object(), challenges)
    _expect(case, openapi, faults, "the OpenAPI document")
    _judge_key_documents(case, documents, did)
    for path, answer in documents.items():
        faults = [] if answer.status == 200 else [f"status {answer.status}"]
        if answer.headers.get("Cache-Control") != "public, max-age=300":
            faults.append(f"Cache-Control {answer.headers.get('Cache-Control')}")
        faults += [] if "ETag" in answer.headers else ["no ETag"]
        _expect(case, answer, [*faults, *find_origin_faults(answer)], path)
    await _judge_pages(case, offers)
    if has_card:
        await _judge_card(case, documents[CARD])
    if has_a2a:
        await _judge_hint(case)
    await _judge_other_paths(case)


def _expect(case: Case, answer: Answer, faults: Sequence[str], document: str) -> None:
    where = {"document": document}
    case.expect(ROW, not faults, "as 5.10 says", "; ".join(faults) or "so", exchange=answer, where=where)


def _judge_key_documents(case: Case, documents: Mapping[str, Answer], did: str) -> None:
    jwks, identity = documents[JWKS].read_object(), documents[DID].read_object()
    _expect(case, documents[JWKS], find_key_set_faults(jwks), JWKS)
    services = {name: (kind, case.session.rail + path) for name, (kind, path) in _SERVICES.items()}
    keys = keys_of_jwks(jwks)
    faults = find_did_faults(identity, did, keys, services) if keys else ["no key in the key set"]
    _expect(case, documents[DID], faults, DID)


_Offers = Sequence[tuple[Operation, Sequence[Mapping[str, Any]]]]


def _get_prices(offers: _Offers) -> dict[str, int]:
    prices = {operation.url: str(listed[0].get("maxAmountRequired")) for operation, listed in offers if listed}
    return {url: int(price) for url, price in prices.items() if price.isdecimal()}


def _read_extra(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = entry.get("extra")
    return extra if isinstance(extra, Mapping) else {}


def _find_index_faults(case: Case, index: Mapping[str, Any], offers: _Offers, did: str) -> list[str]:
    base, word = case.session.rail, (case.profile.service_word or "").lower()
    binding_rules: Rules = {
        "mechanism": is_an(str),
        "required": equals(True),
        "note_value": equals("payment_reference"),
        "note_encoding": equals("utf-8"),
    }
    receipt_rules: Rules = {
        "payable_receipt": equals(f"{word}/payable-svc-receipt/1") if word else is_an(str),
        "settlement_attestation": is_an(str),
        "verify_url": matches(r"https?://.+"),
        "jwks_url": equals(base + "/.well-known/jwks.json"),
        "provider_did": equals(did),
        "settled_payment_ref_recipe": is_an(str),
    }
    lifetime = case.profile.rail_bindings.challenge_ttl
    networks = [_describe_network(entry) for entry in (offers[0][1] if offers else ())]
    prices = _get_prices(offers)
    services = [
        {"service_id": operation.role, "url": operation.url, "price_microusdc": prices.get(operation.url)}
        for operation, _ in offers
    ]
    rules: Rules = {
        "version": equals(1),
        "provider": is_an(str),
        "provider_did": equals(did),
        "actor_id": equals(did),
        "auth": equals("none-payment-is-auth"),
        "protocol": equals("x402"),
        "x402_versions": equals([2]),
        "scheme_disclosure": is_an(str),
        "payment_binding": is_an(dict),
        "challenge_ttl_secs": between(1, 86_400) if lifetime is None else equals(lifetime),
        "request_body_limit_bytes": equals(_LARGEST_BODY),
        "networks": _lists(networks),
        "services": _lists(services),
        "receipts": is_an(dict),
        "single_use": is_an(str),
    }
    faults = find_member_faults(index, rules, "the index")
    faults += find_member_faults(index.get("payment_binding"), binding_rules, "payment_binding")
    return faults + find_member_faults(index.get("receipts"), receipt_rules, "receipts")


def _lists(items: Sequence[Mapping[str, Any]]) -> Rule:
    """Return the rule that an array has these objects, in any order."""
    texts = sorted(str(sorted(item.items())) for item in items)
    return Rule(
        f"the list {texts}",
        lambda value: (
            isinstance(value, list)
            and all(isinstance(one, Mapping) for one in value)
            and sorted(str(sorted(one.items())) for one in value) == texts
        ),
    )


def _describe_network(entry: Mapping[str, Any]) -> dict[str, Any]:
    extra, network = _read_extra(entry), str(entry.get("network"))
    return {
        "id": network,
        "asset": entry.get("asset"),
        "asset_name": extra.get("name"),
        "decimals": extra.get("decimals"),
        "binding": extra.get("binding"),
        "scheme_kind": _SCHEME_KINDS.get(network.partition(":")[0]),
    }


def _without_tokens(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of a challenge as a catalog lists it."""
    extra = {name: value for name, value in _read_extra(entry).items() if name not in _TOKEN_MEMBERS}
    return {**entry, "extra": extra}


def _find_catalog_faults(catalog: Mapping[str, Any], offers: _Offers) -> list[str]:
    resources = catalog.get("resources")
    first = str(resources[0]) if isinstance(resources, list) and resources else ""
    listed = next((offer for operation, offer in offers if operation.url == first), [])
    rules: Rules = {
        "version": equals(1),
        "x402Version": equals(2),
        "resources": Rule(
            "the URLs of all operations",
            lambda value: isinstance(value, list) and sorted(map(str, value)) == sorted(one.url for one, _ in offers),
        ),
        "accepts": equals([_without_tokens(entry) for entry in listed]),
        "ownershipProofs": equals([]),
        "instructions": is_an(str),
    }
    return find_member_faults(catalog, rules, "the catalog")


def _find_openapi_faults(document: Mapping[str, Any], offers: _Offers) -> list[str]:
    faults = [] if document.get("openapi") == "3.1.0" else [f"openapi {document.get('openapi')!r}"]
    if document.get("x-discovery") != {"ownershipProofs": []}:
        faults.append("x-discovery")
    paths, prices = document.get("paths"), _get_prices(offers)
    for operation, listed in offers:
        methods = paths.get(operation.path) if isinstance(paths, Mapping) else None
        post = methods.get("post") if isinstance(methods, Mapping) else None
        if not isinstance(post, Mapping):
            faults.append(f"no POST {operation.path}")
            continue
        price = prices.get(operation.url, 0)
        base_asset = next((one["asset"] for one in listed if str(one.get("network")).startswith("eip155:")), None)
        asset = base_asset or (listed[0].get("asset") if listed else None)
        dollars = f"{Decimal(price) / _MICRO_UNITS:.6f}".rstrip("0")
        info = {
            "price": {"mode": "fixed", "currency": "USD", "amount": dollars},
            "protocols": [{"x402": {}}],
            "offers": [{"intent": "charge", "method": "x402", "amount": str(price), "currency": asset}],
        }
        rules = {name: equals(value) for name, value in info.items()}
        faults += find_member_faults(post.get("x-payment-info"), rules, f"{operation.path} x-payment-info")
        if post.get("security") != []:
            faults.append(f"{operation.path} security")
        holders = [methods if isinstance(methods, Mapping) else {}, post]
        lists = [one.get("parameters") for one in holders]
        parameters = [resolve_reference(document, one) for items in lists if isinstance(items, list) for one in items]
        if not _has_payment_header(parameters):
            faults.append(f"{operation.path} without an optional header x-payment")
        statuses = {"200", "402", "409", "413", "415", "422", "503"}
        declared = post.get("responses")
        missing_statuses = statuses - set(declared if isinstance(declared, Mapping) else ())
        faults += [f"{operation.path} without {', '.join(sorted(missing_statuses))}"] if missing_statuses else []
    return faults


def _has_payment_header(parameters: Sequence[Mapping[str, Any]]) -> bool:
    return any(
        one.get("in") == "header" and str(one.get("name")).lower() == "x-payment" and one.get("required") is not True
        for one in parameters
    )


def _find_example_faults(
    case: Case, document: Mapping[str, Any], challenges: Sequence[tuple[Operation, Answer]]
) -> list[str]:
    """Return the operations whose example in the OpenAPI document is not that of their challenge (5.2)."""
    faults = []
    for operation, answer in challenges:
        example = find_request_example(answer)
        body = resolve_reference(document, _read_path(document, "paths", operation.path, "post", "requestBody"))
        media = _read_path(body, "content", "application/json")
        # OpenAPI puts an example beside the schema or into it.
        listed_examples = [
            _read_path(media, "example"),
            _read_path(resolve_reference(document, _read_path(media, "schema")), "example"),
        ]
        if example is None or not any(is_equal(one, example) for one in listed_examples):
            faults.append(f"{operation.path} with another example than its challenge")
        specified_example = EXAMPLES.get(operation.role or "")
        if operation.role not in (case.profile.rail_bindings.bodies or {}) and specified_example is not None:
            faults += (
                [] if is_equal(example, specified_example) else [f"{operation.path} with another example than 5.2"]
            )
    return faults


def _read_path(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


async def _judge_pages(case: Case, offers: _Offers) -> None:
    address, count = case.session.rail + "/discovery/resources", len(offers)
    order: list[str] = []
    pages = {
        "": (_PAGE_SIZE, 0),
        "?type=http": (_PAGE_SIZE, 0),
        "?limit=100": (100, 0),
        "?limit=1": (1, 0),
        "?limit=1&offset=1": (1, 1),
        f"?limit=2&offset={count - 1}": (2, count - 1),
        f"?offset={count + 3}": (_PAGE_SIZE, count + 3),
    }
    for query, (limit, offset) in pages.items():
        answer = await case.client.call("GET", address + query)
        listing = answer.read_object()
        items = listing.get("items")
        item_list = items if isinstance(items, list) else []
        urls = [str(one.get("resource")) for one in item_list if isinstance(one, Mapping)]
        order = order or urls
        expected_page = {"limit": limit, "offset": offset, "total": count}
        rules: Rules = {
            "x402Version": equals(2),
            "items": equals(items if urls == order[offset : offset + limit] else None),
            "pagination": equals(expected_page),
        }
        faults = find_member_faults(listing, rules, "the listing")
        for item in item_list:
            faults += _find_item_faults(item, offers)
        _expect(case, answer, faults, f"/discovery/resources{query}")
    for query in ("?limit=0", "?limit=101", "?limit=x", "?offset=-1", "?limit=1.5", "?offset="):
        answer = await case.client.call("GET", address + query)
        faults = [] if answer.status == 422 else [f"status {answer.status}"]
        _expect(case, answer, faults, f"/discovery/resources{query}")


def _find_item_faults(item: Any, offers: _Offers) -> list[str]:
    resource = item.get("resource") if isinstance(item, Mapping) else None
    offer = next((one for one in offers if one[0].url == resource), None)
    if offer is None:
        return [f"the resource {resource!r}"]
    operation, listed = offer
    rules: Rules = {
        "resource": equals(operation.url),
        "type": equals("http"),
        "x402Version": equals(2),
        "accepts": equals([_without_tokens(entry) for entry in listed]),
        "lastUpdated": _IS_TIME,
        "metadata": is_an(dict),
    }
    faults = find_member_faults(item, rules, "items[]")
    metadata_rules: Rules = {"service_id": equals(operation.role), "description": is_an(str)}
    return faults + find_member_faults(item.get("metadata"), metadata_rules, "items[].metadata")


async def _judge_card(case: Case, card: Answer) -> None:
    uri = case.profile.rail_bindings.a2a_uri
    _expect(case, card, find_card_faults(card.read_object(), case.session.rail, uri), CARD)
    old_card = await case.client.call("GET", case.session.rail + _OLD_CARD)
    _expect(case, old_card, [] if old_card.body == card.body else ["other bytes than the card"], _OLD_CARD)


async def _judge_hint(case: Case) -> None:
    hint = await case.client.call("GET", case.session.rail + A2A)
    faults = [] if hint.status == 200 else [f"status {hint.status}"]
    faults += [] if any("POST" in text for _, text in texts(hint.read_object())) else ["no text that names POST"]
    _expect(case, hint, faults, f"GET {A2A}")


async def _judge_other_paths(case: Case) -> None:
    health = await case.client.call("GET", case.session.rail + "/health")
    word = (case.profile.service_word or "").lower()
    rules: Rules = {
        "status": equals("ok"),
        "service": equals(f"{word}-rail") if word else is_an(str),
        "version": is_an(str),
        "lanes": is_an(list),
    }
    # While a node is away, health names it. Other checks do that on purpose, and this one does not.
    if health.read_object().get("status") == "ok":
        _expect(case, health, find_member_faults(health.read_object(), rules, "health"), "/health")
    unknown = await case.client.call("GET", case.session.rail + "/pay/v1/no-such-operation")
    is_unknown = unknown.status == 404 and unknown.read_object() == {"detail": "Not Found"}
    _expect(case, unknown, [] if is_unknown else [f"status {unknown.status}"], "an unknown path")
