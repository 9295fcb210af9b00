"""The gateway's code and its document move together: routes, statuses and codes, what a body may be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import jsonschema_rs
import pytest
from pydantic import BaseModel
from quart import Quart

from reference.gateway import payment_links
from reference.gateway.app import list_operations
from reference.gateway.call_admission import Operation, fit_model, read_body
from reference.gateway.checkout.link_actions import AbandonRequest, CancelRequest, VerifyRequest
from reference.gateway.runtime import open_gateway_with_lanes
from reference.gateway.settings import GatewaySettings
from reference.protocol.error_codes import GATEWAY
from reference.web.errors import Refused, Unprocessable
from reference.web.http.asgi_envelope import Envelope
from reference.web.http.exchange import Request

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[3] / "openapi" / "gateway.json").read_text("utf-8"))
METHODS = ("get", "post", "put", "patch", "delete")
# Style sheet, script, icon and logo of the page belong to it, not to the contract.
UNDOCUMENTED = {("GET", "/checkout/assets/{name}"), ("GET", "/checkout/logos/{name}")}
# Pages for people, with forms: no part of the REST API (P-GW-01).
PAGES = "/dashboard"
# Every call may be answered so, whatever it calls: by the envelope, the limits, the database or a fault of ours.
EVERYWHERE = {400, 408, 413, 414, 415, 429, 431, 500, 503}
BY_ACCESS = {"open": set(), "receipts": set(), "tenant": {401, 403}, "admin": {401, 403}}


def list_documented() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (method, path, operation) of the document."""
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS:
            if method in item:
                yield method.upper(), path, item[method]


def resolve(value: Any) -> Any:
    """Return a part of the document, what it refers to when it is a reference."""
    while isinstance(value, dict) and "$ref" in value:
        target = DOCUMENT
        for part in value["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        value = target
    return value


def link_maker(settings: GatewaySettings) -> payment_links.PaymentLinks:
    """Return what reads the bodies of links."""
    return payment_links.PaymentLinks(settings, Mock(), Mock(), Mock(), Mock(), frozenset(), Mock())


def list_offered() -> dict[tuple[str, str], Operation]:
    """Return the app's own operations over parts that do nothing."""
    settings = GatewaySettings(gateway_data_dir=Path("unused"))
    operations = list_operations(link_maker(settings), *(Mock() for _ in range(5)))
    return {(one.method, re.sub(r"<(\w+)>", r"{\1}", one.rule)): one for one in operations}


async def test_every_route_is_documented_and_every_document_served(tmp_path: Path) -> None:
    """The running app's routes and methods are the document's, but for the page's own files and the dashboard."""
    settings = GatewaySettings(gateway_data_dir=tmp_path)
    async with open_gateway_with_lanes(settings, {}) as served:
        assert isinstance(served, Envelope)
        app = served.app
        assert isinstance(app, Quart)
        routes = {
            (method, re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule))
            for rule in app.url_map.iter_rules()
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
            if rule.rule != PAGES and not rule.rule.startswith(f"{PAGES}/")
        }
    assert routes - UNDOCUMENTED == {(method, path) for method, path, _ in list_documented()}


def test_each_operation_documents_the_statuses_that_every_call_may_get() -> None:
    """The envelope's, the limits', those of credentials, and 404 where a path names a thing."""
    access = {place: one.access.value for place, one in list_offered().items()}
    for method, path, operation in list_documented():
        expected_values = EVERYWHERE | BY_ACCESS[access.get((method, path), "open")] | ({404} if "{" in path else set())
        expected_values |= {422} if "requestBody" in operation else set()
        missing_statuses = expected_values - {int(status) for status in operation["responses"]}
        assert not missing_statuses, f"{method} {path} does not document {sorted(missing_statuses)}"


def test_parameters_of_a_path_are_those_of_its_template() -> None:
    """Each name in a template is a required path parameter, and no other is."""
    for method, path, operation in list_documented():
        common_parameters = DOCUMENT["paths"][path].get("parameters", [])
        parameters = [resolve(one) for one in (*common_parameters, *operation.get("parameters", ()))]
        names = {one["name"] for one in parameters if one["in"] == "path" and one["required"]}
        assert names == set(re.findall(r"\{(\w+)\}", path)), f"{method} {path}"


def test_credentials_are_demanded_where_the_code_demands_them() -> None:
    """Tenants' and administrators' operations name a scheme, all others say that none is needed."""
    access = {place: one.access.value for place, one in list_offered().items()}
    for method, path, operation in list_documented():
        names = {name for one in operation.get("security", DOCUMENT.get("security", [])) for name in one}
        expected_values = {"tenant": {"tenantKey", "tenantId"}, "admin": {"adminKey"}}
        assert names == expected_values.get(access.get((method, path), "open"), set()), f"{method} {path}"


def list_refusals() -> set[tuple[int, str]]:
    """Return (status, code) of every row of the gateway's table of error codes."""
    return {(row.status, row.code) for row in GATEWAY.values()}


def list_members(schema: Any) -> set[str]:
    """Return the codes that a response's schema names for `error`."""
    schema = resolve(schema)
    if not isinstance(schema, dict):
        return set()
    error = resolve(schema.get("properties", {}).get("error", {}))
    codes = set(error.get("enum", [])) | ({error["const"]} if "const" in error else set())
    for word in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(word, ()):
            codes |= list_members(part)
    return codes


def test_every_refusal_of_the_code_is_documented_at_its_status() -> None:
    """Each (status, code) stands in some operation's responses, but for 405, which no operation answers."""
    statements = {
        (int(status), code)
        for _, _, operation in list_documented()
        for status, response in operation["responses"].items()
        for media in resolve(response).get("content", {}).values()
        for code in list_members(media["schema"])
    }
    assert list_refusals() - {(405, "method_not_allowed")} <= statements
    assert statements <= list_refusals()


BODIES: Mapping[tuple[str, str], tuple[Mapping[str, Any], tuple[str, ...]]] = {
    ("POST", "/v1/payment-links"): (
        {"amount": 1.25, "currency": "USD", "label": "x"},
        ("preferred_network", "redirect_url", "expires_in_seconds"),
    ),
    ("POST", "/v1/resources"): (
        {"resource_id": "a", "amount_microunits": 1},
        (
            *("payment_network", "networks", "asset_id", "access_ttl_secs", "requirement_ttl_secs"),
            *("note_binding_required", "price_fiat_cents", "price_fiat_currency"),
        ),
    ),
    ("POST", "/v1/receipt/verify"): ({"jws": "e30.e30.AA"}, ("jwks", "expected_payment_hash", "receipt_required")),
    ("POST", "/compliance/screen"): (
        {"recipient_address": "screen-allow", "network": "base_sepolia"},
        ("amount_microunits", "asset"),
    ),
    ("POST", "/internal/tenants"): ({"name": "x"}, ()),
    ("PUT", "/internal/tenants/{tenant_id}/networks"): ({"base_sepolia": {"payout_address": "0x1"}}, ()),
    ("POST", "/internal/tenants/{tenant_id}/kyc"): ({"status": "approved"}, ("plan",)),
    ("POST", "/internal/tenants/{tenant_id}/api-keys"): ({"mode": "test"}, ()),
    ("POST", "/internal/tenants/{tenant_id}/webhooks"): ({"url": "https://a.test/"}, ("events",)),
    ("POST", "/checkout/{token}/verify"): ({"tx_id": "A" * 52}, ("chain",)),
    ("POST", "/checkout/{token}/cancel"): ({"cancel_secret": "x"}, ()),
    ("POST", "/checkout/{token}/abandon"): ({}, ()),
}
CHECKOUT: Mapping[str, type[BaseModel]] = {"verify": VerifyRequest, "cancel": CancelRequest, "abandon": AbandonRequest}
# Networks are looked up after the body was read: an unknown one is 400, and to the document no value of the enum.
LOOKED_UP = {"preferred_network", "payment_network", "networks", "network"}
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        59,
        60,
        61,
        86400,
        86401,
        31_536_000,
        31_536_001,
        2**53 - 1,
        1.0,
        1e3,
        0.5,
        -0.5,
        1e-9,
    ),
    *("", "a", "ab", "abc", "USD", "USDCUSDC", "USDCUSDCU", "us1", "algorand_testnet", "test", "live", "paid", "trial"),
    *("approved", "rejected", "https://a.test/x?y#z", "http://a.test/", "https://", "javascript:1", "a b", "a/b", "é"),
    *("a" * n for n in (4, 8, 9, 10, 63, 64, 65, 127, 128, 129, 255, 256, 2048, 2049)),
    *("a\nb", "a\x7f", "\x00", " "),
    *([], ["algorand_testnet"], ["algorand_testnet"] * 32, ["algorand_testnet"] * 33, [1], [None]),
    *(["payment.confirmed"], ["payment.cancelled", "payment.confirmed"], ["payment.failed"], "payment.confirmed"),
    *("https://a.test", "https://a.test:0/", "https://a.test:65535/", "https://a.test:65536", "https://a_b.test/"),
    *("https://u:p@a.test/", "https://[2001:db8::1]:8443/h?a=%20", "https://[fe80::1%25eth0]/", "https://a.test/é"),
    *("https://-a.test/", "https://a..test/", "https://a.test/\n", "https://" + "a" * 64),
    *({}, {"keys": []}, {"payout_address": ""}, {"payout_address": "x"}, {"payout_address": 1}),
)


OFFERED = list_offered()


def is_accepted(place: tuple[str, str], body: Any) -> bool:
    """Return whether the code's own reader takes a body."""
    data = json.dumps(body).encode()
    sent = read_body(Request("/", "POST", "", {"content-type": ["application/json"]}, data, ""), is_required=True)
    try:
        if place[1].startswith("/checkout/"):
            fit_model(CHECKOUT[place[1].rpartition("/")[2]], sent.value)
        else:
            reads = OFFERED[place].read_content
            assert reads is not None
            content = reads(sent)
            if place == ("POST", "/v1/receipt/verify"):  # without `jws` the report is a 422 with `detail` (P-GR-03)
                return "jws" in content.model_fields_set
            if place == ("POST", "/v1/payment-links"):  # the amount is judged with the currency's rate
                link_maker(GatewaySettings())._microunits(content)
    except Refused:
        return True
    except Unprocessable:
        return False
    return True


def test_every_operation_with_a_body_is_compared() -> None:
    """None is left out below, in the code or in the document."""
    with_body = {(method, path) for method, path, operation in list_documented() if "requestBody" in operation}
    assert with_body == set(BODIES)
    assert {place for place, one in OFFERED.items() if one.read_content is not None} == {
        place for place in BODIES if not place[1].startswith("/checkout/")
    }


@pytest.mark.parametrize("place", BODIES, ids=lambda place: f"{place[0]} {place[1]}")
def test_code_and_schema_take_the_same_bodies(place: tuple[str, str]) -> None:
    """Required members, types, bounds, patterns and unknown members: what one refuses, the other refuses."""
    schema = DOCUMENT["paths"][place[1]][place[0].lower()]["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema_rs.Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    good, optional = BODIES[place]
    bodies: list[Any] = [good, {**good, "unknown_member": 1}, {}, [], None, "x", 1, [good]]
    bodies += [{name: value for name, value in good.items() if name != left} for left in good]
    for name in (*good, *optional):
        bodies += [{**good, name: value} for value in VALUES]
    apart = []
    for body in bodies:
        by_schema, by_code = validator.is_valid(body), is_accepted(place, body)
        if by_schema != by_code and not (by_code and _looked_up_later(validator, body)):
            apart.append((body, f"schema {by_schema}, code {by_code}"))
    assert not apart, apart[:10]


def _looked_up_later(validator: Any, body: Any) -> bool:
    """Return whether the schema refuses a body for the name of a network alone."""
    if not isinstance(body, dict):
        return False
    remaining_members = dict(body)
    for name in LOOKED_UP & set(body):
        if isinstance(body[name], str):
            remaining_members[name] = "base_sepolia"
        elif isinstance(body[name], list):
            remaining_members[name] = ["base_sepolia" if isinstance(one, str) else one for one in body[name]]
    return bool(validator.is_valid(remaining_members)) and remaining_members != body
