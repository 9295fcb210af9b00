"""GW-TEN-04: how long a trial and a rotated key last, if the target claims to follow specification 3.9 and 3.10."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Final

from conformance.assertions.gateway.refusals import ROW as CODE_ROW
from conformance.assertions.gateway.refusals import Refusal, judge_refusal
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.engine.tenant_credentials import Credentials
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import Administrator
from conformance.surfaces.gateway.calls import LINKS, Creation, brief, is_created, link_body, name_live_values, post
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway, limited_gateway
from conformance.text.times import utc_time

_ROW: Final = "GW-TEN-04"
# Seconds before and after an end. The calls of a check on a slow machine take less.
_MARGIN: Final = 120.0
_DAY: Final = 86_400
_PROFILE_TENANTS: Final = ("first", "second")


@check(
    _ROW,
    CODE_ROW,
    surface="gateway",
    exclusive=Exclusive.LIMITS,
    fix="Compare the time with trial_ends_at only for tenants that are not approved, and with old_valid_until for "
    "rotated keys, whenever a call comes.",
)
async def trials_and_rotated_keys_end(case: Case) -> None:
    """A trial ends after its days, unless the tenant was approved, and a rotated key ends after its overlap.

    Requires a separate service with an administrator's key (`[limited.gateway]`), whose own tenants are approved.
    Creates two tenants, approves one, and rotates a key of it. Lets time pass until shortly before and shortly after
    the end of the rotated key, and then of the trial. Requests a link on a test network each time.

    Expects:

    * a trial of as many days as `[gateway] trial` says, 60 unless bound, from the creation of the tenant,
    * links with the rotated key until `old_valid_until`, and a client error afterwards,
    * links of the tenant on trial until `trial_ends_at`, and a client error afterwards,
    * links of the approved tenant with its new key at any time,
    * of a target that claims the specification, the codes of 3.2.
    """
    async with limited_gateway(case) as service:
        admin = service.find_administrator()
        if admin is None:
            for row in (_ROW, CODE_ROW):
                case.mark_not_applicable(row, "the profile names no separate service with an administrator's key")
            return
        await _require_approved(service, admin)
        payout = service.tenant("first").payout
        on_trial = await admin.create_tenant("Weldproof trial end", payout)
        record = await admin.call_successfully("GET", on_trial.id)
        started_at, ends_at = (utc_time(record.get(name)) for name in ("trial_started_at", "trial_ends_at"))
        days = (case.profile.gateway_bindings.trial or {}).get("days", 60)
        holds = started_at is not None and ends_at is not None and ends_at - started_at == dt.timedelta(days=days)
        finding = f"{record.get('trial_started_at')} to {record.get('trial_ends_at')}"
        case.expect(_ROW, holds, f"a trial of {days} days", finding)
        rotated, successor, valid_until = await _rotate(admin, await _create_approved(admin, payout))
        for key, state in ((on_trial, "on trial"), (rotated, "approved, rotated key"), (successor, "approved")):
            await _judge_link(case, service, key, state, refusal=None)
        ends = [
            (valid_until, rotated, "approved, rotated key", Refusal("a rotated key", _CALL, 401, "invalid_api_key"))
        ]
        if ends_at is not None:
            members = {"trial_ends_at": record.get("trial_ends_at")}
            expired = Refusal("a link after the trial", _CALL, 403, "trial_expired", members)
            ends.append((ends_at, on_trial, "on trial", expired))
        for end, key, state, refusal in sorted(ends, key=lambda entry: entry[0]):
            await service.advance_to(end.timestamp() - _MARGIN)
            await _judge_link(case, service, key, f"{state}, shortly before its end", refusal=None)
            await service.advance_to(end.timestamp() + _MARGIN)
            await _judge_link(case, service, key, f"{state}, after its end", refusal=refusal)
            await _judge_link(case, service, successor, f"approved, after the end: {state}", refusal=None)


_CALL: Final = ("POST", LINKS, None, dict[str, str]())


async def _require_approved(service: LimitedGateway, admin: Administrator) -> None:
    """Continue if no tenant of the profile is on trial at the service, since its trial would end here.

    Raises:
        Inconclusive: One is.
    """
    for name in _PROFILE_TENANTS:
        try:
            tenant = service.tenant(name)
        except Inconclusive:
            # The profile has no tenant of that name, so no trial can end.
            continue
        record = await admin.call_successfully("GET", tenant.id)
        if record.get("kyc_status") != "approved":
            raise Inconclusive(
                f"the tenant {name} of [limited.gateway] is not approved: its trial would end for all other checks"
            )


async def _create_approved(admin: Administrator, payout: Mapping[str, str]) -> Credentials:
    tenant = await admin.create_tenant("Weldproof approved", payout)
    await admin.approve(tenant)
    return tenant


async def _rotate(admin: Administrator, tenant: Credentials) -> tuple[Credentials, Credentials, dt.datetime]:
    """Rotate a further key of a tenant; return the tenant with the old and the new key, and when the old one ends.

    Raises:
        Inconclusive: The answer does not say when.
    """
    rotated = await admin.rotate_further_key(tenant)
    valid_until = utc_time(rotated.old_valid_until)
    if valid_until is None:
        raise Inconclusive("the rotation of a key was answered without old_valid_until")
    return rotated.old, rotated.successor, valid_until


async def _judge_link(
    case: Case, service: LimitedGateway, tenant: Credentials, state: str, *, refusal: Refusal | None
) -> None:
    """Request a link on a test network, and judge that it is created, or refused if a refusal is given."""
    answer = name_live_values(case, await post(service.call, Creation(LINKS, link_body(case, tenant), tenant)))
    holds = is_created(case, answer) if refusal is None else 400 <= answer.status < 500
    requirement = "a link" if refusal is None else "a client error"
    case.expect(_ROW, holds, requirement, brief(answer), exchange=answer, where={"tenant": state})
    if refusal is not None:
        judge_refusal(case, refusal, answer)
