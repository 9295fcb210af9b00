"""Events and deliveries for a receiver under test: bytes, signature and header fields, made without I/O."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from conformance.oracles import webhook_signature
from conformance.surfaces.webhooks.mac_keys import Form, mac_key

Event = dict[str, Any]

# A receiver must verify the raw bytes. One that parses and serialises again accepts some of these
# forms and refuses others.
STYLES: Final[Mapping[str, Callable[[Any], bytes]]] = {
    "compact": lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(),
    "spaced": lambda value: json.dumps(value).encode(),
    "sorted": lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode(),
    "indented": lambda value: json.dumps(value, ensure_ascii=False, indent=2).encode(),
}


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery to send.

    Attributes:
        event_id: Id of its event.
        body: The body's bytes.
        value: Value of the signature header, or None.
        t: The signed time, in unix seconds.
    """

    event_id: str
    body: bytes
    value: str | None
    t: int


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs deliveries as an honest sender does.

    Attributes:
        secret: The receiver's secret.
        signed_string: What v1 covers.
        style: Name of the serialisation.
        form: How the MAC's key follows from the secret.
    """

    secret: str
    signed_string: str
    style: str = "compact"
    form: Form = "text"

    def sign(self, event: Event, t: int) -> Delivery:
        """Return a genuine delivery of an event at unix seconds `t`."""
        return self.sign_bytes(event, STYLES[self.style](event), t)

    def sign_bytes(self, event: Event, body: bytes, t: int) -> Delivery:
        """Return a genuine delivery of an event in these bytes."""
        key = mac_key(self.secret, self.form)
        value = webhook_signature.signed_header(key, self.signed_string, t, body)
        return Delivery(str(event["id"]), body, value, t)


def new_event(rng: random.Random, chain: str, created_at: int) -> Event:
    """Return a `payment.confirmed` of an invented payment, with a new id and transaction.

    Args:
        rng: Chooses the amount.
        chain: Network in the spelling of events.
        created_at: Unix seconds.
    """
    # Whole cents, so that the pretty amount has two digits after the point.
    amount = rng.randrange(1_000_000, 99_000_000, 10_000)
    unique = uuid.uuid4()
    return {
        "id": f"evt_{unique}",
        "type": "payment.confirmed",
        "created": created_at,
        "api_version": "1",
        "data": {
            "tenant_label": "Café order 7",
            "chain": chain,
            "asset": {"id": "10458941", "label": "USDC", "decimals": 6},
            "amount_microunits": str(amount),
            "amount_pretty": f"{amount // 1_000_000}.{amount % 1_000_000 // 10_000:02} USDC",
            "tx_id": hashlib.sha256(unique.bytes).hexdigest(),
            "payer_address": "7ZUECA7HFLZTXENRV24SHLU4AVPUTMTTDUFUBNBD64C73F3UHRTHAIOF6Q",
        },
    }


def with_members(event: Event, top: Mapping[str, Any], data: Mapping[str, Any], asset: Mapping[str, Any]) -> Event:
    """Return an event with further members at its top, in its data, and in its asset."""
    copied_event = copy.deepcopy(event)
    copied_event.update(top)
    copied_event["data"].update(data)
    copied_event["data"]["asset"].update(asset)
    return copied_event


def forge_deliveries(signer: Signer, event: Callable[[], Event], t: int) -> dict[str, Delivery]:
    """Return deliveries of different events whose signatures are wrong, each in one way, by the fault.

    None is valid under any honest reading of `t=<unix seconds>,v1=<hex>` and of the signed string.
    """
    template = signer.signed_string

    def value(make: Callable[[Delivery, str], str | None]) -> Delivery:
        honest = signer.sign(event(), t)
        return replace(honest, value=make(honest, webhook_signature.read(honest.value or "").v1[0]))

    def over(template: str, secret: str = signer.secret, at: int = t) -> Delivery:
        key = mac_key(secret, signer.form)
        return value(lambda one, _: webhook_signature.header(t, webhook_signature.sign(key, template, at, one.body)))

    by_fault = {
        "signed with another secret": over(template, signer.secret + "x"),
        "signed with an empty secret": over(template, ""),
        "no header": value(lambda *_: None),
        "an empty header": value(lambda *_: ""),
        "a header of another form": value(lambda _, v1: v1),
        "no v1": value(lambda *_: f"t={t}"),
        "an empty v1": value(lambda *_: f"t={t},v1="),
        "half of v1": value(lambda _, v1: f"t={t},v1={v1[:32]}"),
        "one digit of v1 changed": value(lambda _, v1: f"t={t},v1={v1[:-1]}{'1' if v1[-1] == '0' else '0'}"),
        "v1 is a hash without a key": value(
            lambda one, _: webhook_signature.header(
                t, hashlib.sha256(webhook_signature.covered_bytes(template, t, one.body)).hexdigest()
            )
        ),
        "v1 under another name": value(lambda _, v1: f"t={t},v0={v1}"),
        "one byte of the body changed": _flip_amount(signer.sign(event(), t)),
    }
    # If the time is not signed, another time does not make the signature wrong.
    if "{t}" in template:
        by_fault["v1 of another time"] = over(template, at=t - 60)
        by_fault["no t"] = value(lambda _, v1: f"v1={v1}")
        by_fault["t is no number"] = value(lambda _, v1: f"t=now,v1={v1}")
    other_strings = {"{body}", "{body}.{t}", "{t}{body}", "{t}.{body}"} - {template}
    return by_fault | {f"v1 covers {other}": over(other) for other in sorted(other_strings)}


def _flip_amount(delivery: Delivery) -> Delivery:
    """Return the delivery with one digit of its amount changed, under the old signature."""
    # The digit is in the pretty amount, so that the JSON stays valid and a person would see the
    # difference.
    start = delivery.body.index(b"amount_pretty")
    place = next(at for at in range(start, len(delivery.body)) if delivery.body[at : at + 1].isdigit())
    digit = b"1" if delivery.body[place : place + 1] != b"1" else b"2"
    return replace(delivery, body=delivery.body[:place] + digit + delivery.body[place + 1 :])


def reserialise(signer: Signer, event: Callable[[], Event], t: int) -> dict[str, Delivery]:
    """Return deliveries of the same JSON in other bytes than were signed, by their serialisation."""
    by_style: dict[str, Delivery] = {}
    for name, style in STYLES.items():
        new_one = event()
        honest = signer.sign(new_one, t)
        if style(new_one) != honest.body:
            by_style[name] = replace(honest, body=style(new_one))
    return by_style


def write_oddly(event: Event) -> bytes:
    """Return an event's JSON in bytes that no serialiser writes: escapes, tabs, and a final line feed."""
    return json.dumps(event, ensure_ascii=True, indent="\t", separators=(" ,", " :  ")).encode() + b"\n"
