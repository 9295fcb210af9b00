"""GW-DOC-02: the edge host accepts no authenticated calls. The other GW-DOC rows are documented, not tested."""

from __future__ import annotations

from conformance.assertions.gateway.nothing_created import judge_nothing_created
from conformance.engine.check import Case, check
from conformance.engine.quick_policy import COMPANION
from conformance.ledger import load
from conformance.surfaces.gateway.calls import (
    CHECKOUT,
    LINKS,
    OPEN_PATH,
    RECEIPT_VERIFY,
    SCREEN,
    Caller,
    Creation,
    bodies,
    caller_at,
    create,
    is_created,
    link_body,
    new_text,
    post,
    resource_body,
    short,
)
from conformance.vocabulary.profile_claims import SPECIFICATION

_NOT_FOUND, _OK = 404, 200


@check(
    "GW-DOC-02",
    surface="gateway",
    fix="Let the edge host forward only GET requests for public documents and pages, and answer all other requests "
    "itself.",
    quick=COMPANION,
)
async def the_edge_host_creates_nothing(case: Case) -> None:
    """An authenticated create that is sent to the edge host is not served.

    Sends good creations of a tenant, each with an Idempotency-Key, to the edge host that the profile names. Expects no
    success there, and that the key is still free at the gateway itself.

    An edge host whose operator claims the specification serves GET on the checkout, well-known and health paths alone
    (P-GW-04). Sends it these reads, and calls that need no credential but are no reads: verification of receipts,
    screening, verify, abandon and cancel of a link. Expects 200 for the reads and 404 for the others.
    """
    edge = case.profile.gateway_bindings.edge_url
    if edge is None:
        case.mark_documented("GW-DOC-02", load()["GW-DOC-02"].documented or "no edge host is named")
        return
    tenant, call, token = case.session.tenants.get(), caller_at(case, edge.rstrip("/")), ""
    for path, valid_body in bodies(case, tenant).items():
        # A control: only if the gateway creates this, a refusal by the edge host means anything.
        control = await create(case, Creation(path, valid_body, tenant))
        token = str(control.read_object().get("token", "")) if path == LINKS else token
        body = link_body(case, tenant) if path == LINKS else resource_body(case)
        creation, where = Creation(path, body, tenant, new_text(case)), {"path": path}
        answer = await post(call, creation)
        # Any 2xx counts: the edge host must not even pretend to serve the call.
        is_served = is_created(case, answer) or answer.status < 300
        case.expect("GW-DOC-02", not is_served, "not served", answer.status, exchange=answer, where=where)
        if not is_served:
            await judge_nothing_created(case, "GW-DOC-02", creation, where)
    if case.profile.claims.includes(SPECIFICATION) and token:
        await _judge_public_calls(case, call, f"{CHECKOUT}{token}")


async def _judge_public_calls(case: Case, call: Caller, link: str) -> None:
    """Judge which calls without a credential the edge host serves; `link` is the path of a checkout."""
    for path in ("/health", OPEN_PATH, "/.well-known/did.json", link, f"{link}/status", f"{link}/qr"):
        answer = await call("GET", path)
        where = {"read": path.replace(link, f"{CHECKOUT}…")}
        case.expect("GW-DOC-02", answer.status == _OK, "200", answer.status, exchange=answer, where=where)
    bodies_by_path = {
        RECEIPT_VERIFY: {"jws": "e30.e30.e30"},
        SCREEN: {"recipient_address": "screen-allow", "network": "algorand_mainnet"},
        f"{link}/verify": {"tx_id": "0" * 52},
        f"{link}/cancel": {"cancel_secret": "0" * 43},
        f"{link}/abandon": {},
    }
    for path, body in bodies_by_path.items():
        for method in ("POST", "PUT"):
            answer = await call(method, path, json_body=body)
            where = {"call": f"{method} {path.replace(link, f'{CHECKOUT}…')}"}
            finding = f"{answer.status}: {short(answer)}"
            case.expect("GW-DOC-02", answer.status == _NOT_FOUND, "404", finding, exchange=answer, where=where)
    for path in ("/openapi.json", "/dashboard", "/internal/tenants"):
        answer = await call("GET", path)
        case.expect(
            "GW-DOC-02", answer.status == _NOT_FOUND, "404", answer.status, exchange=answer, where={"call": path}
        )
