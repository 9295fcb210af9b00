"""Purchase of one paid call: challenge, payment, proof, answer. Checks and attacks start from a purchase."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer, read_retry_after
from conformance.http.refusal_details import describe_refused_body
from conformance.lanes.descriptor import Payer
from conformance.outcome import Inconclusive
from conformance.vocabulary.lanes.registry import lane_serving

# Members of an authorization that differ from run to run.
_LIVE_TERMS = ("from", "to", "validAfter", "validBefore", "nonce")
# Digits of a real time in seconds, until the year 2286.
_TIME_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Challenge:
    """One unpaid answer of the rail, with its request."""

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
        """Return the challenge tokens of the other offered lanes, by lane.

        Raises:
            Inconclusive: An entry has none.
        """
        other_lanes = [other_lane for entry in self.accepts if (other_lane := lane_of(entry)) not in {None, lane}]
        return {other_lane: self.reference(other_lane) for other_lane in other_lanes if other_lane is not None}


@dataclass(frozen=True, slots=True)
class Purchase:
    """One paid and served call, the starting point of attacks."""

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
        """The paying transaction: from the proof, or from x402's response header if the rail settles."""
        proof_transaction, headers = self.proof.get("tx_id"), self.answer.headers
        if isinstance(proof_transaction, str):
            return proof_transaction
        try:
            # Version 2 of x402 calls the header PAYMENT-RESPONSE. Version 1, whose X-PAYMENT the
            # interface uses, calls it X-PAYMENT-RESPONSE.
            value = next((headers[name] for name in ("PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE") if name in headers), "")
            settlement = json.loads(base64.b64decode(value, validate=True))
        except (ValueError, RecursionError):
            return None
        transaction = settlement.get("transaction") if isinstance(settlement, dict) else None
        return transaction if isinstance(transaction, str) and transaction else None


def lane_of(entry: Mapping[str, Any]) -> str | None:
    """Return the lane of an `accepts` entry by its network, or None if the suite does not know it."""
    network = entry.get("network")
    return lane_serving(network) if isinstance(network, str) else None


def header_value(proof: object) -> str:
    """Return the value of `X-PAYMENT`: standard base64 of the proof's JSON."""
    return base64.b64encode(json.dumps(proof, separators=(",", ":")).encode()).decode()


async def challenge(case: Case, operation: Operation, *, body: Any = None) -> Challenge:
    """Request the price of one call.

    Raises:
        Inconclusive: The answer is no 402 with `accepts`, which other checks judge.
    """
    sent_body = operation.body if body is None else body
    answer = await case.client.call("POST", operation.url, json_body=sent_body)
    accepts = answer.read_object().get("accepts")
    if answer.status != 402 or not isinstance(accepts, list):
        raise Inconclusive(f"an unpaid call of {operation.path} answered {answer.status}, not 402 with accepts")
    entries = tuple(entry for entry in accepts if isinstance(entry, dict))
    for entry in entries:
        extra = entry.get("extra")
        token = extra.get("payment_reference") if isinstance(extra, dict) else None
        if isinstance(token, str):
            # Tokens differ in every run. Their name keeps the request templates of two runs with one seed equal.
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
    """Send a request with a proof (a JSON value, or the header's raw text) and return the answer.

    `retry` marks a repetition that the target asked for, so that logs of runs do not differ by the time of blocks. If
    it is not `patient`, a 429 is returned as it is.
    """
    # A text is sent as it is, so that a check can present a malformed header.
    value = proof if isinstance(proof, str) else header_value(proof)
    case.client.names.name(value, "X_PAYMENT")
    url = operation.url + (f"?{query}" if query else "")
    sent_body = operation.body if body is None else body
    return await case.client.call(
        method, url, json_body=sent_body, headers={"X-PAYMENT": value}, retry=retry, patient=patient
    )


async def redeem(case: Case, operation: Operation, proof: object, *, body: Any = None) -> Answer:
    """Present an honest proof, again while the rail answers 402 with Retry-After, and return the answer.

    Raises:
        Inconclusive: A guessed body was refused, which says nothing about the payment.
    """
    loop = asyncio.get_running_loop()
    ends = loop.time() + case.profile.budgets.confirmation
    answer = await present(case, operation, proof, body=body)
    # A payment that the rail itself settles needs blocks after the proof, so no payer can wait for
    # them beforehand.
    while answer.status == 402 and (pause := read_retry_after(answer)) is not None:
        # A target may ask for a longer wait than the budget allows. Its last answer is then the
        # result.
        if loop.time() + pause > ends:
            break
        await asyncio.sleep(pause)
        answer = await present(case, operation, proof, body=body, retry=True)
    # The payment is spent or not, but the refusal is about the body. The guess was the suite's, so no row is judged by
    # it.
    if not operation.is_accepted and answer.status in {400, 422}:
        raise Inconclusive(
            case.session.catalog.refuse_body(operation, describe_refused_body(answer) or str(answer.status))
        )
    return answer


async def pay(case: Case, quote: Challenge, lane: str) -> dict[str, Any]:
    """Pay a challenge on a lane with the weld, and return the proof when the payment is final."""
    payer: Payer = await case.session.payers.for_rail(lane)
    proof = await payer.pay(quote.entry(lane))
    # Before the proof is sent, so that the log of the request already has the names.
    name_live_values(case, proof)
    return proof


def name_live_values(case: Case, proof: Mapping[str, Any]) -> None:
    """Give the live values of a proof names in the log."""
    for member, value in proof.items():
        if isinstance(value, str):
            case.client.names.name(value, member.upper())
    # Over A2A an authorization is JSON in the message, not one word as in a header, so its members need names.
    terms = proof.get("authorization")
    if isinstance(terms, Mapping):
        # Their values differ from run to run, so they get names. The amount and the payee's address stay readable.
        for member in _LIVE_TERMS:
            value = terms.get(member)
            # A time of another length, such as 0, was chosen by a check and is the same in each run.
            if isinstance(value, str) and not (value.isdecimal() and len(value) != _TIME_DIGITS):
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
