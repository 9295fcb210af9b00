"""What is found out about a gateway by asking it, and the profile that is drafted from it."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.discovery.openapi_bodies import bodies, properties
from conformance.http.client import Client, Counter, Names
from conformance.log.events import EventLog
from conformance.surfaces.gateway.probing import DiscoveredGateway, guess_selectors, probe_gateway
from conformance.surfaces.profile_draft import render
from conformance.target import GatewayBindings, Pace, parse
from tests.conformance.checks.gateway.scripted_gateway import BASE, KEYS, Gateway, Refusal

OPENAPI: dict[str, Any] = {
    "paths": {
        "/v1/resources": {
            "post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/R"}}}}}
        },
        "/compliance/screen": {
            "post": {"requestBody": {"content": {"application/json": {"example": {"who": "somebody"}}}}}
        },
    },
    "components": {
        "schemas": {
            "R": {
                "required": ["resource_id", "amount", "kind", "network", "on"],
                "properties": {
                    "resource_id": {"type": "string"},
                    "amount": {"type": ["integer", "null"], "minimum": 7},
                    "kind": {"enum": ["one", "two"]},
                    "network": {"allOf": [{"$ref": "#/components/schemas/N"}], "default": "algorand_testnet"},
                    "on": {"type": "boolean"},
                },
            },
            "N": {"type": "string"},
        }
    },
}
PAGE = """<div id="qr-label">Scan</div><img id="qr" src="/x"><div id="addr">ABC</div><div id="memo-help">What?</div>
<div id="memo">word:TOKEN</div><div id="amount">1.25</div><div id="state">open</div>"""


# Of these a usual value stands in, or they judge nothing.
_SELDOM = {"create_status", "idempotency_conflict", "error_codes", "smallest_amount", "rates", "trial"}


def test_a_body_is_made_of_a_schema_or_taken_from_an_example() -> None:
    """Required members get their default, first value, least number or a text that is new each time."""
    expected_body = {
        "resource_id": "weldproof-{unique}",
        "amount": 7,
        "kind": "one",
        "network": "algorand_testnet",
        "on": True,
    }
    assert list(bodies(OPENAPI, "/v1/resources")) == [expected_body]
    assert list(bodies(OPENAPI, "/compliance/screen")) == [{"who": "somebody"}]
    assert sorted(properties(OPENAPI, "/v1/resources")) == ["amount", "kind", "network", "on", "resource_id"]


@pytest.mark.parametrize("document", [{}, {"paths": []}, {"paths": {"/v1/resources": {"post": {"$ref": "#/paths"}}}}])
def test_a_document_of_another_shape_tells_nothing(document: dict[str, Any]) -> None:
    """No body is found where none is described."""
    assert list(bodies(document, "/v1/resources")) == []


def test_parts_of_a_page_are_found_by_their_ids() -> None:
    """The element that is the part itself is preferred to its label; a memo holds the token."""
    assert guess_selectors(PAGE, "TOKEN") == {
        "address": "#addr",
        "memo": "#memo",
        "amount": "#amount",
        "qr": "#qr",
        "state": "#state",
    }
    assert guess_selectors("no page", "TOKEN") == {}


class Described(Gateway):
    """A gateway that publishes an OpenAPI document and names parts of its page."""

    async def _answer(
        self, method: str, path: str, headers: CIMultiDict[str], body: bytes, host: str
    ) -> tuple[int, Any]:
        if path == "/openapi.json":
            return 200, OPENAPI
        if path.startswith("/checkout/"):
            return 200, PAGE.replace("TOKEN", path.rpartition("/")[2]).encode()
        return await super()._answer(method, path, headers, body, host)


def _client(gateway: Gateway) -> Client:
    return Client(gateway, EventLog(), "init", Names(), Counter())


async def test_a_gateway_is_described_by_what_it_accepts() -> None:
    """Paths, members, bodies, networks and selectors are found, and make a profile that can be read."""
    tenants = {
        name: {"Authorization": f"Bearer {key}", "X-Tenant-Id": tenant_id}
        for name, (key, tenant_id) in zip(("first", "second"), KEYS.items(), strict=True)
    }
    description = await probe_gateway(_client(Described()), BASE, tenants)
    assert description is not None
    assert description.bindings["openapi_path"] == "/openapi.json"
    assert description.bindings["jwks_path"] == "/.well-known/jwks.json"
    assert description.bindings["receipt_member"] == "jws"
    assert description.bindings["screen_body"] == {"who": "somebody"}
    assert description.bindings["screen_receipt_member"] == "compliance_receipt_jws"
    assert description.bindings["resource_body"]["resource_id"] == "weldproof-{unique}"
    assert description.bindings["checkout_selectors"]["memo"] == "#memo"
    assert description.networks["first"] == ["algorand_testnet", "base_sepolia", "solana_devnet"]

    tenants_given = {"first": ("id-1", "KEY_1"), "second": ("id-2", "KEY_2")}
    text = render({"gateway": description}, tenants_given, {}, Pace(), {})
    profile = parse(text)
    assert profile.tenants["second"].networks == ("algorand_testnet", "base_sepolia", "solana_devnet")
    assert profile.claims.lanes == ("algorand", "base", "solana")
    assert "weld_first" not in text
    uncommented_text = "\n".join(line.removeprefix("# ") for line in text.splitlines() if "limited" not in line)
    assert tomllib.loads(text)["gateway"]["receipt_member"] == "jws"
    assert "[tenants.first.payout]" in uncommented_text
    keys_told = set(tomllib.loads(text)["gateway"]) | set(re.findall(r"^([a-z_]+) = ", uncommented_text, re.MULTILINE))
    assert not {*GatewayBindings.model_fields} - _SELDOM - keys_told
    assert {"offset_file", "service_word"} <= keys_told


async def test_without_a_tenant_the_rest_is_left_to_fill_in() -> None:
    """What needs credentials stands as commented lines."""
    description = await probe_gateway(_client(Described()), BASE, {})
    assert description is not None
    assert not {"resource_body", "checkout_selectors"} & set(description.bindings)
    text = render({"gateway": description}, {}, {}, Pace(), {})
    assert "# [tenants.first]" in text
    assert "# resource_body" in text
    assert parse(text).tenants == {}


class SellingIn(Gateway):
    """A gateway that sells in one currency, at a rate, and says of another one that it is not offered."""

    def __init__(self, currency: str, rate: float) -> None:
        super().__init__()
        self.currency, self.rate = currency, rate

    def _link(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("currency") != self.currency:
            raise Refusal(422, "currency_not_offered")
        link = super()._link({**body, "currency": "USDC"})
        return {**link, "amount_microunits": round(link["amount_microunits"] * self.rate)}


_KEY, _ID = next(iter(KEYS.items()))
FIRST = {"first": {"Authorization": f"Bearer {_KEY}", "X-Tenant-Id": _ID}}


async def test_a_currency_that_the_gateway_sells_in_is_bound_with_its_networks() -> None:
    """Its document says nothing of it; its refusal names the currency, so usual ones are tried."""
    description = await probe_gateway(_client(SellingIn("USD", 1)), BASE, FIRST)
    assert description is not None
    assert description.bindings["currency"] == "USD"
    assert description.networks["first"] == ["algorand_testnet", "base_sepolia", "solana_devnet"]
    assert description.notes == []


async def test_a_currency_with_a_rate_is_not_bound_as_the_one_of_usdc() -> None:
    """The note says why not, and what the key means; the networks are found all the same."""
    description = await probe_gateway(_client(SellingIn("EUR", 1.08)), BASE, FIRST)
    assert description is not None
    assert "currency" not in description.bindings
    assert len(description.networks["first"]) == 3
    (note,) = description.notes
    assert note.startswith("the gateway sells 1.25 EUR for 1350000 micro-units, so currency was not bound")


async def test_a_currency_that_is_not_usual_is_asked_for() -> None:
    """Nothing is bound, and the note says what to bind."""
    description = await probe_gateway(_client(SellingIn("CHF", 1)), BASE, FIRST)
    assert description is not None
    assert not {"currency"} & set(description.bindings)
    assert description.networks == {}
    assert any("bind [gateway] currency" in note for note in description.notes)


async def test_another_server_is_no_gateway() -> None:
    """A server without the two endpoints is left alone."""

    class Elsewhere(Gateway):
        async def send(self, *_: Any) -> tuple[int, CIMultiDictProxy[str], bytes]:
            return 404, CIMultiDictProxy(CIMultiDict[str]()), json.dumps({}).encode()

    assert await probe_gateway(_client(Elsewhere()), BASE, {}) is None
    assert DiscoveredGateway(BASE).bindings == {}
