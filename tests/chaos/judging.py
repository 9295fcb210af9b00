"""The judgement of a chaos run, from the chains and the receipts alone."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.reference.rail.rail_stack import COMPLIANCE

_KEYS = "/.well-known/jwks.json"
_OK = 200


@dataclass(slots=True)
class Purchase:
    """One purchase of an honest payer.

    Attributes:
        number: Its number in the run.
        lane: How the network of its payment begins.
        headers: Its proof, as it was presented.
        body: Body of its call.
        price: What it paid, in atomic units.
        answer: The final answer, None if no answer came in time.
        repeats: How often the proof was presented again.
        seconds: From the first call to the final answer.
        last: The last answer, for people.
    """

    number: int
    lane: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    price: int = 0
    answer: httpx.Response | None = None
    repeats: int = 0
    seconds: float = 0.0
    last: str = ""


def judge(purchases: Sequence[Purchase], received: int, urls: Sequence[str]) -> list[str]:
    """Return every violation of a run.

    Args:
        purchases: All purchases.
        received: Atomic units that arrived at the payees, by the chains.
        urls: Addresses of the workers, which serve again.
    """
    return [
        *_judge_answers(purchases),
        *_judge_money(purchases, received),
        *_judge_receipts(purchases, urls),
        *_judge_repeats(purchases, urls),
    ]


def _judge_answers(purchases: Sequence[Purchase]) -> Iterator[str]:
    """Every payer is served."""
    for purchase in purchases:
        if purchase.answer is None:
            yield f"purchase {purchase.number} ({purchase.lane}) got no final answer; the last was {purchase.last}"
        elif purchase.answer.status_code != _OK:
            yield f"purchase {purchase.number} ({purchase.lane}) was refused: {purchase.last}"


def _list_served(purchases: Sequence[Purchase]) -> list[tuple[Purchase, httpx.Response]]:
    answers = ((purchase, purchase.answer) for purchase in purchases)
    return [(purchase, answer) for purchase, answer in answers if answer is not None and answer.status_code == _OK]


def _judge_money(purchases: Sequence[Purchase], received: int) -> Iterator[str]:
    """The chains have one price for each answer, and no other payment."""
    expected = sum(purchase.price for purchase, _ in _list_served(purchases))
    if received != expected:
        yield f"{received} atomic units arrived, and answers are for {expected}"


def _judge_receipts(purchases: Sequence[Purchase], urls: Sequence[str]) -> Iterator[str]:
    """Each answer has a receipt of its own, which verifies with the published keys, for a payment of its own."""
    listed = httpx.get(urls[0] + _KEYS, trust_env=False, timeout=60).json()["keys"]
    keys = {key["kid"]: Ed25519PublicKey.from_public_bytes(_decode(key["x"])) for key in listed if key["kty"] == "OKP"}
    payments: Counter[str] = Counter()
    receipts: Counter[str] = Counter()
    for purchase, answer in _list_served(purchases):
        jws = answer.json()["payable_receipt"]
        receipts[jws] += 1
        head, payload, signature = jws.split(".")
        try:
            keys[json.loads(_decode(head))["kid"]].verify(_decode(signature), f"{head}.{payload}".encode())
        except (KeyError, InvalidSignature) as fault:
            yield f"the receipt of purchase {purchase.number} does not verify: {fault!r}"
        payments[json.loads(_decode(payload))["settled_payment_ref"]] += 1
    yield from (f"{count} answers have one receipt" for count in receipts.values() if count > 1)
    yield from (f"{count} receipts name one payment" for count in payments.values() if count > 1)


def _judge_repeats(purchases: Sequence[Purchase], urls: Sequence[str]) -> Iterator[str]:
    """A proof gets its answer again at each worker, and buys no other call."""
    for purchase, answer in _list_served(purchases):
        with httpx.Client(trust_env=False, timeout=60) as http:
            for url in urls:
                again = http.post(url + COMPLIANCE, json=purchase.body, headers=purchase.headers)
                if again.content != answer.content:
                    yield f"the proof of purchase {purchase.number} got another answer at {url}: {again.status_code}"
            other = {**purchase.body, "recipient_address": "screen-refer"}
            second = http.post(urls[purchase.number % len(urls)] + COMPLIANCE, json=other, headers=purchase.headers)
            if second.status_code == _OK:
                yield f"the proof of purchase {purchase.number} bought a second call"


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
