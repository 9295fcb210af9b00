"""WH-SIG: every delivery is signed with its destination's secret, over its time and its raw bytes."""

from __future__ import annotations

from conformance.assertions.webhook_signature_time import judge_time
from conformance.engine.check import Case, check
from conformance.oracles.webhook_signature import HeaderFault, verify
from conformance.outcome import Inconclusive
from conformance.surfaces.webhooks.paid_links import deliveries, paid_links
from conformance.surfaces.webhooks.signature_verification import (
    header_name,
    header_of,
    key_of,
    place_of,
    signed_string,
    usable_header,
    verify_delivery,
)
from conformance.webhook_receiver.inbox import Received

# A sender that rotates its secret may send two v1. The length of v1 is judged by WH-SIG-03.
_NO_MATTER_OF_FORM = frozenset({HeaderFault.V1_TWICE, HeaderFault.V1_LENGTH})
# Changing every byte of a long body costs too many MACs. These positions are spread over the whole body.
_FLIP_COUNT = 24
# Unix seconds stay below this for three thousand years. Unix milliseconds have been above it since 1973.
_LAST_SECOND = 10**11


async def list_confirming_deliveries(case: Case) -> list[Received]:
    """Return each payment.confirmed delivery of the lane's sales."""
    return [one for sale in await paid_links(case) for one in deliveries(case, sale)]


@check(
    "WH-SIG-01",
    "WH-SIG-02",
    "WH-SIG-03",
    surface="webhooks",
    lane="each",
    fix="Send one header X-<Service>-Signature with the value t=<unix seconds>,v1=<64 hexadecimal digits>.",
)
async def a_delivery_bears_a_signature(case: Case) -> None:
    """A delivery has the header X-<Service>-Signature with t=<unix seconds>,v1=<hex>, v1 of 64 digits.

    Reads every delivery of two payments. Expects the header once, a value that begins with t and v1 in this form, and
    64 hexadecimal digits. The target may add further members after them.
    """
    for delivery in await list_confirming_deliveries(case):
        name = header_name(case, delivery)
        values = [] if name is None else list(delivery.arrival.values(name))
        expectation = f"one header {name or 'X-<Service>-Signature'}"
        is_single = case.expect("WH-SIG-01", len(values) == 1, expectation, f"{len(values)} of them", exchange=delivery)
        header = header_of(case, delivery)
        if not is_single or header is None:
            continue
        faults = [fault.value for fault in header.faults if fault not in _NO_MATTER_OF_FORM]
        if header.t is not None and header.t > _LAST_SECOND:
            faults.append("t is not a number of seconds since 1970")
        form = "t=<unix seconds>,v1=<hex>"
        case.expect("WH-SIG-02", not faults, form, ": ".join((header.value, *faults)), exchange=delivery)
        # Missing and malformed v1 break this row, too, since neither is 64 hexadecimal digits.
        length_faults = {HeaderFault.V1_LENGTH, HeaderFault.V1_NOT_HEX, HeaderFault.NO_V1} & set(header.faults)
        case.expect("WH-SIG-03", not length_faults, "64 hexadecimal digits", ", ".join(header.v1), exchange=delivery)


@check(
    "WH-SIG-04",
    "WH-SIG-08",
    surface="webhooks",
    lane="each",
    fix="Sign the bytes that you send, joined to t as the profile declares. The key is the whole text of the secret "
    "that the dashboard shows for this destination.",
)
async def a_signature_verifies(case: Case) -> None:
    """v1 verifies with the destination's secret over the declared string, with the body's bytes as they came.

    Recomputes v1 of every delivery of two payments, one of them with letters beyond ASCII. Expects it to be the
    HMAC-SHA256 of the string that the profile declares, over the delivered bytes. It must not verify if one byte of the
    body is changed. A signature over a rewritten form of the event fails.
    """
    for delivery in await list_confirming_deliveries(case):
        result = verify_delivery(case, delivery)
        where = {"destination": place_of(delivery).name}
        expectation = f"v1 over {result.string!r} with the destination's secret"
        finding = "it verifies" if result.holds else "it does not verify"
        case.expect("WH-SIG-04", result.holds, expectation, finding, exchange=delivery, hint=result.hint, where=where)
        if result.holds:
            is_broken = _find_accepted_change(case, delivery) is None
            case.expect(
                "WH-SIG-08",
                is_broken,
                "no other body verifies",
                _find_accepted_change(case, delivery),
                exchange=delivery,
                where=where,
            )
        # v1 fits a re-serialised form of the event: the sender signed other bytes than it sent.
        elif result.is_raw is False:
            expectation = "v1 over the bytes that were delivered"
            case.expect(
                "WH-SIG-08", False, expectation, "v1 over other bytes", exchange=delivery, hint=result.hint, where=where
            )
        elif result.is_raw is None:
            case.mark_inconclusive(
                "WH-SIG-08", "v1 fits no known construction, so it is unknown what it covers", exchange=delivery
            )
        else:
            case.expect(
                "WH-SIG-08", True, "v1 over the bytes that were delivered", result.hint, exchange=delivery, where=where
            )


def _find_accepted_change(case: Case, delivery: Received) -> str | None:
    """Return a changed body with which the signature still verifies, or None."""
    header, place, string = usable_header(case, delivery), place_of(delivery), signed_string(case, delivery)
    body = delivery.arrival.body
    step = max(1, len(body) // _FLIP_COUNT)
    changed_bodies = [body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :] for at in range(0, len(body), step)]
    # A sender that signs parsed or trimmed JSON ignores white space around it.
    changed_bodies += [body + b" ", b" " + body, body + b"\n", body[:-1]]
    return next(
        (
            repr(changed_body[:80])
            for changed_body in changed_bodies
            if verify(header, [key_of(case, place)], string, changed_body) is not None
        ),
        None,
    )


@check(
    "WH-SIG-05",
    surface="webhooks",
    lane="each",
    fix="Create a separate secret for each destination, and sign each delivery with the secret of its destination.",
)
async def destinations_have_secrets_of_their_own(case: Case) -> None:
    """Two destinations with different secrets get different v1 for the same event.

    Reads the deliveries of two payments at two destinations of one tenant. Expects that no v1 occurs at both, and that
    none verifies with the other destination's secret.
    """
    is_judged = False
    for sale in await paid_links(case):
        for delivery in deliveries(case, sale):
            for other_place in sale.places:
                place = place_of(delivery)
                # Two destinations that share a secret by configuration have the same v1 for good reason.
                if other_place.name == place.name or other_place.secret == place.secret:
                    continue
                is_judged = True
                header = usable_header(case, delivery)
                key = key_of(case, other_place)
                is_signed_for_other = (
                    verify(header, [key], signed_string(case, delivery), delivery.arrival.body) is not None
                )
                twins = [
                    two
                    for two in sale.confirmations(case.session.inbox, other_place)
                    if _have_same_v1(case, delivery, two)
                ]
                finding = (
                    "it verifies with it" if is_signed_for_other else f"{len(twins)} deliveries there have the same v1"
                )
                expectation = f"a v1 that does not depend on the secret of {other_place.name}"
                is_right = not is_signed_for_other and not twins
                case.expect(
                    "WH-SIG-05", is_right, expectation, finding, exchange=delivery, where={"destination": place.name}
                )
    if not is_judged:
        raise Inconclusive(
            "needs two destinations of one tenant with different secrets: give two [webhook.destinations.NAME]"
        )


def _have_same_v1(case: Case, delivery: Received, other_delivery: Received) -> bool:
    first, second = header_of(case, delivery), header_of(case, other_delivery)
    return first is not None and second is not None and bool({*first.v1} & {*second.v1})


@check(
    "WH-SIG-06",
    surface="webhooks",
    lane="each",
    fix="Set t to the time of the attempt, in seconds since 1970, and sign each attempt again.",
)
async def a_signature_is_of_its_time(case: Case) -> None:
    """The time t is within the tolerance of the time of delivery.

    Compares t of every delivery of two payments with the time of its arrival. Expects a difference within the tolerance
    (`[webhook] tolerance`, in seconds).
    """
    for sale in await paid_links(case):
        for delivery in deliveries(case, sale):
            judge_time(case, sale, delivery)
