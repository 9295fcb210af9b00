"""GW-KEY-02: a rotation of the gateway's key, if it claims the specification (P-KY-04, P-KY-08, P-CK-06)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.assertions.gateway.link_status import ATTESTATION_MEMBERS, read_paid_status
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.oracles import jose
from conformance.oracles.ed25519_keys import Ed25519Key, keys_of_jwks
from conformance.oracles.key_documents import find_did_faults, find_key_set_faults
from conformance.oracles.receipt_format import find_form_faults
from conformance.receipts.material import Vector
from conformance.receipts.verifier import find_verifier, receipt_in, screen_person
from conformance.surfaces.gateway.calls import CHECKOUT, OPEN_PATH, target_of
from conformance.surfaces.gateway.key_documents import DID, JWKS
from conformance.surfaces.gateway.orders import OpenedLink, on_first_lane, open_link, pay_rightly, payer
from conformance.surfaces.restarts import leave_without_restart, start_again

ROW: Final = "GW-KEY-02"
_TOKEN: Final = ATTESTATION_MEMBERS[1]


@check(
    ROW,
    surface="gateway",
    exclusive=Exclusive.RESTART,
    fix="Publish the new key first and the retired ones behind it, newest first. Sign with the new key from now on. "
    "Keep every attestation as it was signed.",
    quick=OWN_PROCESSES,
)
async def a_rotation_keeps_what_was_signed(case: Case) -> None:
    """After a rotation the new key signs, and what older keys signed still verifies and stays as it was.

    Screens a person and pays a link, and reads the link's attestation. Rotates the gateway's key by the profile's
    command, twice, and screens a person after each time. Expects the newest key first in the key set and the others in
    their order behind it, all of them in the DID document, and only the newest one with leave to sign. Expects that it
    signed the last screening, that each receipt verifies at the gateway and offline with the published set, and the
    same attestation from the status of the link and for the transaction that paid it.
    """
    words = case.profile.surfaces["gateway"].rotate_key
    if words is None:
        leave_without_restart(case, "gateway", "rotate_key")
        return
    lane_case = await on_first_lane(case)
    link = await open_link(lane_case)
    await pay_rightly(lane_case, await payer(lane_case), link)
    status = await read_paid_status(lane_case, link)
    key_list = keys_of_jwks((await target_of(case)("GET", JWKS)).read_object())
    receipts = [await _screen(case)]
    for _ in range(2):
        await start_again(case, words, case.session.gateway + OPEN_PATH)
        receipts.append(await _screen(case))
        answer = await target_of(case)("GET", JWKS)
        keys = keys_of_jwks(answer.read_object())
        faults = [*find_key_set_faults(answer.read_object()), *_find_order_faults(keys, key_list)]
        _expect(case, answer, faults, "the key set")
        key_list = keys
    await _judge_documents(case, key_list, receipts)
    if status is not None:
        await _judge_attestation(case, link, status, key_list)


def _expect(case: Case, answer: Answer, faults: list[str], subject: str) -> None:
    expectation, where = "as P-KY-04 and P-KY-08 say", {"after a rotation": subject}
    case.expect(ROW, not faults, expectation, "; ".join(faults) or "so", exchange=answer, where=where)


async def _screen(case: Case) -> str:
    place_and_token = receipt_in(case, await screen_person(case))
    return "" if place_and_token is None else place_and_token[1]


def _find_order_faults(keys: list[Ed25519Key], before: list[Ed25519Key]) -> list[str]:
    """Return what of a key set after a rotation is not one new key in front of those from before."""
    raw_keys, raw_before = [key.raw for key in keys], [key.raw for key in before]
    faults = [] if raw_keys[1:] == raw_before else ["the keys from before do not follow in their order"]
    return faults + (["no new key in front"] if not raw_keys or raw_keys[0] in raw_before else [])


async def _judge_documents(case: Case, keys: list[Ed25519Key], receipts: list[str]) -> None:
    identity = await target_of(case)("GET", DID)
    members: Mapping[str, Any] = identity.read_object()
    _expect(case, identity, find_did_faults(members, str(members.get("id")), keys, {}), "the DID document")
    verifier = await find_verifier(case)
    for number, token in enumerate(receipts):
        answer = await verifier.present(case, Vector("from around a rotation", ROW, token, valid=True))
        faults = [] if answer.status == 200 else [f"the gateway answers {answer.status}"]
        fault = jose.fault_of(token, keys)
        faults += [] if fault is None else [f"offline: {fault}"]
        if number == len(receipts) - 1 and fault is None:
            faults += find_form_faults(token, keys)
        _expect(case, answer, faults, f"the receipt after {number} rotations")


async def _judge_attestation(case: Case, link: OpenedLink, status: Answer, keys: list[Ed25519Key]) -> None:
    url = f"{case.session.gateway}{CHECKOUT}{link.order.token}"
    token, tx_id = (status.read_object().get(name) for name in (_TOKEN, "tx_id"))
    answers = {
        "its status": await case.client.call("GET", f"{url}/status"),
        "verify": await case.client.call("POST", f"{url}/verify", json_body={"tx_id": tx_id}),
    }
    for name, answer in answers.items():
        faults = [] if answer.read_object().get(_TOKEN) == token else ["another attestation than before"]
        fault = jose.fault_of(str(token), keys)
        _expect(case, answer, [*faults, *([] if fault is None else [fault])], f"the attestation of a link by {name}")
