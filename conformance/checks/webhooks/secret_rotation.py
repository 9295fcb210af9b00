"""WH-SIG-04 over the life of a secret: a destination's new secret signs after a rotation (P-WH-07).

Only an administrator can rotate a secret, so the check makes a separate tenant with a separate destination.
"""

from __future__ import annotations

import asyncio

from conformance.engine.check import Case, check
from conformance.engine.quick_policy import WAITS
from conformance.engine.tenant_credentials import Credentials
from conformance.oracles.webhook_signature import SignatureHeader, verify
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import Administrator
from conformance.surfaces.gateway.orders import memo_carrier, network_of, on_first_lane, open_link, payer
from conformance.surfaces.webhooks.constructions import find_usual_string
from conformance.surfaces.webhooks.mac_keys import mac_key
from conformance.surfaces.webhooks.own_tenant_destinations import (
    confirms_link,
    explain_unavailability,
    own_destination,
    read_arrival,
)
from conformance.surfaces.webhooks.signature_verification import usable_header
from conformance.webhook_receiver.inbox import Received
from conformance.webhook_receiver.raw_receiver import Receiver

# A gateway with several processes may cache a destination's secret for this long.
_CACHE_SECONDS = 3.0
# The second rotation finds a gateway that always signs with the first secret that it replaced.
_ROTATIONS = 2


@check(
    "WH-SIG-04",
    surface="webhooks",
    quick=WAITS,
    fix="Read a destination's secret for each attempt, so that a rotated secret signs no more.",
)
async def a_rotated_secret_signs_no_more(case: Case) -> None:
    """After a rotation v1 verifies with the destination's new secret, and not with the one before.

    If an administrator can, makes a tenant with one destination on this machine, and pays a link. As a control, v1 of
    its event must verify with the destination's secret. Rotates the secret twice, and pays a link after each rotation.
    Expects that v1 verifies with the newest secret. If no secret can be rotated, other checks decide.
    """
    reason = explain_unavailability(case)
    if reason is None:
        try:
            await _judge_rotations(case)
        except Inconclusive as fault:
            reason = f"no secret of a destination on this machine could be rotated: {fault}"
    if reason is not None:
        case.mark_not_applicable("WH-SIG-04", reason)


async def _judge_rotations(case: Case) -> None:
    """Judge the row on a tenant that the check makes.

    Raises:
        Inconclusive: The tenant could not be made or paid, its secret could not be rotated, or v1 of its first event
        does
            not verify.
    """
    lane_case = await on_first_lane(case)
    async with own_destination(case, "Weldproof rotated secret", network_of(lane_case)) as own:
        admin, tenant, receiver = own.admin, own.tenant, own.receiver
        destination, secret = own.creation.get("destination_id"), own.creation.get("secret")
        if not isinstance(destination, str) or not isinstance(secret, str):
            raise Inconclusive("a destination was made without destination_id or secret")
        # The control shows how this gateway builds v1 before any rotation, so that a later mismatch is due to the
        # secret.
        first = await _pay_and_await_event(lane_case, receiver, tenant)
        signed_string = _find_signed_string(case, first, secret)
        for rotation in range(1, _ROTATIONS + 1):
            old_secret, secret = secret, await _rotate(admin, tenant, destination)
            await asyncio.sleep(_CACHE_SECONDS)
            try:
                event = await _pay_and_await_event(lane_case, receiver, tenant)
                header, body = usable_header(case, event), event.arrival.body
            except Inconclusive as fault:
                case.mark_inconclusive("WH-SIG-04", f"after the rotation of a secret: {fault}")
                return
            is_new = _is_valid(case, header, secret, signed_string, body)
            # A signature that fits neither secret shows a fault of the construction, which other checks of the row
            # judge.
            if not is_new and not _is_valid(case, header, old_secret, signed_string, body):
                case.mark_inconclusive(
                    "WH-SIG-04", "after the rotation of a secret, v1 verifies with neither of the two"
                )
                return
            finding = "it verifies" if is_new else "it verifies with the secret before the rotation"
            where = {"destination": "one whose secret was rotated", "rotation": str(rotation)}
            case.expect("WH-SIG-04", is_new, "v1 with the destination's new secret", finding, where=where)


async def _pay_and_await_event(case: Case, receiver: Receiver, tenant: Credentials) -> Received:
    """Pay a link of the tenant and return its event.

    Raises:
        Inconclusive: No event arrived, which WH-DELIV-02 judges.
    """
    link = await open_link(case, network=network_of(case), tenant=tenant)
    case.client.names.name(await (await payer(case)).settle(link.bill, memo_carrier(case)), "TX_ID")
    arrivals = await receiver.next(lambda one: confirms_link(one, link), seconds=case.profile.budgets.paid)
    if not arrivals:
        raise Inconclusive("no event reached a newly configured destination, which WH-DELIV-02 judges")
    return read_arrival(arrivals[0])


async def _rotate(admin: Administrator, tenant: Credentials, destination: str) -> str:
    """Rotate a destination's secret and return the new one.

    Raises:
        Inconclusive: The answer contains no new secret.
    """
    secret = (await admin.call_successfully("POST", tenant.id, "webhooks", destination, "rotate")).get("secret")
    if not isinstance(secret, str):
        raise Inconclusive("the answer to the rotation of a secret contains no secret")
    return secret


def _find_signed_string(case: Case, event: Received, secret: str) -> str:
    """Return the string that v1 covers, as the profile binds it or as the first event shows it.

    Raises:
        Inconclusive: v1 does not verify with the secret of a newly configured destination.
    """
    header, body = usable_header(case, event), event.arrival.body
    string = case.profile.webhook_bindings.signed_string or find_usual_string(header, _derive_key(case, secret), body)
    if string is None or "{body}" not in string or not _is_valid(case, header, secret, string, body):
        raise Inconclusive("v1 of the control, an event before the rotation, does not verify, which WH-SIG-04 judges")
    return string


def _is_valid(case: Case, header: SignatureHeader, secret: str, string: str, body: bytes) -> bool:
    return verify(header, [_derive_key(case, secret)], string, body) is not None


def _derive_key(case: Case, secret: str) -> bytes:
    # Without a binding the key is the bytes of the whole secret text, its prefix included (P-WH-05).
    return mac_key(secret, case.profile.webhook_bindings.key or "text")
