"""GW-IDEM-09 and -10: an Idempotency-Key is bound for 24 hours."""

from __future__ import annotations

from conformance.assertions.gateway.originals import find_differences, judge_original, read_identity
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import (
    LINKS,
    RESOURCES,
    Creation,
    create,
    link_body,
    name_live_values,
    new_text,
    post,
    resource_body,
)
from conformance.surfaces.gateway.rate_limited_gateway import limited_gateway

_MINUTE, _DAY = 60, 86_400
_MARGIN = 30


@check(
    "GW-IDEM-09",
    "GW-IDEM-10",
    surface="gateway",
    exclusive=Exclusive.LIMITS,
    fix="Keep stored answers for 24 hours from the first call, by the service's clock, and then forget them. A repeat "
    "does not extend the time.",
)
async def a_key_is_bound_for_a_day(case: Case) -> None:
    """A replay just inside 24 hours returns the original; a replay after 24 hours is no longer bound to it.

    Creates links and a resource, each with a key. Lets 24 hours less half a minute pass and repeats some of them. Lets
    one more minute pass and repeats two links: one that was repeated before and one that was not. Expects the originals
    first, and then new links, because the hours count from the first call. If the target claims the calls of a
    checkout, one of the links has expired after a minute.
    """
    async with limited_gateway(case) as service:
        tenant = service.lasting_tenant()
        short_lifetime = {"expires_in_seconds": _MINUTE} if case.profile.claims.includes("gateway.checkout") else {}
        # `early_link` is repeated inside the window, `late_link` is not. A server that extends the window then still
        # returns the original of `early_link` after 24 hours.
        early_link, late_link = (
            Creation(LINKS, link_body(case, tenant, **creation), tenant, new_text(case))
            for creation in (short_lifetime, {})
        )
        start_time, inside_creations = service.now, [early_link]
        if case.profile.gateway_bindings.resource_body is not None:
            inside_creations.append(Creation(RESOURCES, resource_body(case), tenant, new_text(case)))
        originals = [await create(case, creation, service.call) for creation in inside_creations]
        unrepeated_answer = await create(case, late_link, service.call)
        await service.advance(_DAY - _MARGIN)
        repeats = [name_live_values(case, await post(service.call, creation)) for creation in inside_creations]
        # The clock runs on while the calls are answered. On a slow service the repeats would be outside of the window.
        if service.now - start_time > _DAY:
            raise Inconclusive(f"a few calls took more than {_MARGIN} s: the day was over before they were repeated")
        for creation, original, answer in zip(inside_creations, originals, repeats, strict=True):
            judge_original(case, "GW-IDEM-09", creation, original, answer)
        await service.advance(2 * _MARGIN)
        for creation, original, repeat_time in (
            (late_link, unrepeated_answer, "never"),
            (early_link, originals[0], "just inside of 24 hours"),
        ):
            answer = name_live_values(case, await post(service.call, creation))
            first, again = (read_identity(LINKS, finding, creation.body) for finding in (original, answer))
            is_free, where = "token" in find_differences(first, again), {"repeated before": repeat_time}
            finding = f"{answer.status} with its token"
            case.expect("GW-IDEM-10", is_free, "not the original", finding, exchange=answer, where=where)
