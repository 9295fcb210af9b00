"""GW-IDEM-09 and -10: an Idempotency-Key is bound for 24 hours."""

from __future__ import annotations

from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.judging.gateway.originals import differences, identity, judge_original
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import (
    LINKS,
    RESOURCES,
    Creation,
    created,
    fresh,
    link_body,
    named,
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
        ending = {"expires_in_seconds": _MINUTE} if "gateway.checkout" in case.profile.claims.options else {}
        # `early` is repeated inside the window, `late` is not. A server that extends the window on a repeat still
        # returns the original of `early` after 24 hours.
        early, late = (Creation(LINKS, link_body(case, tenant, **one), tenant, fresh(case)) for one in (ending, {}))
        started, inside = service.now, [early]
        if case.profile.gateway_bindings.resource_body is not None:
            inside.append(Creation(RESOURCES, resource_body(case), tenant, fresh(case)))
        originals = [await created(case, one, service.call) for one in inside]
        unrepeated = await created(case, late, service.call)
        await service.advance(_DAY - _MARGIN)
        repeats = [named(case, await post(service.call, one)) for one in inside]
        # The clock runs on while the calls are answered. On a slow service the repeats would be outside of the window.
        if service.now - started > _DAY:
            raise Inconclusive(f"a few calls took more than {_MARGIN} s: the day was over before they were repeated")
        for one, original, answer in zip(inside, originals, repeats, strict=True):
            judge_original(case, "GW-IDEM-09", one, original, answer)
        await service.advance(2 * _MARGIN)
        for one, original, repeated in ((late, unrepeated, "never"), (early, originals[0], "just inside of 24 hours")):
            answer = named(case, await post(service.call, one))
            first, again = (identity(LINKS, found, one.body) for found in (original, answer))
            free, where = "token" in differences(first, again), {"repeated before": repeated}
            found = f"{answer.status} with its token"
            case.expect("GW-IDEM-10", free, "not the original", found, exchange=answer, where=where)
