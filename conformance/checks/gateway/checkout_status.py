"""GW-CHK-19: the status of a checkout, if the target claims to follow specification 3.5.

The interface names only the page. A target that claims the option `gateway.checkout` has clients that use the further
calls below it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any

from conformance.engine.check import Case, check
from conformance.judging.gateway.status import ATTESTED, paid_status, status_at_end
from conformance.oracles import jose
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import (
    CHECKOUT,
    LINKS,
    Creation,
    brief,
    follows_records,
    is_created,
    is_refused,
    link,
    link_body,
    named,
    post,
    target_of,
    token_of,
)
from conformance.surfaces.gateway.orders import (
    Opened,
    flip,
    opened,
    payer,
    way,
)

_RETURN = "https://shop.example/thanks"
# The error type of the reference for a redirect_url outside of the tenant's own sites (3.9).
_ELSEWHERE = b"return_address"


@check(
    "GW-CHK-19",
    surface="gateway",
    lane="each",
    fix="Answer GET /checkout/{token}/status from the stored payment, with its attestation. Give the same answer to "
    "every request that names the paying transaction.",
)
async def the_status_tells_of_the_payment(case: Case) -> None:
    """The status of a link is active; after the payment it has transaction and attestation (P-CK-05, P-CK-06).

    Reads the status of a link. Expects `active` without a transaction. Cancels the link with wrong secrets. Expects
    client errors, and that it is still active.

    Pays it, reads the status until it is paid, looks at the page, and shows the paying transaction to the gateway.
    Expects:

    * `paid` with the transaction's id,
    * the settlement attestation, as an object and as a compact JWS with the same members,
    * never `paid` without either an attestation or a page that says Paid,
    * 200 with the same attestation for the transaction that is shown.

    Then abandons and cancels the link. Expects client errors, and that it is still paid.
    """
    who, link = await payer(case), await opened(case)
    url = f"{case.session.gateway}{CHECKOUT}{link.order.token}"
    before = await case.client.call("GET", f"{url}/status")
    members = before.object()
    held = before.status == 200 and members.get("status") == "active" and members.get("tx_id", "") is None
    wanted = case.profile.gateway_bindings.link_body.get("redirect_url")
    # The member redirect_url belongs to the records of 3.4, which not every target claims.
    held = held and (not follows_records(case) or members.get("redirect_url", "") == wanted)
    case.expect("GW-CHK-19", held, "200, active and no transaction", brief(before), exchange=before)
    if not await _wants_its_secret(case, link, url):
        return
    tx_id = await who.settle(link.bill, way(case))
    case.client.names.name(tx_id, "TX_ID")
    turned = await _turns_paid(case, link, url)
    if not turned and way(case) is None:
        raise Inconclusive("the page did not turn to Paid, which GW-CHK-09 judges: how a memo is carried is not bound")
    # The page and the status may be served from different replicas, so the status is waited for separately.
    after = await paid_status(case, link) or before
    members = after.object()
    paid = after.status == 200 and members.get("status") == "paid" and _same_id(members.get("tx_id"), tx_id)
    case.expect("GW-CHK-19", paid, "200, paid and the transaction", brief(after), exchange=after)
    if not turned and not paid:
        return
    fault = _unattested(members)
    case.expect("GW-CHK-19", fault is None, "the settlement attestation, twice the same", fault, exchange=after)
    shown = await case.client.call("POST", f"{url}/verify", json_body={"tx_id": tx_id})
    told = shown.object()
    held = shown.status == 200 and told.get("status") == "paid"
    held = held and all(name in told and told[name] == members.get(name) for name in ATTESTED)
    expected = "200 with the same attestation for the transaction that paid"
    case.expect("GW-CHK-19", held, expected, brief(shown), exchange=shown)
    await _stays_paid(case, link, url)


@check(
    "GW-CHK-19",
    surface="gateway",
    fix="Keep the redirect_url that a link is created with, and answer it from GET /checkout/{token}/status.",
)
async def the_status_tells_where_payers_return(case: Case) -> None:
    """The status of a link has the address to which its payer returns, as it was sent (P-CK-05).

    Creates a plain link and one with an https address as redirect_url, and reads the status of the second. Expects the
    address. If the tenant's own sites refuse it (3.4), nothing is decided; the reference has to name that reason. A
    wrong address only warns if `gateway.records` is not claimed.
    """
    tenant = case.session.tenants.get()
    await link(case, tenant)
    body = {"redirect_url": _RETURN, **link_body(case, tenant)}
    returns, ours = body["redirect_url"], case.profile.is_reference
    made = named(case, await post(target_of(case), Creation(LINKS, body, tenant)))
    if is_refused(made):
        if ours and _ELSEWHERE not in made.body:
            case.expect("GW-CHK-19", False, f"a link whose payer returns to {returns}", brief(made), exchange=made)
            return
        untried = "a redirect_url: give one that the tenant may name in [gateway] link_body"
        case.mark_not_applicable(
            "GW-CHK-19", f"a link whose payer returns to {returns} was refused", skipped_trial=untried
        )
        return
    token = token_of(made)
    if not is_created(case, made) or token is None:
        raise Inconclusive(f"no link with a token was created, which GW-LINK judges: {brief(made)}")
    status = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{token}/status")
    held = status.status == 200 and status.object().get("redirect_url") == returns
    beyond = None if follows_records(case) else "the profile does not claim the members of links (3.4)"
    case.expect("GW-CHK-19", held, f"200 and {returns}", brief(status), exchange=status, beyond=beyond)


async def _wants_its_secret(case: Case, link: Opened, url: str) -> bool:
    """Cancel an active link with wrong secrets, judge that it stays active, and return whether it did."""
    given = link.order.answer.object().get("cancel_secret")
    secret = given if isinstance(given, str) and len(given) > 1 else secrets.token_urlsafe(32)
    # The changed character is the last but one. The last one of 43 base64url characters carries two unused bits, so two
    # spellings of it may decode to the same secret.
    wrong = secret[:-2] + ("AA" if secret[-2] != "A" else "BB")
    case.client.names.secret(secret, "CANCEL_SECRET")
    case.client.names.secret(wrong, "WRONG_CANCEL_SECRET")
    bodies: Mapping[str, Mapping[str, Any]] = {
        "a wrong one": {"cancel_secret": wrong},
        "an empty one": {"cancel_secret": ""},
        "none": {},
    }
    for what, body in bodies.items():
        answer = await case.client.call("POST", f"{url}/cancel", json_body=body)
        after = await case.client.call("GET", f"{url}/status")
        held = 400 <= answer.status < 500 and after.object().get("status") == "active"
        found, where = f"{answer.status}, then {brief(after)}", {"call": "cancel", "secret": what}
        if not case.expect("GW-CHK-19", held, "a client error, still active", found, exchange=answer, where=where):
            return False
    return True


async def _turns_paid(case: Case, link: Opened, url: str) -> bool:
    """Wait until a link is paid, judge the first status `paid`, and return whether its page turns to Paid."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + case.profile.budgets.paid
    status = await status_at_end(case, lambda: case.client.call("GET", f"{url}/status"))
    # The attestation or the page may follow a moment later, so one of them is enough here. If both are missing, the
    # payment was not final yet.
    early = status.object().get("status") == "paid"
    done = await flip(case, link, seconds=0 if early else max(0.0, ends - loop.time()))
    if early:
        unattested = _unattested(status.object())
        held = unattested is None or done is not None
        found = (
            f"a page that is {'not ' if done is None else ''}Paid, and as attestation {unattested or 'the right one'}"
        )
        expected, where = "an attestation, or a page that is Paid", {"status": "the first that says paid"}
        case.expect("GW-CHK-19", held, expected, found, exchange=status, where=where)
    return done is not None or (early and await flip(case, link) is not None)


async def _stays_paid(case: Case, link: Opened, url: str) -> None:
    """Abandon a paid link, and cancel it with its secret. Judge that it stays paid."""
    secret = link.order.answer.object().get("cancel_secret")
    case.client.names.secret(str(secret), "CANCEL_SECRET")
    calls: Mapping[str, Mapping[str, Any]] = {"abandon": {}, "cancel": {"cancel_secret": secret}}
    for name, body in calls.items():
        answer = await case.client.call("POST", f"{url}/{name}", json_body=body)
        after = await case.client.call("GET", f"{url}/status")
        held = 400 <= answer.status < 500 and after.object().get("status") == "paid"
        found = f"{answer.status}, then {brief(after)}"
        case.expect("GW-CHK-19", held, "a client error, still paid", found, exchange=answer, where={"call": name})


def _same_id(told: object, tx_id: str) -> bool:
    return isinstance(told, str) and (told == tx_id or (tx_id.startswith("0x") and told.lower() == tx_id.lower()))


def _unattested(members: Mapping[str, Any]) -> str | None:
    """Return the fault of an attestation, or None if the object and the JWS have the same content."""
    told, token = (members.get(name) for name in ATTESTED)
    if not isinstance(told, dict) or not isinstance(token, str):
        return "none"
    try:
        return None if jose.parse(token).claims() == told else "two that differ"
    except jose.JwsFault as fault:
        return f"the JWS: {fault}"
