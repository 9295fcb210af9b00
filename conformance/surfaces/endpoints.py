"""All known operations of the claimed surfaces: from the interface, the profile and published documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from conformance.discovery.rail import CATALOG, INDEX, OPENAPI, RESOURCES
from conformance.engine.check import Case
from conformance.oracles.message_signatures.message import Message
from conformance.oracles.strict_json import is_json_type
from conformance.outcome import Inconclusive
from conformance.surfaces import json_rpc
from conformance.surfaces.agent import A2A, EXPLAIN, OPERATIONS, SIGN, VERIFY, Agent, Subject, agent_of
from conformance.surfaces.control_plane.access import AUDIT, ISSUERS, OPEN_READS, SERVICES, token_of
from conformance.surfaces.gateway import calls
from conformance.surfaces.openapi_documents import published_document
from conformance.surfaces.rail.keys import DID, JWKS

# A token has 22 letters of base64url. This one has the right form and belongs to no link.
UNKNOWN_TOKEN = "A" * 22
_METHODS = ("get", "post", "put", "patch", "delete")
_NO_RECEIPT = "e30.e30.AA"
_STREAM = "text/event-stream"
# Any valid public key: these bodies only have to be understood, not accepted.
_ANY_KEY = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One operation with everything that a call of it needs.

    Attributes:
        surface: The surface that has it.
        base: The surface's address, without a slash at its end.
        method: HTTP method.
        path: Path below the address.
        template: The path for a reader, with placeholders such as `{token}` for live values.
        body: A body that it understands, or None if it takes no body.
        headers: Credentials.
        answers_json: Whether its answers are JSON, by the interface or its document.
        is_stated: Whether the interface or the profile names it; if not, a document of the target does.
    """

    surface: str
    base: str
    method: str
    path: str
    template: str
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    answers_json: bool = True
    is_stated: bool = True

    @property
    def url(self) -> str:
        """The whole address."""
        return self.base + self.path

    @property
    def label(self) -> str:
        """Method and path for a reader."""
        return f"{self.method} {self.template}"


async def list_endpoints(case: Case, surface: str) -> list[Endpoint]:
    """Return every known operation of a claimed surface; if possible, a live checkout link is created.

    Streams of events are left out, because their answers never end.

    Raises:
        Inconclusive: The surface has no address, or the rail's operations cannot be found.
    """
    if surface not in case.profile.surfaces:
        raise Inconclusive(f"needs the address: give [surfaces.{surface}] url")
    base = case.profile.surfaces[surface].url.rstrip("/")
    stated_endpoints = await _stated_endpoints(case, surface, base)
    # The interface and the profile know credentials and bodies better than a document, so their
    # entry wins.
    labels = {one.label for one in stated_endpoints}
    document = await published_document(case, surface) or {}
    tokens = [UNKNOWN_TOKEN, *(await _live_token(case) if surface == "gateway" else [])]
    return stated_endpoints + [
        one for one in _document_endpoints(document, surface, base, tokens) if one.label not in labels
    ]


async def _stated_endpoints(case: Case, surface: str, base: str) -> list[Endpoint]:
    if surface == "agent":
        return list(_agent_endpoints(await agent_of(case), base))
    if surface == "control_plane":
        return list(_hub_endpoints(case, base))
    return list(_rail_endpoints(case, base) if surface == "rail" else _gateway_endpoints(case, base))


def _agent_endpoints(agent: Agent, base: str) -> Iterator[Endpoint]:
    """Yield the nine operations of the agent, each with a body about the same message in every run."""
    message = Message("GET", "api.example.org", "https", "/orders?page=2", (("Accept", "application/json"),))
    subject = Subject(message, bytes.fromhex(_ANY_KEY))
    # With the profile's names, sign takes an array of the components to cover.
    bodies = {
        VERIFY: agent.verify_body(subject),
        EXPLAIN: agent.explain_body(subject),
        SIGN: agent.sign_body(message) | ({"covered_components": ["@method"]} if agent.is_reference else {}),
        A2A: _greeting_body(),
    }
    for method, path in OPERATIONS:
        yield Endpoint("agent", base, method, path, path, bodies.get(path) if method == "POST" else None)


def _greeting_body() -> dict[str, Any]:
    """Return a message over A2A that orders no service."""
    return json_rpc.request("message/send", json_rpc.message([{"kind": "text", "text": "hello"}], "m-1"), 1)


def _hub_endpoints(case: Case, base: str) -> Iterator[Endpoint]:
    """Yield the eight operations of the control plane, with bodies that it must refuse even with the token."""
    token = token_of(case)
    admin = {} if token is None else {"Authorization": f"Bearer {token}"}
    for path in OPEN_READS:
        yield Endpoint("control_plane", base, "GET", path, path)
    # A control plane may accept issuers without checks. Hostile variations of a valid body could
    # then enter its trust set, so the base body is already invalid.
    issuer = {"did": "did:web:nobody.example", "public_key_b64": "AAAA"}
    yield Endpoint("control_plane", base, "POST", ISSUERS, ISSUERS, issuer, admin)
    did = f"{ISSUERS}/did%3Aweb%3Anobody.example"
    yield Endpoint("control_plane", base, "DELETE", did, f"{ISSUERS}/{{did}}", None, admin)
    service = {"name": "nobody", "base_url": "nowhere", "health_path": "nowhere"}
    yield Endpoint("control_plane", base, "POST", SERVICES, SERVICES, service, admin)
    yield Endpoint("control_plane", base, "GET", AUDIT, AUDIT, None, admin)


def _fill_placeholders(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the resource body with a fixed name for all placeholders."""
    return {
        # The log could not replace a unique name inside a broken encoding, so that runs would
        # differ.
        name: value.replace("{unique}", "hostile") if isinstance(value, str) else value
        for name, value in body.items()
    }


async def _live_token(case: Case) -> list[str]:
    try:
        token = calls.token_of(await calls.create_link(case))
    # Without a link of the target, the page of an unknown token still shows how errors are
    # answered.
    except Inconclusive:
        return []
    return [] if token is None else [quote(token, safe="")]


def _rail_endpoints(case: Case, base: str) -> Iterator[Endpoint]:
    for operation in case.session.catalog.operations:
        yield Endpoint("rail", base, "POST", operation.path, operation.path, operation.body)
    if case.profile.claims.includes("rail.a2a"):
        yield Endpoint("rail", base, "POST", A2A, A2A, _greeting_body())
    for path in (CATALOG, RESOURCES, INDEX, OPENAPI, DID, JWKS):
        yield Endpoint("rail", base, "GET", path, path)


def _gateway_endpoints(case: Case, base: str) -> Iterator[Endpoint]:
    bindings = case.profile.gateway_bindings
    try:
        tenant = case.session.tenants.get()
        yield Endpoint("gateway", base, "POST", calls.LINKS, calls.LINKS, calls.link_body(case, tenant), tenant.headers)
        resource = _fill_placeholders(bindings.resource_body or {})
        yield Endpoint("gateway", base, "POST", calls.RESOURCES, calls.RESOURCES, resource, tenant.headers)
    except Inconclusive:
        for path in (calls.LINKS, calls.RESOURCES):
            yield Endpoint("gateway", base, "POST", path, path, {})
    # These operations need no credential by the interface, but a target may ask for one.
    receipt = {bindings.receipt_member or "jws": _NO_RECEIPT}
    for path, body in ((calls.RECEIPT_VERIFY, receipt), (calls.SCREEN, bindings.screen_body or {})):
        yield Endpoint("gateway", base, "POST", path, path, body, case.session.tenants.headers())
    page = calls.CHECKOUT + UNKNOWN_TOKEN
    yield Endpoint("gateway", base, "GET", page, calls.CHECKOUT + "{token}", answers_json=False)
    if bindings.jwks_path is not None:
        yield Endpoint("gateway", base, "GET", bindings.jwks_path, bindings.jwks_path)


def _document_endpoints(document: Mapping[str, Any], surface: str, base: str, tokens: list[str]) -> Iterator[Endpoint]:
    paths = document.get("paths")
    for template, item in paths.items() if isinstance(paths, dict) else ():
        for method in _METHODS:
            operation = item.get(method) if isinstance(item, dict) else None
            if not isinstance(operation, dict) or _streams(operation):
                continue
            body: dict[str, Any] | None = {} if "requestBody" in operation else None
            # A path with a parameter is called with an unknown and with a live token, because
            # both lead to different code.
            for token in tokens if "{" in template else tokens[:1]:
                yield Endpoint(
                    surface,
                    base,
                    method.upper(),
                    _fill_path(template, token),
                    template,
                    body,
                    answers_json=_says_json(operation),
                    is_stated=False,
                )


def _fill_path(template: str, token: str) -> str:
    return "/".join(token if part.startswith("{") else part for part in template.split("/"))


def _media(operation: Mapping[str, Any]) -> set[str]:
    responses = operation.get("responses")
    media: set[str] = set()
    for status, response in responses.items() if isinstance(responses, dict) else ():
        content = response.get("content") if isinstance(response, dict) else None
        # Error answers may have another media type than the operation's normal answers.
        if str(status).startswith("2") and isinstance(content, dict):
            media |= {str(one) for one in content}
    return media


def _streams(operation: Mapping[str, Any]) -> bool:
    return any(one.startswith(_STREAM) for one in _media(operation))


def _says_json(operation: Mapping[str, Any]) -> bool:
    media = _media(operation)
    return bool(media) and all(is_json_type(one) for one in media)
