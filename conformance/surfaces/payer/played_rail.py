"""Played rail for payers: it quotes, judges payments on the chain, answers by a script, and records every call."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

from conformance.lanes.tested_payer_accounts import PayerHost
from conformance.oracles.forging import Signer
from conformance.oracles.strict_json import JsonTextFault, json_text
from conformance.oracles.welds.refusal_stages import FINALITY, PaymentRefusal
from conformance.surfaces.payer.idle_detection import IdleWatch
from conformance.surfaces.payer.quotes import JWKS, PATH, Change, Quote, QuoteDesk, Terms, keep, to_header
from conformance.webhook_receiver.raw_receiver import HANG_UP, SILENCE, Arrival, Receiver, Reply, redirect

_JSON: Final = ("Content-Type", "application/json")
_PRIVATE: Final = ("Cache-Control", "no-store")
# A payer may present its proof before the transaction is final. The rail waits for it, so that no scene depends on
# the speed of the payer or of the chain.
_FINAL_SECONDS: Final = 8.0
_POLL_SECONDS: Final = 0.05
# Longest time for a second run of the payer to start and to ask for the price.
_GATHER_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Presentation:
    """A call with a proof.

    Attributes:
        arrival: The call.
        header: The text of `X-PAYMENT`.
        proof: Its JSON object; None if it is malformed.
        quote: The quote whose token it names; None if the rail issued no such token.
        tx_id: The transaction that paid the quote; None if the proof pays nothing.
        fault: Why the proof pays nothing; None if it pays.
        is_pending: Whether the chain may still show the payment.
    """

    arrival: Arrival
    header: str = field(repr=False)
    proof: dict[str, Any] | None = field(repr=False)
    quote: Quote | None = None
    tx_id: str | None = None
    fault: str | None = None
    is_pending: bool = False

    def is_at(self, url: str) -> bool:
        """Return whether the call came to an address of the rail."""
        return any(value == url.partition("://")[2] for value in self.arrival.values("Host"))

    @property
    def payment(self) -> str:
        """What identifies the payment: two presentations of one payment have the same text."""
        if self.proof is None:
            return self.header
        named = self.proof.get("tx_id") or self.proof.get("signature")
        payload = self.proof.get("payload")
        if not named and isinstance(payload, dict):
            # The form of x402 version 2, in which the rail sends what the payer signed.
            named = payload.get("signature")
        return json.dumps(named) if named else self.header


# The answer to a presented proof.
Step = Callable[["PlayedRail", Presentation], Awaitable[Reply]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What the played rail does; by default it is honest.

    Attributes:
        entry: Changes the offer of the lane.
        entries: Changes the list of offers.
        header: Changes the document that `PAYMENT-REQUIRED` repeats, after the body is made.
        unpaid: Answers a call without a proof in place of the 402; None for the 402.
        steps: Answers to proofs in order; the last one is repeated.
        claims: Changes the claims of the receipt.
        signer: Another key that signs the receipt.
        paid: Changes the paid answer.
        age: Seconds since the offers were issued.
        amounts: Price of each quote in turn, in atomic units; the last one is repeated.
        callers: Calls without a proof that are answered together; 1 answers each at once.
        documents: Changes the published documents, by path; a path that is left out is 404.
        holds_keys: Whether the key set is not answered before the payer is started again.
        query: Query of the address that the payer calls.
        body_text: The file with the request's body, from its JSON value.
        forgets_tasks: Whether no payment finds its task any more; only over A2A.
        loses_results: Whether the answer to each payment that is served in its task is lost, and the finished task
            takes no further message (P-RA-04); only over A2A.
        fails_undecided: Whether a payment that is not decided yet fails its task (P-RA-08); only over A2A.
    """

    entry: Change = keep
    entries: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = list
    header: Change = keep
    unpaid: Callable[[PlayedRail, Arrival], Reply | None] = lambda rail, arrival: None  # noqa: ARG005 - the honest one
    steps: Sequence[Step] = ()
    claims: Change = keep
    signer: Signer | None = None
    paid: Change = keep
    age: int = 0
    amounts: Sequence[int] = ()
    callers: int = 1
    documents: Change = keep
    holds_keys: bool = False
    query: str = ""
    body_text: Callable[[Any], str] = json.dumps
    forgets_tasks: bool = False
    loses_results: bool = False
    fails_undecided: bool = False


@dataclass
class PlayedRail:
    """A rail at a separate socket that sells one operation on one lane.

    Attributes:
        proof_header: The header field in which proofs are presented.
        desk: Issues quotes and receipts.
        host: The chain side.
        terms: The honest terms.
        script: What it does.
        receiver: What arrives.
        other_url: A second address of the same rail, which is another origin.
        presentations: The proofs that were presented.
        presented: Set when the first proof arrives.
        sessions: Ids of the sessions of the payer's processes, in the order of their start.
        keys_fetched: Set when the payer asks for the key set.
        is_resumed: Whether the payer was started again after the first run, or the first runs, of a scene.
    """

    proof_header: ClassVar[str] = "X-PAYMENT"
    desk: QuoteDesk
    host: PayerHost
    terms: Terms
    script: Script
    receiver: Receiver
    other_url: str
    presentations: list[Presentation] = field(default_factory=list)
    presented: asyncio.Event = field(default_factory=asyncio.Event)
    keys_fetched: asyncio.Event = field(default_factory=asyncio.Event)
    sessions: list[int] = field(default_factory=list)
    is_resumed: bool = False
    _callers: int = 0
    _gathered: asyncio.Event = field(default_factory=asyncio.Event)
    _quotes: dict[str, Quote] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Path of the address that the payer gets."""
        return PATH

    @property
    def call_paths(self) -> tuple[str, ...]:
        """Paths at which the payer makes its call; the first is that of its transport."""
        return (self.path,)

    @property
    def variables(self) -> Mapping[str, str]:
        """Further variables of the payer's environment, without their prefix."""
        return {}

    def reply_to(self, arrival: Arrival) -> Reply | None:
        """Return the answer to a call as HTTP has it; None before it is answered."""
        return arrival.reply

    @property
    def tokens(self) -> tuple[str, ...]:
        """The challenge tokens that were issued."""
        return tuple(quote.token for quote in self._quotes.values())

    async def answer(self, arrival: Arrival) -> Reply:
        """Answer a call."""
        method = arrival.method.replace("HEAD", "GET")
        document = self.script.documents(dict(self._documents())).get(arrival.path)
        if arrival.path == JWKS:
            self.keys_fetched.set()
            if self.script.holds_keys and not self.is_resumed:
                return SILENCE
        if method == "GET" and document is not None:
            return Reply(200, (_JSON,), json.dumps(document).encode())
        if arrival.path != PATH or method == "OPTIONS":
            return Reply(404, (_JSON,), b'{"detail":"Not Found"}')
        headers = arrival.values(self.proof_header)
        return await self._answer_call(arrival, headers[0] if headers else None)

    async def _answer_call(self, arrival: Arrival, header: str | None) -> Reply:
        """Answer a call of the operation, with a proof if there is one."""
        if header is not None:
            return await self._take(arrival, header)
        await self._gather_callers()
        return self.script.unpaid(self, arrival) or await self.quote()

    async def _gather_callers(self) -> None:
        """Wait until the script's number of callers has asked for the price, or no process of the payer works."""
        self._callers += 1
        if self._callers >= self.script.callers:
            self._gathered.set()
        # A run that waits for another one, or has ended, never asks. A time alone would not show that: the machine may
        # be slow.
        watch = IdleWatch(self.sessions)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GATHER_SECONDS):
                while not (self._gathered.is_set() or await asyncio.to_thread(watch.is_idle)):  # noqa: ASYNC110
                    await asyncio.sleep(_POLL_SECONDS)
        # Later callers need not wait again.
        self._gathered.set()

    async def quote(self, error: str = "payment_required", *further: tuple[str, str]) -> Reply:
        """Return a 402 with a new challenge."""
        amounts = self.script.amounts or (self.terms.amount,)
        terms = Terms(
            self.terms.network,
            self.terms.caip2,
            self.terms.asset,
            self.terms.pay_to,
            amounts[min(len(self._quotes), len(amounts) - 1)],
        )
        entry = await self._offer(terms)
        document = self.desk.document(self.script.entries([entry]), error)
        repeated = self.script.header(json.loads(json.dumps(document)))
        fields = (_JSON, _PRIVATE, ("PAYMENT-REQUIRED", to_header(repeated)), *further)
        return Reply(402, fields, self._write_body(document))

    def _documents(self) -> Mapping[str, Any]:
        """Return the published documents by path."""
        return self.desk.documents()

    def _write_body(self, document: Mapping[str, Any]) -> bytes:
        """Return the body of a 402."""
        return json.dumps(document).encode()

    async def _offer(self, terms: Terms) -> dict[str, Any]:
        """Return the offer of a new quote, as the script changes it, and remember the quote."""
        quote = self.desk.issue(terms, age=self.script.age)
        binding = await self.host.describe_binding(terms.asset, quote.token)
        entry = self.script.entry(self.desk.entry(quote, binding))
        # The scene may have changed the terms: the payment is judged by what was offered.
        self._quotes[str(entry.get("extra", {}).get("payment_reference"))] = quote
        return entry

    def _find_quote(self, proof: Mapping[str, Any]) -> Quote | None:
        """Return the quote that a proof names; None if the rail issued no such quote."""
        token = proof.get("payment_reference", proof.get("challenge_token"))
        return self._quotes.get(token) if isinstance(token, str) else None

    async def _accept(self, quote: Quote, proof: Mapping[str, Any]) -> str:
        """Judge a proof on the chain and return the transaction's id.

        Raises:
            PaymentRefusal: It does not pay the quote.
        """
        return await self.host.accept(quote.challenge(), proof)

    async def _take(self, arrival: Arrival, header: str) -> Reply:
        presentation = await self._judge(arrival, header)
        # Presentations that the rail could not judge yet are no steps of the scene.
        step_number = sum(one.tx_id is not None for one in self.presentations)
        self.presentations.append(presentation)
        self.presented.set()
        if presentation.tx_id is None:
            if presentation.is_pending:
                return await self.quote("tx_not_confirmed", ("Retry-After", "1"))
            return await self.quote("payment_invalid")
        steps = self.script.steps or (serve,)
        return await steps[min(step_number, len(steps) - 1)](self, presentation)

    def _is_quoted_request(self, arrival: Arrival) -> bool:
        """Return whether a proof comes with the request that was quoted."""
        return arrival.method == "POST" and bool(read_json(arrival.body) == self.desk.body)

    async def _judge(self, arrival: Arrival, header: str) -> Presentation:
        """Return the presentation of a proof; on a lane whose rail settles, the money has moved."""
        proof = _read_proof(header)
        if proof is None:
            fault = f"{self.proof_header} is not base64 of a JSON object"
            return Presentation(arrival, header, None, fault=fault)
        quote = self._find_quote(proof)
        if quote is None:
            return Presentation(arrival, header, proof, fault="it names no offer that the rail made")
        if not self._is_quoted_request(arrival):
            return Presentation(
                arrival, header, proof, quote, fault="it comes with another request than the quoted one"
            )
        ends = asyncio.get_running_loop().time() + _FINAL_SECONDS
        while True:
            try:
                tx_id = await self._accept(quote, proof)
            except PaymentRefusal as refusal:
                is_pending = refusal.stage == FINALITY
                if not is_pending or asyncio.get_running_loop().time() > ends:
                    fault = f"{refusal.code}: {refusal}"
                    return Presentation(arrival, header, proof, quote, fault=fault, is_pending=is_pending)
                await asyncio.sleep(_POLL_SECONDS)
            else:
                return Presentation(arrival, header, proof, quote, tx_id)

    def paid_answer(self, presentation: Presentation) -> Reply:
        """Return the answer of a paid call."""
        if presentation.quote is None or presentation.tx_id is None:
            raise ValueError("the presentation pays nothing")
        content = self.desk.answer(presentation.quote, presentation.tx_id, self.script.claims, self.script.signer)
        settlement = {"success": True, "transaction": presentation.tx_id, "network": self.terms.caip2}
        fields = (_JSON, _PRIVATE, ("PAYMENT-RESPONSE", to_header(settlement)))
        return Reply(200, fields, json.dumps(self.script.paid(content), ensure_ascii=False).encode())


def _read_proof(header: str) -> dict[str, Any] | None:
    try:
        value = read_json(base64.b64decode(header, validate=True))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def read_json(content: bytes) -> Any:
    """Return a JSON value; None if the content is not JSON."""
    try:
        return json_text(content)
    except JsonTextFault:
        return None


async def serve(rail: PlayedRail, presentation: Presentation) -> Reply:
    """Answer 200 with the receipt."""
    return rail.paid_answer(presentation)


async def hang_up(rail: PlayedRail, presentation: Presentation) -> Reply:
    """Close the connection without an answer."""
    del rail, presentation
    return HANG_UP


async def stay_silent(rail: PlayedRail, presentation: Presentation) -> Reply:
    """Keep the connection open without an answer."""
    del rail, presentation
    return SILENCE


async def quote_again(rail: PlayedRail, presentation: Presentation) -> Reply:
    """Answer with a new challenge, as if nothing had been paid."""
    del presentation
    return await rail.quote()


def refuse(status: int, code: str, retry_after: str | None = "1") -> Step:
    """Return a step that answers a status with a code, and with Retry-After if there is one."""

    async def answer(rail: PlayedRail, presentation: Presentation) -> Reply:
        del presentation
        further = () if retry_after is None else (("Retry-After", retry_after),)
        if status == 402:
            return await rail.quote(code, *further)
        return Reply(status, (_JSON, _PRIVATE, *further), json.dumps({"error": code}).encode())

    return answer


def mention(step: Step, code: str) -> Step:
    """Return a step whose answer also contains a code in other places than the member `error`."""

    async def answer(rail: PlayedRail, presentation: Presentation) -> Reply:
        reply = await step(rail, presentation)
        places = {"detail": f"This is not {code}.", "details": {"error": code}, "code": code}
        return replace(reply, body=json.dumps({**places, **json.loads(reply.body)}).encode())

    return answer


async def serve_receipt_elsewhere(rail: PlayedRail, presentation: Presentation) -> Reply:
    """Answer 200 with the receipt in header fields and in other members, and without `payable_receipt`."""
    reply = rail.paid_answer(presentation)
    content = json.loads(reply.body)
    receipt = content.pop("payable_receipt")
    content |= {"receipt": receipt, "extensions": {"payable_receipt": receipt}}
    fields = (("X-PAYMENT-RESPONSE", receipt), ("Payable-Receipt", receipt))
    return replace(reply, headers=(*reply.headers, *fields), body=json.dumps(content, ensure_ascii=False).encode())


async def send_round(rail: PlayedRail, presentation: Presentation) -> Reply:
    """Redirect the call, with its method and body, to the address that it was sent to."""
    return redirect(rail.desk.url + presentation.arrival.target)


async def send_elsewhere(rail: PlayedRail, presentation: Presentation) -> Reply:
    """Redirect the call, with its method and body, to the other origin."""
    del presentation
    return redirect(rail.other_url + PATH)
