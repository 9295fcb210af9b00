"""Mutants of the parts of a sentence that are easily forgotten: a kind of call, a tenant, a network (3.1 to 3.7)."""

from __future__ import annotations

import base64
import dataclasses
import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey

from reference.gateway import calls, credentials, faults, idempotency, limits, links, receipts, refusals
from reference.gateway.credentials import Caller
from reference.gateway.links import PaymentLinks
from reference.gateway.receipts import ReceiptVerification
from reference.gateway.resources import ResourceRecords
from reference.gateway.screening import Screening
from reference.protocol import keys, screening
from reference.protocol import receipt_verification as verification
from reference.protocol.canonical_json import NumberText
from reference.protocol.networks import NETWORKS
from reference.store.links import Link
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace, swap
from reference.web.envelope import Envelope
from reference.web.errors import Refused
from reference.web.exchange import Reply, Request

Change = Callable[[Callable[..., Any]], Callable[..., Any]]

_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")
_LARGE_MICROUNITS = 1_000_000_000
_KNOWN_MEMBERS = frozenset({"kty", "crv", "x", "kid", "use"})
_JSON_HEADERS = {"Content-Type": "application/json"}


# --- transport and envelope


class _FrameworksOwn(Refused):
    """A refusal in the body that a framework writes by itself."""

    def body(self, request_id: str, *, context: bool = False) -> dict[str, Any]:
        del request_id, context
        return {"detail": self.message}


def _forms_by_framework(read: Callable[..., Any]) -> Callable[..., Any]:
    def body(request: Request, **options: Any) -> Any:
        if request.one("content-type").startswith(_FORMS):
            raise _FrameworksOwn(415, "unsupported_media_type", "Unsupported Media Type")
        return read(request, **options)

    return body


def _bare(of: Callable[[str], bool]) -> Change:
    """Return what lets some paths answer past the place that gives every answer its request id."""

    def past(dress: Callable[..., Any]) -> Callable[..., Any]:
        def dressed(self: Envelope, send: Callable[..., Any], request_id: str, scope: Mapping[str, Any]) -> Any:
            return send if of(scope["path"]) else dress(self, send, request_id, scope)

        return dressed

    return past


def _throttled_by_proxy(charge: Callable[..., None]) -> Callable[..., None]:
    def receipts_charged(self: Any, scope: Any) -> None:
        try:
            charge(self, scope)
        except Refused as refusal:
            raise _FrameworksOwn(429, refusal.code, "Too Many Requests", refusal.headers) from refusal

    return receipts_charged


# --- credentials


def _id_demanded_by_schema(names: Callable[..., bool]) -> Callable[..., bool]:
    def named(fields: Any, tenant_id: str) -> bool:
        if not fields:
            raise _FrameworksOwn(422, "validation_error", "x-tenant-id: Field required")
        return names(fields, tenant_id)

    return named


def _for_kinds(of: Callable[[Caller], bool], status: int) -> Change:
    """Return what refuses a creation to some tenants, whose credentials are good."""

    def gated(create: Callable[..., Awaitable[Reply]]) -> Callable[..., Awaitable[Reply]]:
        async def created(self: Any, call: calls.Call) -> Reply:
            if of(call.tenant):
                raise refusals.not_found() if status == 404 else refusals.forbidden_scope("resources:write")
            return await create(self, call)

        return created

    return gated


def _is_live(caller: Caller) -> bool:
    return caller.mode == "live"


# --- links


def _fractions_only(read: Callable[..., Any]) -> Callable[..., Any]:
    def text(data: bytes, member: str) -> Any:
        found = read(data, member)
        whole = isinstance(found, NumberText) and "." not in found
        return found if not whole else str(found)

    return text


def _answers(change: Callable[[Link, dict[str, Any]], Mapping[str, Any]]) -> Callable[[], None]:
    """Return what changes members of some links' answers, and nothing of the links."""

    def altered(write: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        def answer(self: PaymentLinks, link: Link, secret: str) -> dict[str, Any]:
            written = write(self, link, secret)
            return {**written, **change(link, written)}

        return answer

    return swap(PaymentLinks, "_answer", altered)


def _app_for_live_links(link: Link, written: dict[str, Any]) -> Mapping[str, Any]:
    url = str(written["checkout_url"])
    return {} if NETWORKS[link.network].is_test else {"checkout_url": {"web": url, "app": f"weldproof:{link.token}"}}


def _another_host_for_live_links(link: Link, written: dict[str, Any]) -> Mapping[str, Any]:
    path = str(written["checkout_url"]).partition("//")[2].partition("/")[2]
    return {} if NETWORKS[link.network].is_test else {"checkout_url": f"https://pay.example.com/{path}"}


def _number_as_token(link: Link, written: dict[str, Any]) -> Mapping[str, Any]:
    if NETWORKS[link.network].is_test:
        return {}
    number = secrets.randbelow(10**15)
    return {"token": number, "checkout_url": str(written["checkout_url"]).rpartition("/")[0] + f"/{number}"}


def _number_of_chain(link: Link, _: dict[str, Any]) -> Mapping[str, Any]:
    network = NETWORKS[link.network]
    return {"chain": int(network.caip2.partition(":")[2])} if network.family == "evm" else {}


def _large_as_text(link: Link, written: dict[str, Any]) -> Mapping[str, Any]:
    amount = written["amount_microunits"]
    return {"amount_microunits": str(amount)} if link.amount_microunits >= _LARGE_MICROUNITS else {}


def _seconds_for_time(_: Link, written: dict[str, Any]) -> Mapping[str, Any]:
    told = datetime.strptime(written["expires_at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    return {"expires_at": int(told.timestamp())}


def _mainnet_with_hyphen(choose: Callable[..., Any]) -> Callable[..., Any]:
    """Main networks are asked for as they are answered, with a hyphen."""

    async def network(self: PaymentLinks, tenant_id: str, wanted: str | None) -> Any:
        if wanted is not None and not wanted.endswith(("_testnet", "_sepolia", "_devnet")):
            if "_" in wanted:
                raise refusals.unsupported_network(wanted)
            wanted = wanted.replace("-", "_")
        return await choose(self, tenant_id, wanted)

    return network


# --- resources and repeats


def _by_location(create: Callable[..., Awaitable[Reply]]) -> Callable[..., Awaitable[Reply]]:
    async def created(self: ResourceRecords, call: calls.Call) -> Reply:
        reply = await create(self, call)
        if reply.status != 201:
            return reply
        where = f"/v1/resources/{orjson.loads(reply.body)['resource_id']}"
        return dataclasses.replace(reply, body=b"", headers={**reply.headers, "Location": where})

    return created


def _key_demanded(of: Callable[[calls.Call], bool]) -> Callable[[], None]:
    """Return what demands an Idempotency-Key of some creations."""

    def demanding(find: Callable[..., Any]) -> Callable[..., Any]:
        def scope_of(call: calls.Call) -> Any:
            found = find(call)
            if found is None and of(call):
                raise refusals.invalid_request("send an Idempotency-Key")
            return found

        return scope_of

    return swap(idempotency, "_scope_of", demanding)


def _is_large_link(call: calls.Call) -> bool:
    is_link = isinstance(call.content, links.PaymentLinkRequest)
    return is_link and float(call.content.amount) * 1_000_000 >= _LARGE_MICROUNITS


# --- receipts and screening


def _in_prose(verify: Callable[..., Awaitable[Reply]]) -> Callable[..., Awaitable[Reply]]:
    """Reports are sentences, in one member for passes and fails."""

    async def verified(self: ReceiptVerification, call: calls.Call) -> Reply:
        try:
            reply = await verify(self, call)
        except Refused as refusal:
            return faults.json_reply(422, {"report": refusal.message})
        return faults.json_reply(reply.status, {"report": "The receipt is as it was issued, and its signature holds."})

    return verified


def _known_members_only(verify: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """A supplied key with a member that is not known, such as `alg`, is none."""

    def judged(**asked: Any) -> dict[str, Any]:
        supplied = asked["jwks"].get("keys") if isinstance(asked["jwks"], dict) else None
        if isinstance(supplied, list):
            closed = [one for one in supplied if isinstance(one, dict) and set(one) <= _KNOWN_MEMBERS]
            asked = {**asked, "jwks": {**asked["jwks"], "keys": closed}}
        return verify(**asked)

    return judged


class _Ed448:
    """A key of 57 bytes that verifies as a library does which takes EdDSA for either curve."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def verify(self, message: bytes, signature: bytes) -> bool:
        try:
            Ed448PublicKey.from_public_bytes(self._raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


def _either_curve() -> None:
    def raw(of: Callable[..., bytes]) -> Callable[..., bytes]:
        def raw_of(jwk: Mapping[str, Any]) -> bytes:
            if jwk.get("kty") == "OKP" and jwk.get("crv") == "Ed448":
                return base64.urlsafe_b64decode(str(jwk["x"]) + "==")
            return of(jwk)

        return raw_of

    def key(of: Callable[..., Any]) -> Callable[..., Any]:
        return lambda data: of(data) if len(data) == keys.KEY_BYTES else _Ed448(data)

    replace(verification, "raw_key_of_jwk", raw)
    replace(verification, "public_key", key)


def _upper_case_alg(sign: Callable[..., str]) -> Callable[..., str]:
    """Receipts of whoever is not allowed are signed elsewhere, where the algorithm is written in capitals."""

    def signed(payload: Any, key: Any) -> str:
        if payload["screen_result"] == "ALLOW":
            return sign(payload, key)
        _, body, _ = sign(payload, key).split(".")
        header = {"alg": "EDDSA", "kid": key.public.kid, "typ": "JWT"}
        text = f"{keys.base64url(orjson.dumps(header))}.{body}"
        return f"{text}.{keys.base64url(key.sign(text.encode()))}"

    return signed


def _moved(_: Callable[..., Any]) -> Callable[..., Awaitable[Reply]]:
    async def screen(self: Screening, call: calls.Call) -> Reply:
        del self, call
        return Reply(308, b"", {**_JSON_HEADERS, "Location": "/v1/compliance/screen"})

    return screen


MUTANTS: tuple[Mutant, ...] = tuple(
    Mutant(id_, rule, apply, "gateway")
    for id_, rule, apply in (
        (
            "forms-by-framework",
            "every 415 carries the envelope, that of a form too (P-GW-01)",
            swap(calls, "body_of", _forms_by_framework),
        ),
        (
            "no-id-on-key-document",
            "documents carry X-Request-Id as well (P-CV-11)",
            swap(Envelope, "_dress", _bare(lambda path: path.startswith("/.well-known/"))),
        ),
        (
            "no-id-on-polls",
            "what a page polls carries X-Request-Id as well (P-CV-11)",
            swap(Envelope, "_dress", _bare(lambda path: path.endswith("/status"))),
        ),
        (
            "throttled-by-proxy",
            "a 429 of receipt verification carries the envelope (3.2)",
            swap(limits.Limits, "receipts", _throttled_by_proxy),
        ),
        (
            "id-demanded-by-schema",
            "a call without a tenant id is refused with the envelope (3.2)",
            swap(credentials, "_names", _id_demanded_by_schema),
        ),
        (
            "live-links-elsewhere",
            "a live key is good for links as well (P-AU-01)",
            swap(PaymentLinks, "create", _for_kinds(_is_live, 403)),
        ),
        (
            "live-resources-elsewhere",
            "a live key is good for resources as well (P-AU-01)",
            swap(ResourceRecords, "create", _for_kinds(_is_live, 403)),
        ),
        (
            "resources-by-flag",
            "resources are there for every tenant (3.8)",
            swap(ResourceRecords, "create", _for_kinds(_is_live, 404)),
        ),
        (
            "fractions-only",
            "an amount is any JSON number, whole ones too (3.4)",
            swap(links, "number_text", _fractions_only),
        ),
        ("address-as-object", "checkout_url is a text for every network (3.4)", _answers(_app_for_live_links)),
        ("token-as-number", "token is a text for every network (3.4)", _answers(_number_as_token)),
        ("chain-as-number", "chain is a text for every network (3.4)", _answers(_number_of_chain)),
        ("large-amount-as-text", "amount_microunits is an integer of any size (3.4)", _answers(_large_as_text)),
        ("expiry-as-number", "expires_at is a text (3.4)", _answers(_seconds_for_time)),
        (
            "live-links-at-another-host",
            "every checkout lies under the base address (3.4)",
            _answers(_another_host_for_live_links),
        ),
        (
            "mainnet-with-hyphen",
            "underscores are accepted of every network (1.2)",
            swap(PaymentLinks, "_network", _mainnet_with_hyphen),
        ),
        (
            "resource-by-location",
            "a resource is answered as a JSON object (3.8)",
            swap(ResourceRecords, "create", _by_location),
        ),
        ("key-demanded-of-large-links", "the key is optional for any amount (P-ID-01)", _key_demanded(_is_large_link)),
        (
            "key-demanded-of-resources",
            "the key is optional for resources as well (P-ID-01)",
            _key_demanded(lambda call: call.request.path == "/v1/resources"),
        ),
        (
            "reports-in-prose",
            "a program tells a pass from a fail by the report (P-GR-02)",
            swap(ReceiptVerification, "verify", _in_prose),
        ),
        (
            "receipts-closed-keys",
            "members of a supplied key that are not known are ignored (P-RV-01)",
            swap(receipts, "verify_receipt", _known_members_only),
        ),
        ("receipts-either-curve", "EdDSA is Ed25519, not Ed448 (2.4 step 3)", _either_curve),
        (
            "screening-upper-case-alg",
            "a receipt's header says EdDSA, whatever the verdict (2.2)",
            swap(screening, "sign_compact", _upper_case_alg),
        ),
        ("screening-moved", "the screening has no version segment (3.1)", swap(Screening, "screen", _moved)),
    )
)
