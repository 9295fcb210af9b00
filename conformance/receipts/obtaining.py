"""Receipts of one of two compared targets: obtained by a paid call or a screening, and verified with its keys."""

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
from conformance.oracles import hash_recipes, jose
from conformance.oracles.ed25519_keys import Ed25519Key, keys_of_jwks
from conformance.outcome import Inconclusive
from conformance.receipts.offline.comparison_rules import likely_kind
from conformance.receipts.offline.parsing import Receipt, UnreadableReceipt, parse_receipt
from conformance.receipts.verifier import fetch_key_document, receipt_in, screen_person
from conformance.report.receipt_comparison import Side
from conformance.surfaces.gateway.calls import SCREEN
from conformance.surfaces.rail.keys import published_keys
from conformance.surfaces.rail.purchase import Challenge, Purchase, buy, challenge
from conformance.surfaces.rail.receipts import claims_of, receipt_of, request_hashes
from conformance.target import Profile, ProfileError

BESIDE: Final = "beside"
# Exceptions that concern one target only. They are reported in the comparison and do not end the
# run.
OBSTACLES: Final = (Inconclusive, Unreachable, JsonFault, ProfileError)


@dataclass(frozen=True, slots=True)
class Party:
    """One of two targets.

    Attributes:
        name: Its name, which differs from the other target's.
        session: Its session.
        client: The client that calls it.
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
        """Return a case for calls to it, which judges no row."""
        # The functions of the rail and the gateway need a case, and a case needs a check.
        check = Check(BESIDE, (), surface, lane, Exclusive.NOTHING, "", _judge_nothing)
        # The body of a call must not depend on chance, or the two targets would get different
        # requests.
        rng = random.Random(self.session.seed)  # noqa: S311 - the suite's choices are repeatable
        return Case(check, self.profile, self.client, self.log, rng, self.session)


@dataclass(frozen=True, slots=True)
class ObtainedReceipt:
    """The receipt in a target's answer.

    Attributes:
        side: Its description in reports, or the reason why there is no receipt.
        receipt: The parsed receipt.
        recipe: The recipe by which one of its claims was recomputed from the request; None if no recipe fits.
        request_at: The dotted name of that claim.
        attestation: The settlement attestation of the same answer, or None.
    """

    side: Side
    receipt: Receipt | None = None
    recipe: str | None = None
    request_at: str | None = None
    attestation: ObtainedReceipt | None = None

    def attestation_or_fault(self) -> ObtainedReceipt:
        """Return the attestation, or an entry that reports that it is missing."""
        side_without = replace(
            self.side, place=None, verified=None, receipt=None, fault="its answer contains no attestation"
        )
        return self.attestation or ObtainedReceipt(side_without)


@dataclass(frozen=True, slots=True)
class Offer:
    """The price of one call at a target.

    Attributes:
        case: The case of the call.
        side: Its description in reports, or the reason why there is no offer.
        quote: The challenge, or None.
        keys: The keys that the target publishes.
    """

    case: Case
    side: Side
    quote: Challenge | None = None
    keys: Sequence[Ed25519Key] = ()


async def _judge_nothing(case: Case) -> None:
    """Judge nothing: the targets are compared only."""


async def request_offer(party: Party, operation: Operation, lane: str, body: Any) -> Offer:
    """Request the price of one call on a lane; an obstacle becomes the side's fault."""
    side, case = Side(party.name, operation.url), party.case("rail", lane)
    try:
        keys = await party.session.find_once("beside: keys of the rail", lambda: published_keys(case))
        quote = await challenge(case, operation, body=body)
        quote.entry(lane)
    except OBSTACLES as reason:
        return Offer(case, replace(side, fault=str(reason)))
    return Offer(case, side, quote, keys[0] or keys[1])


async def buy_and_take(offer: Offer) -> ObtainedReceipt:
    """Pay for an offered call, and return its payable receipt with the attestation of the same answer.

    An obstacle becomes the side's fault.
    """
    side = offer.side
    if offer.quote is None:
        return ObtainedReceipt(side)
    try:
        purchase = await buy(offer.case, offer.quote, offer.case.lane)
        side = replace(side, exchange=purchase.answer.n)
        place, token = receipt_of(offer.case, purchase)
    except OBSTACLES as reason:
        return ObtainedReceipt(replace(side, fault=str(reason)))
    obtained = replace(
        _take_receipt(replace(side, place=place), token, offer.keys),
        attestation=_attestation(side, purchase, offer.keys),
    )
    if obtained.receipt is None:
        return obtained
    recipe, claim = _find_request_binding(purchase, obtained.receipt.claims)
    return replace(obtained, recipe=recipe, request_at=claim)


async def screen_and_take(party: Party, body: Mapping[str, Any]) -> ObtainedReceipt:
    """Screen a person and return the receipt; an obstacle becomes the side's fault."""
    side, case = Side(party.name, party.session.gateway + SCREEN), party.case("gateway")
    try:
        keys = keys_of_jwks(await fetch_key_document(case))
        answer = await screen_person(case, body)
        side = replace(side, exchange=answer.n)
        place_and_token = receipt_in(case, answer)
    except OBSTACLES as reason:
        return ObtainedReceipt(replace(side, fault=str(reason)))
    if place_and_token is None:
        return ObtainedReceipt(replace(side, fault=f"the screening was answered {answer.status} without a receipt"))
    return _take_receipt(replace(side, place=place_and_token[0]), place_and_token[1], keys)


def _attestation(side: Side, purchase: Purchase, keys: Sequence[Ed25519Key]) -> ObtainedReceipt | None:
    """Return the settlement attestation in a paid answer: the first one that was not in the request."""
    request_text = json.dumps(purchase.challenge.body)
    for place, token in jose.tokens_in(purchase.answer.read_object(), purchase.answer.headers):
        if likely_kind(claims_of(token)) == "settlement_attestation" and token not in request_text:
            return _take_receipt(replace(side, place=place), token, keys)
    return None


def _take_receipt(side: Side, token: str, keys: Sequence[Ed25519Key]) -> ObtainedReceipt:
    try:
        jose.verify(token, keys)
        side = replace(side, verified=True, receipt=token)
    except jose.JwsFault as fault:
        side = replace(side, verified=False, fault=str(fault), receipt=token)
    try:
        return ObtainedReceipt(side, parse_receipt(token))
    except UnreadableReceipt as fault:
        return ObtainedReceipt(replace(side, fault=f"the receipt cannot be read: {fault}"))


def _find_request_binding(purchase: Purchase, claims: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the recipe by which a claim binds the request, and the claim's dotted name; (None, None) without one."""
    for name, digests in request_hashes(
        purchase.operation, purchase.challenge.body, purchase.challenge.accepts
    ).items():
        place = hash_recipes.find_claim(claims, digests)
        if place is not None:
            return name, place
    return None, None
