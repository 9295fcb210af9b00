"""What may differ in the gateway's calls: names, codes, statuses, and what an answer holds beside what is stated."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as changed
from typing import Any

from reference.gateway import calls
from reference.gateway.calls import Access, Calls, Operation
from reference.gateway.idempotency import Idempotency
from reference.gateway.rate_limits import Limits
from reference.gateway.resources import ResourceRequest
from reference.gateway.settings import GatewaySettings
from reference.protocol.receipt_verification import ReceiptVerifyRequest
from reference.protocol.screening import ScreeningRequest
from reference.variants.chameleon.rail_documents import loosened
from reference.variants.chameleon.shape import Shape
from reference.variants.chameleon.wire import Answer, walked
from reference.variants.seams import replace
from reference.web.clock import WpClock
from reference.web.errors import Unprocessable
from reference.web.http.rate import WindowLimit

_CREATING = ("/v1/payment-links", "/v1/resources")
_INTERNAL = "/internal"
_USDC = "USDC"
_STATED = ("checkout_url", "token", "chain", "amount_microunits", "expires_at")
_LABELS = {
    "algorand": {"mainnet": "algo-main", "testnet": "algo-test"},
    "base": {"mainnet": "base-l2", "sepolia": "base-testing"},
    "solana": {"mainnet": "sol-main", "devnet": "sol-dev"},
}


# Keys of networks as a gateway of another make may have them, by the usual ones.
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
    """Put the look of calls into the service."""
    replace(calls, "fitted", lambda fitted: lambda model, value: fitted(model, _own(shape, model, value)))
    replace(payment_links, "fitted", lambda fitted: lambda model, value: fitted(model, _with_wanted(shape, value)))
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
        replace(Calls, "_admitted", _tenants_only)


def _own(shape: Shape, model: type[Any], value: Any) -> Any:
    """Return a body under the names that the service itself knows."""
    if not isinstance(value, dict):
        return value
    if model is ReceiptVerifyRequest:
        return _of_receipt(shape, value)
    if model is ScreeningRequest and shape.screen_request == "renamed":
        return _renamed(value, {"address": "recipient_address", "chain": "network"})
    if model is ScreeningRequest and shape.screen_request == "nested":
        subject = value.get("subject")
        return _renamed(subject, {"account": "recipient_address"}) if isinstance(subject, dict) else {}
    if model is ResourceRequest and shape.resource == "renamed":
        return _renamed(value, {"name": "resource_id", "price_microunits": "amount_microunits"})
    if model is ResourceRequest and shape.resource == "nested":
        price = value.get("price")
        amount = price.get("microunits") if isinstance(price, dict) else None
        return {**_renamed(value, {"slug": "resource_id"}), "amount_microunits": amount}
    return value


def _of_receipt(shape: Shape, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body of receipt verification; without a member for a payment's hash, no hash is compared."""
    names = {shape.receipt_member: "jws", shape.receipt_hash: "expected_payment_hash"}
    return _renamed(value, {name: own for name, own in names.items() if name != own})


def _renamed(value: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return an object with members under other names; what bore one of those names before is no member of it."""
    kept = {name: member for name, member in value.items() if name not in names.values()}
    return {names.get(name, name): member for name, member in kept.items()}


def _with_wanted(shape: Shape, value: Any) -> Any:
    if shape.link_wants and isinstance(value, dict) and not isinstance(value.get(shape.link_wants), str):
        where = {"loc": ["body", shape.link_wants], "msg": "Field required", "type": "missing"}
        raise Unprocessable([where])
    return _by_own_network(shape, _in_own_currency(shape, value))


def _by_own_network(shape: Shape, value: Any) -> Any:
    """Return a link's body with the variant's network key replaced by the service's, which is itself not accepted."""
    wanted = value.get("preferred_network") if isinstance(value, dict) else None
    if not shape.own_networks or not isinstance(wanted, str):
        return value
    return {**value, "preferred_network": {own: key for key, own in OWN_NETWORKS.items()}.get(wanted, f"no {wanted}")}


def _in_own_currency(shape: Shape, value: Any) -> Any:
    """Return a link's body with the look's code for USDC as the service knows it; the service's own is no code then."""
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
    """Return what hands out the first answer of a key, whatever body comes with the key."""

    async def given(self: Idempotency, scope: Any, call: Any) -> Any:
        stored = None if scope is None else await self._answers.get(scope, now=self._clock.now())
        if stored is not None:
            call = changed(call, body=changed(call.body, hash=stored.body_hash))
        return await replay(self, scope, call)

    return given


def _by_window(made: Callable[..., None]) -> Callable[..., None]:
    def built(self: Limits, settings: GatewaySettings, clock: WpClock) -> None:
        made(self, settings, clock)
        self._tenants = WindowLimit(settings.tenant_rate, clock, on=settings.rate_limits)  # type: ignore[assignment]

    return built


def _tenants_only(admitted: Callable[..., Any]) -> Callable[..., Any]:
    async def judged(self: Calls, operation: Operation, scope: Any, request: Any) -> Any:
        if operation.access is Access.RECEIPTS or operation.rule == "/compliance/screen":
            await self._credentials.tenant(request)
        return await admitted(self, operation, scope, request)

    return judged


def elsewhere(shape: Shape) -> Callable[[str], str]:
    """Return what tells the service's own path of a path; its own one leads nowhere where the look has another."""
    moved = {shape.jwks_path: "/.well-known/jwks.json", shape.openapi_path: "/openapi.json"}
    gone = {own for path, own in moved.items() if path != own}
    return lambda path: moved.get(path, "/nothing-here" if path in gone else path)


def edit(answer: Answer, shape: Shape) -> None:
    """Change an answer; those of the internal API stay as they are."""
    told, path = answer.document, answer.asked.path
    if path.startswith(_INTERNAL) or not isinstance(told, dict):
        return
    if answer.status >= 400:
        _refusal(answer, told, shape, path)
    elif path == "/v1/receipt/verify":
        answer.document = _report(told, shape)
    elif path == "/compliance/screen":
        _screening(answer, told, shape)
    elif path == shape.openapi_path:
        answer.document = _contract(told, shape)
    elif path in _CREATING and answer.asked.method == "POST":
        answer.status = shape.create_status
        answer.document = _link(told, shape) if path == _CREATING[0] else _resource(told, shape)
    if not shape.replay_header:
        answer.put("Idempotent-Replayed", None)


# Refusals.


def _refusal(answer: Answer, told: dict[str, Any], shape: Shape, path: str) -> None:
    code = str(told.get("error"))
    if path == "/v1/receipt/verify" and "verified" in told:
        told = {**{name: told[name] for name in ("error", "message")}, **_report(told, shape)}
    statuses = {
        ("one for both", "tenant_id_mismatch"): 401,
        ("403 for both", "invalid_api_key"): 403,
    }
    answer.status = statuses.get((shape.credential_status, code), answer.status)
    if code == "idempotency_conflict" and shape.conflict == "422":
        answer.status = 422
    if code == "not_found" and _is_checkout(path):
        answer.status = shape.unknown_token
    spelled: Mapping[str, Callable[[], str]] = {
        "upper": code.upper,
        "dotted": lambda: f"gateway.{code.replace('_', '-')}",
        "numbered": lambda: f"E{answer.status}-{sum(code.encode()) % 1000:03}",
    }
    told["error"] = spelled.get(shape.error_codes, lambda: code)()
    if shape.error_context == "none" and path != "/v1/receipt/verify":
        told = {name: told[name] for name in ("error", "message") if name in told}
    elif shape.error_context == "more":
        told |= {"docs": "https://errors.invalid/", "trace": {"id": "t-1", "hops": [1, 2]}, "retryable": None}
    answer.document = told


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
    """Return one of the nine typed codes under the name of a look."""
    if form == "kebab":
        return code.lower().replace("_", "-")
    return f"RV-{CODES.index(code) + 1:02}" if form == "numbered" and code in CODES else code


def _report(told: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    code = told.get("error_code")
    named = None if code is None else receipt_code(str(code), shape.receipt_codes)
    checks = [{**one, "code": receipt_code(one["code"], shape.receipt_codes)} for one in told.get("checks", [])]
    claims = {name: told.get(name) for name in ("alg", "kid", "screen_result", "receipt_kind", "content_hash")}
    if shape.report == "outcome":
        failed = {} if named is None else {"failure": {"code": named, "reason": told.get("error_message")}}
        return {"outcome": "pass" if told["verified"] else "fail", **failed, "claims": claims}
    if shape.report == "nested":
        return {"report": {"valid": told["verified"], "code": named, "steps": checks, "claims": claims}}
    own = {"error", "message", "request_id"}
    return {**{name: member for name, member in told.items() if name not in own}, "error_code": named, "checks": checks}


def _screening(answer: Answer, told: dict[str, Any], shape: Shape) -> None:
    if told.get("verdict") == "block":
        answer.status = shape.screen_status
    if shape.screen_answer == "receipt only":
        answer.document = {"receipt": told["compliance_receipt_jws"]}
    elif shape.screen_answer == "nested":
        answer.document = {"data": {"decision": told["verdict"], "evidence": [{"jws": told["compliance_receipt_jws"]}]}}


# Creations.


def _link(told: dict[str, Any], shape: Shape) -> dict[str, Any]:
    made = {name: _time(value, shape) if name.endswith("_at") else value for name, value in told.items()}
    if shape.network_labels == "short":
        made["chain"] = label_of(made["chain"])
    if shape.link_members == "few":
        return {name: made[name] for name in _STATED}
    if shape.link_members == "more":
        made |= {"object": "payment_link", "livemode": False, "metadata": {}, "amount": "as asked", "status": "open"}
    return made


def _resource(told: dict[str, Any], shape: Shape) -> dict[str, Any]:
    made = {name: _time(value, shape) if name.endswith("_at") else value for name, value in told.items()}
    if shape.resource == "renamed":
        return {"uid": made["id"], "name": made["resource_id"], "price_microunits": made["amount_microunits"]}
    if shape.resource == "nested":
        return {"resource": {"slug": made["resource_id"], "uid": made["id"]}, "created": made["created_at"]}
    return made


def _time(text: Any, shape: Shape) -> Any:
    forms = {"offset": "+00:00", "fractions": ".000Z", "long fractions": ".000000+00:00"}
    return text.removesuffix("Z") + forms[shape.times] if isinstance(text, str) and shape.times in forms else text


# The contract.


def _contract(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    document = loosened(document)
    moved = {"/.well-known/jwks.json": shape.jwks_path, "/openapi.json": shape.openapi_path}
    document["paths"] = {moved.get(path, path): item for path, item in document["paths"].items()}
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
    texts: Sequence[tuple[str, str]] = tuple(moved.items())
    return dict(walked(document, lambda text: dict(texts).get(text, text)))


def _rename_property(schema: dict[str, Any], old: str, new: str) -> None:
    named = {new if name == old else name: one for name, one in schema["properties"].items()}
    schema["properties"] = {name: one for name, one in named.items() if name}
    if "required" in schema:
        schema["required"] = [new if name == old else name for name in schema["required"]]
