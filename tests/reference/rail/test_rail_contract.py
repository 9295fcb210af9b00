"""The rail's code and its document move together: paths, statuses, and what the body of a paid call may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import jsonschema_rs
import pytest

from reference.rail.app import build_app
from reference.rail.services import SERVICES
from reference.web.errors import Unprocessable

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[3] / "openapi" / "rail.json").read_text("utf-8"))
FIXED = (
    *("/pay/v1/index", "/.well-known/x402", "/openapi.json", "/.well-known/did.json", "/.well-known/jwks.json"),
    *("/.well-known/agent-card.json", "/.well-known/agent.json", "/a2a"),
)
DID_KEY = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"
OPTIONAL = {
    "receipt-verify": ("jwks", "expected_payment_hash", "receipt_required"),
    "rfc9421-verify": (
        *(
            "mode",
            "query",
            "body_b64",
            "scheme",
            "status",
            "did_key",
            "require_content_digest",
            "label",
            "expected_tag",
        ),
        *("allowed_algorithms", "max_age_seconds", "now", "required_components"),
    ),
    "compliance-receipt": ("amount_microunits", "asset"),
}
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2**53 - 1,
        0.5,
        1.0,
        1e3,
        -1.0,
        2.0**60,
        "",
        "a",
        "abcd",
        "algorand_mainnet",
        "GET",
        "ed25519",
        "rfc9421",
        "AA==",
        DID_KEY,
    ),
    *("a" * n for n in (63, 64, 65, 127, 128, 129)),
    *([], ["a"], [1], [None], {}, {"keys": []}, {"a": "b"}, {"a": ["b"]}, {"a": [1]}, {"a": 1}),
)
# What the code refuses and no schema says: what a text must hold, and which networks there are.
JUDGED_BY_CONTENT = ("did_key", "body_b64", "network", "headers")


def test_every_route_is_documented() -> None:
    """The paid paths and A2A by GET and POST, every free document and the health; the contract itself stands apart."""
    app = build_app(Mock(paths=tuple(SERVICES)), Mock(), Mock(paths=FIXED))
    routes = {rule.rule for rule in app.url_map.iter_rules()}
    assert routes - {"/openapi.json"} == set(DOCUMENT["paths"])
    for path, item in DOCUMENT["paths"].items():
        wanted = {"get", "post"} if path in {*SERVICES, "/a2a"} else {"get"}
        assert {name for name in item if name in {"get", "post", "put", "patch", "delete"}} == wanted, path


@pytest.mark.parametrize("path", SERVICES)
def test_paid_operations_document_what_a_call_may_get(path: str) -> None:
    """Every refusal of the order of checks (5.7) has its response."""
    assert {"200", "402", "409", "413", "415", "422", "429", "503"} <= set(DOCUMENT["paths"][path]["post"]["responses"])
    assert {"402", "429", "503"} <= set(DOCUMENT["paths"][path]["get"]["responses"])


@pytest.mark.parametrize("path", SERVICES)
def test_code_and_schema_take_the_same_bodies(path: str) -> None:
    """Required members, types, bounds and unknown members: what one refuses, the other refuses."""
    service = SERVICES[path]
    schema = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema_rs.Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    good = dict(service.example)
    bodies: list[Any] = [good, {**good, "unknown_member": 1}, {}, [], None, "x", [good]]
    bodies += [{name: value for name, value in good.items() if name != left} for left in good]
    bodies += [{**good, name: value} for name in (*good, *OPTIONAL[service.id]) for value in VALUES]
    apart = []
    for body in bodies:
        by_schema, by_code = validator.is_valid(body), _is_accepted(service, body)
        changed_names = {
            name for name in JUDGED_BY_CONTENT if isinstance(body, dict) and body.get(name) != good.get(name)
        }
        if by_schema != by_code and not (by_schema and changed_names):
            apart.append((body, f"schema {by_schema}, code {by_code}"))
    assert not apart, apart[:10]


def _is_accepted(service: Any, body: Any) -> bool:
    try:
        service.parse_request(body)
    except Unprocessable:
        return False
    return True
