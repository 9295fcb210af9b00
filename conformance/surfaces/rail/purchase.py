"""Buying one paid call: challenge, payment, proof, answer. Checks and attacks start from a purchase."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer, retry_after
from conformance.http.refusals import refused_body
from conformance.lanes.descriptor import Payer
from conformance.outcome import Inconclusive
from conformance.vocabulary.lanes.registry import lane_serving

# Of an authorization that the rail settles: who pays, until when, and for which challenge.
_LIVE_TERMS = ("from", "to", "validBefore", "nonce")
# Digits of a time in seconds; it has eleven from the year 2286 on.
_LONGEST_TIME = 10


@dataclass(frozen=True, slots=True)
class Challenge:
    """One unpaid answer of the rail, for the request that was sent."""

    operation: Operation
    body: Any
    answer: Answer
    accepts: tuple[Mapping[str, Any], ...]

    def entry(self, lane: str) -> Mapping[str, Any]:
        """Return the `accepts` entry of a lane.

        Raises:
            Inconclusive: The challenge offers no such lane.
        """
        for entry in self.accepts:
            if lane_of(entry) == lane:
                return entry
        raise Inconclusive(f"the challenge of {self.operation.path} has no entry for the lane {lane}")

    def reference(self, lane: str) -> str:
        """Return the challenge token of a lane.

        Raises:
            Inconclusive: The entry has none.
        """
        extra = self.entry(lane).get("extra")
        token = extra.get("payment_reference") if isinstance(extra, dict) else None
        if not isinstance(token, str) or not token:
            raise Inconclusive(f"the {lane} entry of {self.operation.path} has no extra.payment_reference")
        return token

    def other_references(self, lane: str) -> dict[str, str]:
        """Return the tokens of the other lanes that are offered, by lane.

        Raises:
            Inconclusive: An entry has none.
        """
        other_lanes = [other_lane for entry in self.accepts if (other_lane := lane_of(entry)) not in {None, lane}]
        return {other_lane: self.reference(other_lane) for other_lane in other_lanes if other_lane is not None}


@dataclass(frozen=True, slots=True)
class Purchase:
    """One paid call that was served: everything an attack takes apart."""

    challenge: Challenge
    lane: str
    proof: Mapping[str, Any]
    answer: Answer

    @property
    def operation(self) -> Operation:
        """The operation that was paid for."""
        return self.challenge.operation

    @property
    def transaction(self) -> str | None:
        """The transaction that paid: the proof's, or what x402's response header tells where the rail settles.

        Version 2 names it PAYMENT-RESPONSE; version 1, whose X-PAYMENT the interface has, X-PAYMENT-RESPONSE.
        """
        proof_transaction, headers = self.proof.get("tx_id"), self.answer.headers
        if isinstance(proof_transaction, str):
            return proof_transaction
        try:
            value = next((headers[name] for name in ("PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE") if name in headers), "")
            settlement = json.loads(base64.b64decode(value, validate=True))
        except (ValueError, RecursionError):
            return None
        transaction = settlement.get("transaction") if isinstance(settlement, dict) else None
        return transaction if isinstance(transaction, str) and transaction else None


def lane_of(entry: Mapping[str, Any]) -> str | None:
    """Return the lane that an `accepts` entry belongs to by its network, or None when it is another one's."""
    network = entry.get("network")
    return lane_serving(network) if isinstance(network, str) else None


def header_value(proof: object) -> str:
    """Return the value of `X-PAYMENT`: standard base64 of the proof's JSON."""
    return base64.b64encode(json.dumps(proof, separators=(",", ":")).encode()).decode()


async def challenge(case: Case, operation: Operation, *, body: Any = None) -> Challenge:
    """Ask for the price of one request.

    Raises:
        Inconclusive: The answer is no 402 with `accepts`, which other checks judge.
    """
    sent_body = operation.body if body is None else body
    answer = await case.client.call("POST", operation.url, json_body=sent_body)
    accepts = answer.object().get("accepts")
    if answer.status != 402 or not isinstance(accepts, list):
        raise Inconclusive(f"an unpaid call of {operation.path} answered {answer.status}, not 402 with accepts")
    entries = tuple(entry for entry in accepts if isinstance(entry, dict))
    for entry in entries:
        extra = entry.get("extra")
        token = extra.get("payment_reference") if isinstance(extra, dict) else None
        if isinstance(token, str):
            case.client.names.name(token, "PAYMENT_REFERENCE")
    return Challenge(operation, sent_body, answer, entries)


async def present(
    case: Case,
    operation: Operation,
    proof: object,
    *,
    body: Any = None,
    method: str = "POST",
    query: str = "",
    retry: bool = False,
    patient: bool = True,
) -> Answer:
    """Send a request with a proof (a JSON value, or the header's text as it is) and return whatever comes back.

    `retry` says in the log that the target asked for it, so that runs are alike whatever blocks took. One
    who is not `patient` gets a 429 as it is.
    """
    value = proof if isinstance(proof, str) else header_value(proof)
    case.client.names.name(value, "X_PAYMENT")
    url = operation.url + (f"?{query}" if query else "")
    sent_body = operation.body if body is None else body
    return await case.client.call(
        method, url, json_body=sent_body, headers={"X-PAYMENT": value}, retry=retry, patient=patient
    )


async def redeem(case: Case, operation: Operation, proof: object, *, body: Any = None) -> Answer:
    """Present an honest proof, again as often as the rail says "not yet" (402 with Retry-After), and return the answer.

    A payment that the rail settles itself needs blocks, which no payer can wait for beforehand.

    Raises:
        Inconclusive: The body was refused that nobody vouched for, so that nothing is said of the payment.
    """
    loop = asyncio.get_running_loop()
    ends = loop.time() + case.profile.budgets.confirmation
    answer = await present(case, operation, proof, body=body)
    while answer.status == 402 and (pause := retry_after(answer)) is not None:
        if loop.time() + pause > ends:
            break
        await asyncio.sleep(pause)
        answer = await present(case, operation, proof, body=body, retry=True)
    if not operation.is_accepted and answer.status in {400, 422}:
        raise Inconclusive(case.session.catalog.refuse_body(operation, refused_body(answer) or str(answer.status)))
    return answer


async def pay(case: Case, quote: Challenge, lane: str) -> dict[str, Any]:
    """Pay a challenge on a lane, welded, and return the proof once the payment is final."""
    payer: Payer = await case.session.payers.for_rail(lane)
    proof = await payer.pay(quote.entry(lane))
    name_live_values(case, proof)
    return proof


def name_live_values(case: Case, proof: Mapping[str, Any]) -> None:
    """Keep the live values of a proof out of the log."""
    for member, value in proof.items():
        if isinstance(value, str):
            case.client.names.name(value, member.upper())
    # Over A2A an authorization stands in the message as it is, not in one word as in a header.
    terms = proof.get("authorization")
    if isinstance(terms, Mapping):
        for member in _LIVE_TERMS:
            value = terms.get(member)
            # An end that no clock shows is what a check made it, and alike in each run.
            if isinstance(value, str) and not (value.isdecimal() and len(value) > _LONGEST_TIME):
                case.client.names.name(value, f"AUTHORIZATION_{member.upper()}")


async def purchase(case: Case, operation: Operation, lane: str, *, body: Any = None) -> Purchase:
    """Buy one call.

    Raises:
        Inconclusive: It was not served 200, which RAIL-PAY judges.
    """
    return await buy(case, await challenge(case, operation, body=body), lane)


async def buy(case: Case, quote: Challenge, lane: str) -> Purchase:
    """Buy the call that a challenge is for.

    Raises:
        Inconclusive: It was not served 200, which RAIL-PAY judges.
    """
    proof = await pay(case, quote, lane)
    answer = await redeem(case, quote.operation, proof, body=quote.body)
    if answer.status != 200:
        path = quote.operation.path
        raise Inconclusive(f"a welded payment for {path} on {lane} was answered {answer.status}, not 200")
    return Purchase(quote, lane, proof, answer)
