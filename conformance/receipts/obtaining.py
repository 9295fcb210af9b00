"""Taking a receipt from a target that is one of two: by a paid call or a screening, verified with its own keys."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from conformance.discovery.rail import Operation
from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.session import Session
from conformance.http.client import Client, JsonFault, Unreachable
from conformance.log.events import EventLog
from conformance.oracles import hashing, jose
from conformance.oracles.keys import Ed25519Key, keys_of_jwks
from conformance.outcome import Inconclusive
from conformance.receipts.offline.comparison_rules import likely_kind
from conformance.receipts.offline.parsing import Receipt, UnreadableReceipt, taken_apart
from conformance.receipts.verifier import published, receipt_in, screened
from conformance.report.side_by_side import Side
from conformance.surfaces.gateway.calls import SCREEN
from conformance.surfaces.rail.keys import published_keys
from conformance.surfaces.rail.purchase import Challenge, Purchase, buy, challenge
from conformance.surfaces.rail.receipts import claims_of, receipt_of, request_hashes
from conformance.target import Profile, ProfileError

BESIDE: Final = "beside"
CANNOT: Final = (Inconclusive, Unreachable, JsonFault, ProfileError)


@dataclass(frozen=True, slots=True)
class Party:
    """One of two targets.

    Attributes:
        name: Its name, another than the other's.
        session: Its session.
        client: What calls it.
        log: The log of the run.
    """

    name: str
    session: Session
    client: Client
    log: EventLog

    @property
    def profile(self) -> Profile:
        """Its profile."""
        return self.session.profile

    def case(self, surface: str, lane: str | None = None) -> Case:
        """Return a case in which it is called; no row is judged there."""
        check = Check(BESIDE, (), surface, lane, Exclusive.NOTHING, "", _judge_nothing)
        rng = random.Random(self.session.seed)  # noqa: S311 - the suite's choices are repeatable
        return Case(check, self.profile, self.client, self.log, rng, self.session)


@dataclass(frozen=True, slots=True)
class Taken:
    """The receipt that a target answered with.

    Attributes:
        side: What reports show of it, or why there is no receipt.
        receipt: The receipt, taken apart.
        recipe: The recipe by which one of its claims was recomputed from the request; None if no recipe fits.
        request_at: The dotted name of that claim.
        attestation: The settlement attestation of the same answer, or None.
    """

    side: Side
    receipt: Receipt | None = None
    recipe: str | None = None
    request_at: str | None = None
    attestation: Taken | None = None

    def attested(self) -> Taken:
        """Return the attestation, or an entry that reports that it is missing."""
        lacking = replace(
            self.side, place=None, verified=None, receipt=None, fault="its answer contains no attestation"
        )
        return self.attestation or Taken(lacking)


@dataclass(frozen=True, slots=True)
class Offer:
    """The price of one call at a target.

    Attributes:
        case: In which it is called.
        side: What reports show of it, or why there is no offer.
        quote: The challenge, or None.
        keys: The keys that the target publishes.
    """

    case: Case
    side: Side
    quote: Challenge | None = None
    keys: Sequence[Ed25519Key] = ()


async def _judge_nothing(case: Case) -> None:
    """Two targets are compared, not judged."""


async def offered(party: Party, operation: Operation, lane: str, body: Any) -> Offer:
    """Ask for the price of one call on a lane; an obstacle becomes the side's fault."""
    side, case = Side(party.name, operation.url), party.case("rail", lane)
    try:
        keys = await party.session.find_once("beside: keys of the rail", lambda: published_keys(case))
        quote = await challenge(case, operation, body=body)
        quote.entry(lane)
    except CANNOT as reason:
        return Offer(case, replace(side, fault=str(reason)))
    return Offer(case, side, quote, keys[0] or keys[1])


async def bought(offer: Offer) -> Taken:
    """Pay for an offered call and take its payable receipt, with the attestation that comes along.

    An obstacle becomes the side's fault.
    """
    side = offer.side
    if offer.quote is None:
        return Taken(side)
    try:
        served = await buy(offer.case, offer.quote, offer.case.lane)
        side = replace(side, exchange=served.answer.n)
        place, token = receipt_of(offer.case, served)
    except CANNOT as reason:
        return Taken(replace(side, fault=str(reason)))
    taken = replace(
        _taken(replace(side, place=place), token, offer.keys), attestation=_attestation(side, served, offer.keys)
    )
    if taken.receipt is None:
        return taken
    recipe, claim = _binding(served, taken.receipt.claims)
    return replace(taken, recipe=recipe, request_at=claim)


async def screening(party: Party, body: Mapping[str, Any]) -> Taken:
    """Screen a person and take the receipt; an obstacle becomes the side's fault."""
    side, case = Side(party.name, party.session.gateway + SCREEN), party.case("gateway")
    try:
        keys = keys_of_jwks(await published(case))
        answer = await screened(case, body)
        side = replace(side, exchange=answer.n)
        found = receipt_in(case, answer)
    except CANNOT as reason:
        return Taken(replace(side, fault=str(reason)))
    if found is None:
        return Taken(replace(side, fault=f"the screening was answered {answer.status} without a receipt"))
    return _taken(replace(side, place=found[0]), found[1], keys)


def _attestation(side: Side, served: Purchase, keys: Sequence[Ed25519Key]) -> Taken | None:
    """Take the settlement attestation of a paid answer: the first token that is one, and was not in the request."""
    sent = json.dumps(served.challenge.body)
    for place, token in jose.tokens_in(served.answer.read_object(), served.answer.headers):
        if likely_kind(claims_of(token)) == "settlement_attestation" and token not in sent:
            return _taken(replace(side, place=place), token, keys)
    return None


def _taken(side: Side, token: str, keys: Sequence[Ed25519Key]) -> Taken:
    try:
        jose.verify(token, keys)
        side = replace(side, verified=True, receipt=token)
    except jose.JwsFault as fault:
        side = replace(side, verified=False, fault=str(fault), receipt=token)
    try:
        return Taken(side, taken_apart(token))
    except UnreadableReceipt as fault:
        return Taken(replace(side, fault=f"the receipt cannot be read: {fault}"))


def _binding(served: Purchase, claims: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the recipe by which a claim binds the request that was sent, and the claim's dotted name, or two None."""
    for name, digests in request_hashes(served.operation, served.challenge.body, served.challenge.accepts).items():
        place = hashing.find_claim(claims, digests)
        if place is not None:
            return name, place
    return None, None
