"""GW-RES-01 and -02: the endpoint that creates resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.engine.check import Case, check
from conformance.surfaces.gateway.calls import (
    RESOURCES,
    Creation,
    expect_created,
    name_live_values,
    post,
    resource_body,
    target_of,
)


@check(
    "GW-RES-01",
    surface="gateway",
    fix="Serve POST /v1/resources at exactly this path; a body that does not fit is a validation error, not a 404.",
)
async def resources_exist(case: Case) -> None:
    """POST /v1/resources exists: an authenticated JSON call is never answered 404 or 405.

    Posts an empty object, objects with unknown members and, if one is bound, a valid body, as each tenant of the
    profile. Expects any answer but 404 and 405.
    """
    # Each tenant, because an endpoint may be enabled for some of them only.
    tenants = [case.session.tenants.get(name) for name in case.profile.tenants] or [case.session.tenants.get()]
    for tenant in tenants:
        bodies: list[Mapping[str, Any]] = [{}, {"name": "x"}, {"unknown": {"deep": [1]}}]
        if case.profile.gateway_bindings.resource_body is not None:
            bodies.append(resource_body(case))
        for body in bodies:
            answer = name_live_values(case, await post(target_of(case), Creation(RESOURCES, body, tenant)))
            is_served, where = answer.status not in {404, 405}, {"tenant": tenant.name}
            case.expect("GW-RES-01", is_served, "neither 404 nor 405", answer.status, exchange=answer, where=where)


@check(
    "GW-RES-02",
    surface="gateway",
    fix="Create the resource that the documented body describes and answer 200, 201 or 202 with a JSON object.",
)
async def a_resource_is_created(case: Case) -> None:
    """POST /v1/resources creates a resource from the body that the profile gives.

    Posts the bound body twice, each time with new unique texts. Expects success with a JSON object each time.
    """
    tenant = case.session.tenants.get()
    for _ in range(2):
        answer = name_live_values(case, await post(target_of(case), Creation(RESOURCES, resource_body(case), tenant)))
        expect_created(case, "GW-RES-02", RESOURCES, answer, "a created resource")
