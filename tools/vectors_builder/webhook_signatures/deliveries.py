"""Deliveries as a sender makes them, by Python's own `hmac`, and drafts of them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tools.vectors_builder.drafting import Draft, draft_holding, seed

T: Final = 1_767_225_600
SECRET: Final = "weldw_" + seed("webhook_signatures", "secret")[:24].hex()
OTHER_SECRET: Final = "weldw_" + seed("webhook_signatures", "another secret")[:24].hex()
WORD: Final = "Weldproof"
EVENT: Final[dict[str, Any]] = {
    "id": "evt_0b8f6c1e-7a52-4d0e-9d3c-52a4c1f0e7b9",
    "type": "payment.confirmed",
    "created": T,
    "api_version": "1",
    "data": {
        "tenant_label": "Order 7",
        "chain": "algorand:testnet",
        "asset": {"id": "10458941", "label": "USDC", "decimals": 6},
        "amount_microunits": "8410000",
        "amount_pretty": "8.41 USDC",
    },
}
BODY: Final = json.dumps(EVENT, separators=(",", ":")).encode()
_SENDER_ROWS: Final = ("WH-SIG-02", "WH-SIG-03", "WH-SIG-04")
_WRONG: Final = ("WH-SIG-04", "WH-RECV-02")
_OTHER_BYTES: Final = ("WH-SIG-08", "WH-RECV-05")
_ROWS: Final = {
    "header": ("WH-SIG-02", "WH-SIG-03", "WH-RECV-02"),
    "time": ("WH-RECV-04", "WH-SIG-06"),
    "signature": _WRONG,
}
# Faults that belong to rows of their own.
_ROWS_OF_FAULT: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("body", "body-length", "white-space", "re-serialised", "text", "encoding"), _OTHER_BYTES),
    "secret": ("WH-SIG-05", *_WRONG),
    "redelivery": ("WH-SIG-07", "WH-RECV-02"),
}


def hmac_hex(key: bytes, message: bytes, digest: str = "sha256") -> str:
    """Return an HMAC in lower-case hex."""
    return hmac.new(key, message, digest).hexdigest()


def v2_key(secret: str = SECRET, word: str = WORD, info: bytes = b"hmac-sha384-outbound") -> bytes:
    """Return the key of v2: 48 bytes of HKDF-SHA256 (RFC 5869), by its definition."""
    pseudorandom_key = hmac.digest(f"{word.lower()}-webhook-v2-pqc".encode(), secret.encode(), hashlib.sha256)
    first = hmac.digest(pseudorandom_key, info + b"\x01", hashlib.sha256)
    return (first + hmac.digest(pseudorandom_key, first + info + b"\x02", hashlib.sha256))[:48]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery, and the settings of its receiver; by default all is as with an honest sender.

    Attributes:
        secret: The secret of the destination.
        body: The body's bytes.
        t: Unix seconds in the header.
        template: What a signature covers.
        scheme: The member that the receiver checks.
        word: The service's word.
        late: Seconds from `t` to the receiver's time.
        tolerance: Seconds that it allows to either side.
    """

    secret: str = SECRET
    body: bytes = BODY
    t: int = T
    template: str = "{t}.{body}"
    scheme: str = "v1"
    word: str = WORD
    late: int = 2
    tolerance: int = 300
    further: tuple[str, ...] = field(default=())

    @property
    def message(self) -> bytes:
        """What the signatures cover."""
        before, _, after = self.template.replace("{t}", str(self.t)).partition("{body}")
        return before.encode() + self.body + after.encode()

    @property
    def v1(self) -> str:
        """The right v1."""
        return hmac_hex(self.secret.encode(), self.message)

    @property
    def v2(self) -> str:
        """The right v2."""
        return hmac_hex(v2_key(self.secret, self.word), self.message, "sha384")

    @property
    def mac(self) -> str:
        """The right value of the member that the receiver checks."""
        return self.v1 if self.scheme == "v1" else self.v2

    @property
    def header(self) -> str:
        """The header of an honest sender, with v2 if the receiver checks it."""
        further = self.further or ((f"v2={self.v2}",) if self.scheme == "v2" else ())
        return ",".join((f"t={self.t}", f"v1={self.v1}", *further))

    def of(self, **changes: Any) -> Delivery:
        """Return another delivery: this one with members changed."""
        return replace(self, **changes)

    def with_secret(self, secret: str) -> Delivery:
        """Return the delivery to a destination with another secret."""
        return replace(self, secret=secret)

    def to_input(self, header: str) -> dict[str, Any]:
        """Return the input of a vector: what the receiver got and knows."""
        return {
            "header": header,
            "body_b64": base64.b64encode(self.body).decode(),
            "secret": self.secret,
            "scheme": self.scheme,
            "template": self.template,
            "service_word": self.word,
            "now": self.t + self.late,
            "tolerance_seconds": self.tolerance,
        }


HONEST: Final = Delivery()


def holds(name: str, delivery: Delivery, why: str, pins: tuple[str, ...] = (), header: str | None = None) -> Draft:
    """Return the draft of a delivery that verifies; with `pins`, only by those clauses."""
    property_name, variant = name.split("/")
    vector_input = delivery.to_input(delivery.header if header is None else header)
    values = {"t": delivery.t, "mac": delivery.mac}
    return draft_holding(property_name, variant, vector_input, why, _SENDER_ROWS, values=values, pins=pins)


def draft_refusal(
    name: str, delivery: Delivery, header: str, fault: str, why: str, pins: tuple[str, ...] = ()
) -> Draft:
    """Return the draft of a delivery that a receiver refuses; with `pins`, only by those clauses.

    Args:
        name: Stage, fault and variant.
        delivery: What the receiver got and knows.
        header: The header that came with it.
        fault: The fault in a sentence.
        why: Why it is worth having.
        pins: The clauses.
    """
    stage, fault_name, variant = name.split("/")
    values = {} if stage == "header" else {"t": delivery.t, "mac": delivery.mac}
    pinned_members = ("valid", "stage", "codes") if pins else ("stage", "codes")
    return Draft(
        stage,
        fault_name,
        variant,
        delivery.to_input(header),
        why,
        _ROWS_OF_FAULT.get(fault_name, _ROWS[stage]),
        fault,
        values=values,
        pinned_members=(*pinned_members, "values") if values else pinned_members,
        pins=pins,
    )
