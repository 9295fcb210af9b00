"""GW-DOC-02: the edge host accepts no authenticated calls. The other GW-DOC rows are documented, not tested."""

from __future__ import annotations

from conformance.assertions.gateway.nothing_created import judge_nothing_created
from conformance.engine.check import Case, check
from conformance.engine.quick_policy import COMPANION
from conformance.ledger import load
from conformance.surfaces.gateway.calls import (
    LINKS,
    Creation,
    bodies,
    caller_at,
    create,
    is_created,
    link_body,
    new_text,
    post,
    resource_body,
)


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
    """
    edge = case.profile.gateway_bindings.edge_url
    if edge is None:
        case.mark_documented("GW-DOC-02", load()["GW-DOC-02"].documented or "no edge host is named")
        return
    tenant, call = case.session.tenants.get(), caller_at(case, edge.rstrip("/"))
    for path, valid_body in bodies(case, tenant).items():
        # A control: only if the gateway creates this, a refusal by the edge host means anything.
        await create(case, Creation(path, valid_body, tenant))
        body = link_body(case, tenant) if path == LINKS else resource_body(case)
        creation, where = Creation(path, body, tenant, new_text(case)), {"path": path}
        answer = await post(call, creation)
        # Any 2xx counts: the edge host must not even pretend to serve the call.
        is_served = is_created(case, answer) or answer.status < 300
        case.expect("GW-DOC-02", not is_served, "not served", answer.status, exchange=answer, where=where)
        if not is_served:
            await judge_nothing_created(case, "GW-DOC-02", creation, where)
