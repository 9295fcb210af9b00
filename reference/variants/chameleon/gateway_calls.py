"""Variants of the gateway's calls: names, codes, statuses, and further members of answers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as changed
from typing import Any

from reference.gateway import call_admission, payment_links
from reference.gateway.call_admission import Access, Calls, Operation
from reference.gateway.idempotency import Idempotency
from reference.gateway.rate_limits import Limits
from reference.gateway.resources import ResourceRequest
from reference.gateway.settings import GatewaySettings
from reference.protocol.receipt_verification import ReceiptVerifyRequest
from reference.protocol.screening import ScreeningRequest
from reference.variants.chameleon.answer_rewriter import Answer, change_texts
from reference.variants.chameleon.rail_documents import loosen_contract
from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace
from reference.web.clock import WpClock
from reference.web.errors import Unprocessable
from reference.web.http.rate import WindowLimit
from reference.web.http.rate_store import Share

_CREATION_PATHS = ("/v1/payment-links", "/v1/resources")
_INTERNAL = "/internal"
_USDC = "USDC"
_STATED_MEMBERS = ("checkout_url", "token", "chain", "amount_microunits", "expires_at")
_LABELS = {
    "algorand": {"mainnet": "algo-main", "testnet": "algo-test"},
    "base": {"mainnet": "base-l2", "sepolia": "base-testing"},
    "solana": {"mainnet": "sol-main", "devnet": "sol-dev"},
}


# Other keys of networks, by the usual ones: the interface fixes separators and no complete list of names (C-02).
OWN_NETWORKS = {
    "algorand_mainnet": "algo_main",
    "algorand_testnet": "algo_test",
    "base_mainnet": "l2_main",
    "base_sepolia": "l2_test",
    "solana_mainnet": "sol_main",
    "solana_devnet": "sol_dev",
}


def label_of(network: str) -> str:
    """Return the other spelling of a network in a link's `chain`, by its key."""
    chain, _, kind = network.replace("-", "_").partition("_")
    return _LABELS.get(chain, {}).get(kind, network)


def install(shape: Shape) -> None:
    """Install the variant of calls in the service."""
    replace(call_admission, "fit_model", lambda fitted: lambda model, value: fitted(model, _own(shape, model, value)))
    replace(payment_links, "fit_model", lambda fitted: lambda model, value: fitted(model, _with_wanted(shape, value)))
    forms: Mapping[str, Callable[[bytes], str]] = {
        "hex": lambda raw: raw.hex(),
        "uuid": lambda raw: str(uuid.UUID(bytes=raw)),
    }
    if shape.link_token in forms:
        replace(payment_links, "base64url", lambda _: forms[shape.link_token])
    if shape.conflict == "original":
        replace(Idempotency, "_replay", _original)
    if shape.tenant_limit == "window":
        replace(Limits, "__init__", _by_window)
    if shape.open_calls == "tenants":
        replace(Calls, "_admit", _tenants_only)


def _own(shape: Shape, model: type[Any], value: Any) -> Any:
    """Return a body under the service's names."""
    if not isinstance(value, dict):
        return value
    if model is ReceiptVerifyRequest:
        return _of_receipt(shape, value)
    if model is ScreeningRequest and shape.screen_request == "renamed":
        return _rename_members(value, {"address": "recipient_address", "chain": "network"})
    if model is ScreeningRequest and shape.screen_request == "nested":
        subject = value.get("subject")
        return _rename_members(subject, {"account": "recipient_address"}) if isinstance(subject, dict) else {}
    if model is ResourceRequest and shape.resource == "renamed":
        return _rename_members(value, {"name": "resource_id", "price_microunits": "amount_microunits"})
    if model is ResourceRequest and shape.resource == "nested":
        price = value.get("price")
        amount = price.get("microunits") if isinstance(price, dict) else None
        return {**_rename_members(value, {"slug": "resource_id"}), "amount_microunits": amount}
    return value


def _of_receipt(shape: Shape, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body of receipt verification; without a member for a payment's hash, no hash is compared."""
    names = {shape.receipt_member: "jws", shape.receipt_hash: "expected_payment_hash"}
    return _rename_members(value, {name: own for name, own in names.items() if name != own})


def _rename_members(value: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return an object with members under other names; a member that already has such a name is dropped."""
    members = {name: member for name, member in value.items() if name not in names.values()}
    return {names.get(name, name): member for name, member in members.items()}


def _with_wanted(shape: Shape, value: Any) -> Any:
    if shape.link_wants and isinstance(value, dict) and not isinstance(value.get(shape.link_wants), str):
        where = {"loc": ["body", shape.link_wants], "msg": "Field required", "type": "missing"}
        raise Unprocessable([where])
    return _by_own_network(shape, _in_own_currency(shape, value))


def _by_own_network(shape: Shape, value: Any) -> Any:
    """Return a link's body with the variant's network key replaced by the service's, which is itself not accepted."""
    network = value.get("preferred_network") if isinstance(value, dict) else None
    if not shape.own_networks or not isinstance(network, str):
        return value
    return {**value, "preferred_network": {own: key for key, own in OWN_NETWORKS.items()}.get(network, f"no {network}")}


def _in_own_currency(shape: Shape, value: Any) -> Any:
    """Return a link's body with the variant's code for USDC replaced by the service's, which itself is refused then."""
    if shape.link_currency == _USDC or not isinstance(value, dict) or not isinstance(value.get("currency"), str):
        return value
    if value["currency"] == _USDC:
        where = {
            "loc": ["body", "currency"],
            "msg": f"Input should be '{shape.link_currency}'",
            "type": "literal_error",
        }
        raise Unprocessable([where])
    return {**value, "currency": _USDC} if value["currency"] == shape.link_currency else value


def _original(replay: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replay that gives the first answer of a key, whatever body comes with the key."""

    async def replay_first_answer(self: Idempotency, scope: Any, call: Any) -> Any:
        stored_answer = None if scope is None else await self._answers.get(scope, now=self._clock.now())
        # C-12: one reading of the interface replays the original even for another body. The stored hash makes both
        # bodies equal.
        if stored_answer is not None:
            call = changed(call, body=changed(call.body, hash=stored_answer.body_hash))
        return await replay(self, scope, call)

    return replay_first_answer


def _by_window(init: Callable[..., None]) -> Callable[..., None]:
    def init_with_window(self: Limits, settings: GatewaySettings, clock: WpClock, *share: Share) -> None:
        init(self, settings, clock, *share)
        self._tenants = WindowLimit(settings.tenant_rate, clock, on=settings.rate_limits)  # type: ignore[assignment]

    return init_with_window


def _tenants_only(admit: Callable[..., Any]) -> Callable[..., Any]:
    async def admit_tenant(self: Calls, operation: Operation, scope: Any, request: Any) -> Any:
        if operation.access is Access.RECEIPTS or operation.rule == "/compliance/screen":
            await self._credentials.tenant(request)
        return await admit(self, operation, scope, request)

    return admit_tenant


def elsewhere(shape: Shape) -> Callable[[str], str]:
    """Return a function from the variant's path to the service's path, which itself answers 404 then."""
    own_paths = {shape.jwks_path: "/.well-known/jwks.json", shape.openapi_path: "/openapi.json"}
    hidden_paths = {own for path, own in own_paths.items() if path != own}
    return lambda path: own_paths.get(path, "/nothing-here" if path in hidden_paths else path)


def edit(answer: Answer, shape: Shape) -> None:
    """Change an answer, except answers of the internal API."""
    document, path = answer.document, answer.request.path
    # The internal API belongs to the reference and not to the interface. The suite's harness uses it to prepare
    # tenants.
    if path.startswith(_INTERNAL) or not isinstance(document, dict):
        return
    if answer.status >= 400:
        _refusal(answer, document, shape, path)
    elif path == "/v1/receipt/verify":
        answer.document = _report(document, shape)
    elif path == "/compliance/screen":
        _change_screening(answer, document, shape)
    elif path == shape.openapi_path:
        answer.document = _contract(document, shape)
    elif path in _CREATION_PATHS and answer.request.method == "POST":
        answer.status = shape.create_status
        answer.document = _link(document, shape) if path == _CREATION_PATHS[0] else _resource(document, shape)
    if not shape.replay_header:
        answer.set_header("Idempotent-Replayed", None)


# Refusals.


def _refusal(answer: Answer, body: dict[str, Any], shape: Shape, path: str) -> None:
    code = str(body.get("error"))
    if path == "/v1/receipt/verify" and "verified" in body:
        body = {**{name: body[name] for name in ("error", "message")}, **_report(body, shape)}
    statuses = {
        ("one for both", "tenant_id_mismatch"): 401,
        ("403 for both", "invalid_api_key"): 403,
    }
    answer.status = statuses.get((shape.credential_status, code), answer.status)
    if code == "idempotency_conflict" and shape.conflict == "422":
        answer.status = 422
    if code == "not_found" and _is_checkout(path):
        answer.status = shape.unknown_token
    spellings: Mapping[str, Callable[[], str]] = {
        "upper": code.upper,
        "dotted": lambda: f"gateway.{code.replace('_', '-')}",
        "numbered": lambda: f"E{answer.status}-{sum(code.encode()) % 1000:03}",
    }
    body["error"] = spellings.get(shape.error_codes, lambda: code)()
    if shape.error_context == "none" and path != "/v1/receipt/verify":
        body = {name: body[name] for name in ("error", "message") if name in body}
    elif shape.error_context == "more":
        body |= {"docs": "https://errors.invalid/", "trace": {"id": "t-1", "hops": [1, 2]}, "retryable": None}
    answer.document = body


def _is_checkout(path: str) -> bool:
    return path.startswith("/checkout/") and path.count("/") == 2


# Receipts and screening.

CODES = (
    "MISSING_ENVELOPE",
    "INVALID_JWS_FORMAT",
    "UNSUPPORTED_ALG",
    "TAMPERED_SIGNATURE",
    "INVALID_PAYLOAD",
    "UNSUPPORTED_CANON_VERSION",
    "NON_CANONICAL_PAYLOAD",
    "MISSING_FIELD",
    "PAYMENT_HASH_MISMATCH",
)


def receipt_code(code: str, form: str) -> str:
    """Return one of the nine typed codes under the variant's name."""
    if form == "kebab":
        return code.lower().replace("_", "-")
    return f"RV-{CODES.index(code) + 1:02}" if form == "numbered" and code in CODES else code


def _report(report: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    code = report.get("error_code")
    named_code = None if code is None else receipt_code(str(code), shape.receipt_codes)
    checks = [{**one, "code": receipt_code(one["code"], shape.receipt_codes)} for one in report.get("checks", [])]
    claims = {name: report.get(name) for name in ("alg", "kid", "screen_result", "receipt_kind", "content_hash")}
    if shape.report == "outcome":
        failure = {} if named_code is None else {"failure": {"code": named_code, "reason": report.get("error_message")}}
        return {"outcome": "pass" if report["verified"] else "fail", **failure, "claims": claims}
    if shape.report == "nested":
        return {"report": {"valid": report["verified"], "code": named_code, "steps": checks, "claims": claims}}
    own = {"error", "message", "request_id"}
    return {
        **{name: member for name, member in report.items() if name not in own},
        "error_code": named_code,
        "checks": checks,
    }


def _change_screening(answer: Answer, document: dict[str, Any], shape: Shape) -> None:
    if document.get("verdict") == "block":
        answer.status = shape.screen_status
    if shape.screen_answer == "receipt only":
        answer.document = {"receipt": document["compliance_receipt_jws"]}
    elif shape.screen_answer == "nested":
        answer.document = {
            "data": {"decision": document["verdict"], "evidence": [{"jws": document["compliance_receipt_jws"]}]}
        }


# Creations.


def _link(link: dict[str, Any], shape: Shape) -> dict[str, Any]:
    shown_link = {name: _time(value, shape) if name.endswith("_at") else value for name, value in link.items()}
    if shape.network_labels == "short":
        shown_link["chain"] = label_of(shown_link["chain"])
    if shape.link_members == "few":
        return {name: shown_link[name] for name in _STATED_MEMBERS}
    if shape.link_members == "more":
        shown_link |= {
            "object": "payment_link",
            "livemode": False,
            "metadata": {},
            "amount": "as asked",
            "status": "open",
        }
    return shown_link


def _resource(resource: dict[str, Any], shape: Shape) -> dict[str, Any]:
    shown_resource = {name: _time(value, shape) if name.endswith("_at") else value for name, value in resource.items()}
    if shape.resource == "renamed":
        return {
            "uid": shown_resource["id"],
            "name": shown_resource["resource_id"],
            "price_microunits": shown_resource["amount_microunits"],
        }
    if shape.resource == "nested":
        return {
            "resource": {"slug": shown_resource["resource_id"], "uid": shown_resource["id"]},
            "created": shown_resource["created_at"],
        }
    return shown_resource


def _time(text: Any, shape: Shape) -> Any:
    # RFC 3339 allows all of these for UTC.
    forms = {"offset": "+00:00", "fractions": ".000Z", "long fractions": ".000000+00:00"}
    return text.removesuffix("Z") + forms[shape.times] if isinstance(text, str) and shape.times in forms else text


# The OpenAPI document.


def _contract(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    document = loosen_contract(document)
    new_paths = {"/.well-known/jwks.json": shape.jwks_path, "/openapi.json": shape.openapi_path}
    document["paths"] = {new_paths.get(path, path): item for path, item in document["paths"].items()}
    schemas = document["components"]["schemas"]
    if shape.receipt_member != "jws":
        _rename_property(schemas["ReceiptVerifyRequest"], "jws", shape.receipt_member)
    if shape.receipt_hash != "expected_payment_hash":
        _rename_property(schemas["ReceiptVerifyRequest"], "expected_payment_hash", shape.receipt_hash)
    open_schemas = {
        "/v1/resources": shape.resource != "flat",
        "/compliance/screen": shape.screen_request != "flat",
        "/v1/payment-links": bool(shape.link_wants or shape.own_networks) or shape.link_currency != _USDC,
    }
    for path, is_open in open_schemas.items():
        if is_open:
            content = document["paths"][path]["post"]["requestBody"]["content"]
            content["application/json"] = {"schema": {"type": "object"}}
    texts: Sequence[tuple[str, str]] = tuple(new_paths.items())
    return dict(change_texts(document, lambda text: dict(texts).get(text, text)))


def _rename_property(schema: dict[str, Any], old: str, new: str) -> None:
    properties = {new if name == old else name: one for name, one in schema["properties"].items()}
    schema["properties"] = {name: one for name, one in properties.items() if name}
    if "required" in schema:
        schema["required"] = [new if name == old else name for name in schema["required"]]
