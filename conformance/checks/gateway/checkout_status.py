"""GW-CHK-19: the status of a checkout, if the target claims to follow specification 3.5.

The interface names only the page. A target that claims the option `gateway.checkout` has clients that use the further
calls below it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any

from conformance.assertions.gateway.attestations import find_attestation_faults
from conformance.assertions.gateway.link_status import ATTESTATION_MEMBERS, read_final_status, read_paid_status
from conformance.engine.check import Case, check
from conformance.oracles import jose
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import (
    CHECKOUT,
    LINKS,
    Creation,
    brief,
    create_link,
    follows_records,
    is_created,
    is_refused,
    link_body,
    name_live_values,
    post,
    target_of,
    token_of,
)
from conformance.surfaces.gateway.orders import (
    OpenedLink,
    memo_carrier,
    open_link,
    payer,
    wait_for_paid,
)

_RETURN_URL = "https://shop.example/thanks"
# The error type of the reference for a redirect_url outside of the tenant's own sites (3.9).
_RETURN_ADDRESS_ERROR = b"return_address"


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
    * at a target that claims the specification, each member of 2.3 with the value of this payment,
    * never `paid` without either an attestation or a page that says Paid,
    * 200 with the same attestation for the transaction that is shown.

    Then abandons and cancels the link. Expects client errors, and that it is still paid.
    """
    wallet, link = await payer(case), await open_link(case)
    url = f"{case.session.gateway}{CHECKOUT}{link.order.token}"
    first_status = await case.client.call("GET", f"{url}/status")
    members = first_status.read_object()
    holds = first_status.status == 200 and members.get("status") == "active" and members.get("tx_id", "") is None
    redirect_url = case.profile.gateway_bindings.link_body.get("redirect_url")
    # The member redirect_url belongs to the records of 3.4, which not every target claims.
    holds = holds and (not follows_records(case) or members.get("redirect_url", "") == redirect_url)
    case.expect("GW-CHK-19", holds, "200, active and no transaction", brief(first_status), exchange=first_status)
    if not await _judge_wrong_secrets(case, link, url):
        return
    tx_id = await wallet.settle(link.bill, memo_carrier(case))
    case.client.names.name(tx_id, "TX_ID")
    is_turned = await _wait_until_paid(case, link, url)
    if not is_turned and memo_carrier(case) is None:
        raise Inconclusive("the page did not turn to Paid, which GW-CHK-09 judges: how a memo is carried is not bound")
    # The page and the status may be served from different replicas, so the status is waited for separately.
    paid_answer = await read_paid_status(case, link) or first_status
    members = paid_answer.read_object()
    is_paid = paid_answer.status == 200 and members.get("status") == "paid" and _is_same_id(members.get("tx_id"), tx_id)
    case.expect("GW-CHK-19", is_paid, "200, paid and the transaction", brief(paid_answer), exchange=paid_answer)
    if not is_turned and not is_paid:
        return
    fault = _attestation_fault(members)
    case.expect("GW-CHK-19", fault is None, "the settlement attestation, twice the same", fault, exchange=paid_answer)
    if case.profile.claims.specification is not None:
        faults = await find_attestation_faults(case, link, tx_id, members.get(ATTESTATION_MEMBERS[1]))
        requirement = "an attestation as 2.3 says"
        case.expect("GW-CHK-19", not faults, requirement, "; ".join(faults) or "so", exchange=paid_answer)
    # Showing the paying transaction again is idempotent: a page that is reloaded does so (P-CK-06).
    verify_answer = await case.client.call("POST", f"{url}/verify", json_body={"tx_id": tx_id})
    verify_members = verify_answer.read_object()
    holds = verify_answer.status == 200 and verify_members.get("status") == "paid"
    holds = holds and all(
        name in verify_members and verify_members[name] == members.get(name) for name in ATTESTATION_MEMBERS
    )
    requirement = "200 with the same attestation for the transaction that paid"
    case.expect("GW-CHK-19", holds, requirement, brief(verify_answer), exchange=verify_answer)
    await _judge_stays_paid(case, link, url)


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
    await create_link(case, tenant)
    body = {"redirect_url": _RETURN_URL, **link_body(case, tenant)}
    return_url, is_ours = body["redirect_url"], case.profile.is_reference
    creation_answer = name_live_values(case, await post(target_of(case), Creation(LINKS, body, tenant)))
    if is_refused(creation_answer):
        if is_ours and _RETURN_ADDRESS_ERROR not in creation_answer.body:
            case.expect(
                "GW-CHK-19",
                False,
                f"a link whose payer returns to {return_url}",
                brief(creation_answer),
                exchange=creation_answer,
            )
            return
        untried_value = "a redirect_url: give one that the tenant may name in [gateway] link_body"
        case.mark_not_applicable(
            "GW-CHK-19", f"a link whose payer returns to {return_url} was refused", skipped_trial=untried_value
        )
        return
    token = token_of(creation_answer)
    if not is_created(case, creation_answer) or token is None:
        raise Inconclusive(f"no link with a token was created, which GW-LINK judges: {brief(creation_answer)}")
    status = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{token}/status")
    holds = status.status == 200 and status.read_object().get("redirect_url") == return_url
    beyond = None if follows_records(case) else "the profile does not claim the members of links (3.4)"
    case.expect("GW-CHK-19", holds, f"200 and {return_url}", brief(status), exchange=status, beyond=beyond)


async def _judge_wrong_secrets(case: Case, link: OpenedLink, url: str) -> bool:
    """Cancel an active link with wrong secrets, judge that it stays active, and return whether it did."""
    sent_secret = link.order.answer.read_object().get("cancel_secret")
    secret = sent_secret if isinstance(sent_secret, str) and len(sent_secret) > 1 else secrets.token_urlsafe(32)
    # The changed character is the last but one. The last one of 43 base64url characters carries two unused bits, so two
    # spellings of it may decode to the same secret.
    wrong_secret = secret[:-2] + ("AA" if secret[-2] != "A" else "BB")
    case.client.names.secret(secret, "CANCEL_SECRET")
    case.client.names.secret(wrong_secret, "WRONG_CANCEL_SECRET")
    bodies: Mapping[str, Mapping[str, Any]] = {
        "a wrong one": {"cancel_secret": wrong_secret},
        "an empty one": {"cancel_secret": ""},
        "none": {},
    }
    for kind, body in bodies.items():
        answer = await case.client.call("POST", f"{url}/cancel", json_body=body)
        after = await case.client.call("GET", f"{url}/status")
        holds = 400 <= answer.status < 500 and after.read_object().get("status") == "active"
        finding, where = f"{answer.status}, then {brief(after)}", {"call": "cancel", "secret": kind}
        if not case.expect("GW-CHK-19", holds, "a client error, still active", finding, exchange=answer, where=where):
            return False
    return True


async def _wait_until_paid(case: Case, link: OpenedLink, url: str) -> bool:
    """Wait until a link is paid, judge the first status `paid`, and return whether its page turns to Paid."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + case.profile.budgets.paid
    status = await read_final_status(case, lambda: case.client.call("GET", f"{url}/status"))
    # The attestation or the page may follow a moment later, so one of them is enough here. If both are missing, the
    # payment was not final yet.
    is_early = status.read_object().get("status") == "paid"
    transition = await wait_for_paid(case, link, seconds=0 if is_early else max(0.0, deadline - loop.time()))
    if is_early:
        fault = _attestation_fault(status.read_object())
        holds = fault is None or transition is not None
        finding = (
            f"a page that is {'not ' if transition is None else ''}Paid, and as attestation {fault or 'the right one'}"
        )
        requirement, where = "an attestation, or a page that is Paid", {"status": "the first that says paid"}
        case.expect("GW-CHK-19", holds, requirement, finding, exchange=status, where=where)
    return transition is not None or (is_early and await wait_for_paid(case, link) is not None)


async def _judge_stays_paid(case: Case, link: OpenedLink, url: str) -> None:
    """Abandon a paid link, and cancel it with its secret. Judge that it stays paid."""
    secret = link.order.answer.read_object().get("cancel_secret")
    case.client.names.secret(str(secret), "CANCEL_SECRET")
    calls: Mapping[str, Mapping[str, Any]] = {"abandon": {}, "cancel": {"cancel_secret": secret}}
    for name, body in calls.items():
        answer = await case.client.call("POST", f"{url}/{name}", json_body=body)
        after = await case.client.call("GET", f"{url}/status")
        holds = 400 <= answer.status < 500 and after.read_object().get("status") == "paid"
        finding = f"{answer.status}, then {brief(after)}"
        case.expect("GW-CHK-19", holds, "a client error, still paid", finding, exchange=answer, where={"call": name})


def _is_same_id(shown_id: object, tx_id: str) -> bool:
    return isinstance(shown_id, str) and (
        shown_id == tx_id or (tx_id.startswith("0x") and shown_id.lower() == tx_id.lower())
    )


def _attestation_fault(members: Mapping[str, Any]) -> str | None:
    """Return the fault of an attestation, or None if the object and the JWS have the same content."""
    attestation, token = (members.get(name) for name in ATTESTATION_MEMBERS)
    if not isinstance(attestation, dict) or not isinstance(token, str):
        return "none"
    try:
        return None if jose.parse(token).claims() == attestation else "two that differ"
    except jose.JwsFault as fault:
        return f"the JWS: {fault}"
