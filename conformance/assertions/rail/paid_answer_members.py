"""A served call of a target that claims the specification: each member of its answer, and its repetition."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from conformance.assertions.rail.receipt_payment_claims import find_settlement
from conformance.engine.check import Case
from conformance.http.client import Answer, read_retry_after
from conformance.lanes.descriptor import Payer
from conformance.oracles import jose
from conformance.oracles.challenge_tokens import payment_reference_hash
from conformance.oracles.ed25519_keys import Ed25519Key
from conformance.oracles.hash_recipes import response_hashes, settled_refs
from conformance.oracles.member_rules import Rule, equals, find_member_faults
from conformance.oracles.rail_members import attestation_rules, find_settlement_faults, receipt_rules
from conformance.oracles.receipt_format import find_form_faults
from conformance.surfaces.rail.challenge_faults import find_origin_faults, hash_call
from conformance.surfaces.rail.purchase import Challenge, Purchase, name_live_values, present, redeem

ROW: Final = "RAIL-PAY-18"
_REPEATED: Final = "Idempotent-Replayed"
_PREFIX: Final = "sha256:"


async def judge_sale(
    case: Case,
    quote: Challenge,
    proof: Mapping[str, Any],
    keys: list[Ed25519Key],
    did: str,
    habit: str,
    *,
    address: str | None = None,
) -> None:
    """Present a proof, and judge each member and header of the answer (5.9, 2.3) and of its repetition (P-ST-04).

    Args:
        case: The case; its check names RAIL-PAY-18.
        quote: The challenge that was paid.
        proof: The proof of an honest payment.
        keys: The rail's keys.
        did: The rail's DID.
        habit: How the payer paid, in words.
        address: The paying account; the lane's payer if None.
    """
    name_live_values(case, proof)
    where = {"operation": quote.operation.path, "habit": habit}
    answer = await _redeem_slowly(case, quote, proof)
    if not case.expect(ROW, answer.status == 200, "200", answer.status, exchange=answer, where=where):
        return
    payer = await case.session.payers.for_rail(case.lane)
    sale = Purchase(quote, case.lane, proof, answer)
    settlement = await find_settlement(sale, payer)
    faults = _find_answer_faults(case, sale, payer, keys, did, settlement.tx_id if settlement.by_chain else None)
    faults += _find_header_faults(sale, address or payer.address, settlement.tx_id if settlement.by_chain else None)
    case.expect(ROW, not faults, "a paid answer as 5.9 says", "; ".join(faults) or "so", exchange=answer, where=where)
    repeated = await present(case, quote.operation, dict(proof), body=quote.body)
    faults = _find_repetition_faults(answer, repeated)
    where["call"] = "the same again"
    expectation = "the stored answer, as P-ST-04 says"
    case.expect(ROW, not faults, expectation, "; ".join(faults) or "so", exchange=repeated, where=where)


async def _redeem_slowly(case: Case, quote: Challenge, proof: Mapping[str, Any]) -> Answer:
    """Present a proof, again while the rail answers that its payment is at work (P-ST-05)."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + case.profile.budgets.confirmation
    answer = await redeem(case, quote.operation, proof, body=quote.body)
    while True:
        # Many settlements at once on a busy machine can take longer than the rail waits inside a call.
        wait = read_retry_after(answer) if answer.status in {409, 503} else None
        if wait is None or loop.time() + wait > ends:
            return answer
        await asyncio.sleep(wait)
        answer = await present(case, quote.operation, dict(proof), body=quote.body, retry=True)


def _find_answer_faults(
    case: Case, sale: Purchase, payer: Payer, keys: list[Ed25519Key], did: str, tx_id: str | None
) -> list[str]:
    quote, lane = sale.challenge, sale.lane
    entry, token = quote.entry(lane), quote.reference(lane)
    body = sale.answer.read_object()
    network = getattr(payer, "network_key", "")
    result_hashes = response_hashes(sale.answer.body, body.get("result"))["jcs-result"]
    hashes = {
        "request_hash": _choose_one(hash_call(case, quote.operation, quote.body, quote.accepts)),
        "response_hash": _choose_one(result_hashes),
    }
    # If the rail settles and the chain does not show the transaction, the client cannot compute this hash. Then receipt
    # and body are only compared with each other.
    if tx_id is not None:
        references = settled_refs(case.profile.service_word, tx_id, network, token)
        hashes["settled_payment_ref"] = _choose_one(references["payable-core"])
    else:
        hashes["settled_payment_ref"] = str(body.get("settled_payment_ref"))
    service_id = str(quote.operation.role)
    is_present = Rule("present", lambda _: True)
    tokens = ("payable_receipt", "settlement_attestation")
    rules = {
        "service_id": equals(service_id),
        "result": is_present,
        **dict.fromkeys(tokens, is_present),
        **{name: equals(value) for name, value in hashes.items()},
    }
    faults = find_member_faults(body, rules, "the body")
    claims_by_name: dict[str, Mapping[str, Any]] = {}
    for name in tokens:
        fault = jose.fault_of(str(body.get(name)), keys)
        if fault is not None:
            faults.append(f"{name}: {fault}")
        else:
            claims_by_name[name] = jose.parse(str(body[name])).claims()
            faults += [f"{name}: {one}" for one in find_form_faults(str(body[name]), keys)]
    receipt = claims_by_name.get("payable_receipt")
    if receipt is not None:
        expected = {
            **hashes,
            "service_id": service_id,
            "payment_reference_hash": payment_reference_hash(token),
            "network": entry.get("network"),
            "asset": entry.get("asset"),
            "pay_to": entry.get("payTo"),
            "amount_microunits": entry.get("maxAmountRequired"),
        }
        faults += find_member_faults(
            receipt, receipt_rules(expected, did, case.profile.service_word), "payable_receipt"
        )
        # P-CV-04: both members state the same instant.
        if int(receipt.get("issued_at_ms") or 0) // 1000 != receipt.get("iat"):
            faults.append("payable_receipt.iat is not the second of issued_at_ms")
    attestation = claims_by_name.get("settlement_attestation")
    if attestation is not None:
        expected = {
            "settled_payment_ref": hashes["settled_payment_ref"],
            "settlement_chain": network,
            "settlement_amount": {"amount_minor": entry.get("maxAmountRequired"), "asset_id": entry.get("asset")},
        }
        faults += find_member_faults(attestation, attestation_rules(expected, did), "settlement_attestation")
    return faults


def _choose_one(values: Iterable[str]) -> str:
    """Return the hash reference among the spellings of a digest."""
    return next(one for one in sorted(values) if one.startswith(_PREFIX))


def _find_header_faults(sale: Purchase, address: str, tx_id: str | None) -> list[str]:
    entry = sale.challenge.entry(sale.lane)
    expected = {
        "network": entry.get("network"),
        "payer": address,
        "amount": entry.get("maxAmountRequired"),
        **({} if tx_id is None else {"transaction": tx_id}),
    }
    headers = sale.answer.headers
    faults = find_settlement_faults(headers.get("PAYMENT-RESPONSE"), expected)
    words = {one.strip().lower() for one in headers.get("Cache-Control", "").split(",")}
    # The order of directives has no meaning (RFC 9111, 5.2).
    faults += [] if words == {"private", "no-store"} else ["Cache-Control is not private, no-store"]
    if "PAYMENT-REQUIRED" in headers:
        faults.append("PAYMENT-REQUIRED, although it is paid")
    return faults + find_origin_faults(sale.answer)


def _find_repetition_faults(first: Answer, repeated: Answer) -> list[str]:
    """Return how a stored answer differs from the first one (P-ST-04)."""
    if repeated.status != 200:
        return [f"status {repeated.status}"]
    faults = [] if repeated.body == first.body else ["other bytes"]
    if repeated.headers.get(_REPEATED) != "true":
        faults.append(f"no {_REPEATED}: true")
    # P-CV-17: a stored answer has an id of its own.
    if repeated.headers.get("X-Request-Id") in {None, first.headers.get("X-Request-Id")}:
        faults.append("no X-Request-Id of its own")
    faults += [
        f"another {name}"
        for name in ("PAYMENT-RESPONSE", "Content-Type", "Cache-Control")
        if repeated.headers.get(name) != first.headers.get(name)
    ]
    return faults + find_origin_faults(repeated)
