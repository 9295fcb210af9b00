"""Mutants of what an event says: each drops one rule of the interface's table of events (P-WH-01, P-WH-02)."""

from __future__ import annotations

import dataclasses
import hashlib
import html
import re
import unicodedata
import uuid
from collections.abc import Callable
from typing import Any

import orjson

from reference.gateway.checkout import outbox
from reference.gateway.checkout.outbox import Outbox
from reference.protocol.networks import NETWORKS
from reference.store.links import Link
from reference.store.payments import Payment
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace

Members = dict[str, Any]
_A_MILLION = 1_000_000
_ONE_ID = f"evt_{uuid.UUID(int=7)}"


def _event(change: Callable[[Members], None]) -> Callable[[], None]:
    """Return what changes every event before its bytes are made."""

    def changed(make: Callable[..., bytes]) -> Callable[..., bytes]:
        def body(*given: Any, **named: Any) -> bytes:
            members = orjson.loads(make(*given, **named))
            change(members)
            return orjson.dumps(members)

        return body

    return lambda: replace(outbox, "event_body", changed)


def _top(**members: Callable[[Members], Any]) -> Callable[[], None]:
    """Return what says other members, each by the event as it should be."""
    return _event(lambda event: event.update({name: give(dict(event)) for name, give in members.items()}))


def _data(**members: Callable[[Members], Any]) -> Callable[[], None]:
    """Return what says other members of data, each by data as they should be."""
    return _event(lambda event: event["data"].update({name: give(event["data"]) for name, give in members.items()}))


def _asset(**members: Callable[[Members], Any]) -> Callable[[], None]:
    """Return what says other members of data.asset, each by the asset as it should be."""
    return _data(asset=lambda data: {**data["asset"], **{name: give(data["asset"]) for name, give in members.items()}})


def _label(change: Callable[[str], str | None]) -> Callable[[], None]:
    return _data(tenant_label=lambda data: change(data["tenant_label"]))


def _without(*path: str) -> Callable[[], None]:
    """Return what leaves a member out."""

    def forget(event: Members) -> None:
        inner = event
        for name in path[:-1]:
            inner = inner[name]
        del inner[path[-1]]

    return _event(forget)


def _bytes(change: Callable[[bytes], bytes]) -> Callable[[], None]:
    """Return what writes another body than JSON of the event."""
    return lambda: replace(outbox, "event_body", lambda make: lambda *g, **n: change(make(*g, **n)))


def _amount(change: Callable[[int], Any]) -> Callable[[], None]:
    return _data(amount_microunits=lambda data: change(int(data["amount_microunits"])))


def _pretty(change: Callable[[int], Any]) -> Callable[[], None]:
    return _data(amount_pretty=lambda data: change(int(data["amount_microunits"])))


def _in_thousands(units: int) -> str:
    """Return an amount with a mark for thousands where it has some, and no fraction then."""
    whole, fraction = divmod(units, _A_MILLION)
    return f"{whole // 1000}.{whole % 1000:03} USDC" if whole >= 1000 else f"{whole}.{fraction:06} USDC"


def _caip2(data: Members) -> str:
    return next(one.caip2 for one in NETWORKS.values() if one.event == data["chain"])


def _payee(make: Callable[..., Any]) -> Callable[..., Any]:
    """Who was paid is told as who paid."""

    def confirmed(self: Outbox, link: Link, payment: Payment, **named: Any) -> Any:
        return make(self, link, dataclasses.replace(payment, payer=link.pay_to), **named)

    return confirmed


def _amount_paid(make: Callable[..., Any]) -> Callable[..., Any]:
    """What was paid is told as the link's amount; both count in the same unit on the lanes that there are."""

    def confirmed(self: Outbox, link: Link, payment: Payment, **named: Any) -> Any:
        return make(self, dataclasses.replace(link, amount_microunits=payment.value), payment, **named)

    return confirmed


MUTANTS: tuple[Mutant, ...] = tuple(
    Mutant(f"webhooks-{name}", rule, apply, "gateway")
    for name, rule, apply in (
        # What stands around data.
        ("not-json", "the body is JSON", _bytes(lambda body: str(orjson.loads(body)).encode())),
        ("byte-order-mark", "the body is JSON, nothing before it", _bytes(lambda body: b"\xef\xbb\xbf" + body)),
        ("json-lines", "the body is one JSON value", _bytes(lambda body: body + b"\n{}")),
        ("members-twice", "no member stands twice (P-CV-01)", _bytes(lambda body: body[:-1] + b',"data":{}}')),
        ("id-without-prefix", "id begins with evt_", _top(id=lambda event: event["id"].removeprefix("evt_"))),
        ("id-no-uuid", "id ends in a UUID", _top(id=lambda event: "evt_" + event["id"].replace("-", "")[-26:])),
        ("one-id", "each event has its id", _top(id=lambda _: _ONE_ID)),
        ("type-spelt", "type is payment.confirmed", _top(type=lambda event: event["type"].replace(".", "_"))),
        ("no-type", "an event has its type", _without("type")),
        ("created-in-ms", "created is in seconds", _top(created=lambda event: event["created"] * 1000)),
        ("created-as-text", "created is an integer", _top(created=lambda event: str(event["created"]))),
        ("created-as-float", "created is an integer, no fraction", _top(created=lambda event: event["created"] + 0.5)),
        (
            "created-in-a-zone",
            "created is in UTC, not in the time of a zone (P-WH-02)",
            _top(created=lambda event: event["created"] + 3600),
        ),
        ("created-zero", "created is the time of the payment (P-WH-02)", _top(created=lambda _: 0)),
        ("version-empty", "api_version is not empty", _top(api_version=lambda _: "")),
        ("no-version", "an event has its api_version", _without("api_version")),
        # The label.
        ("label-trimmed", "a label keeps its white space", _label(str.strip)),
        ("label-in-ascii", "a label keeps its letters", _label(lambda text: text.encode("ascii", "ignore").decode())),
        ("label-mojibake", "a label is UTF-8", _label(lambda text: text.encode().decode("latin-1"))),
        ("label-nfc", "a label keeps its code points", _label(lambda text: unicodedata.normalize("NFC", text))),
        (
            "label-without-joiners",
            "a label keeps what has no width",
            _label(lambda text: re.sub("[\u200b-\u200f\ufeff]", "", text)),
        ),
        ("label-cut", "a label keeps its length", _label(lambda text: text[:64])),
        ("label-html", "a label is escaped for nobody", _label(lambda text: html.escape(text, quote=False))),
        (
            "label-of-token",
            "tenant_label is the label, not the token",
            _data(tenant_label=lambda d: d["payment_link_token"]),
        ),
        # The network and its asset.
        ("chain-with-hyphen", "chain has a colon", _data(chain=lambda data: data["chain"].replace(":", "-"))),
        ("chain-as-key", "chain is no request key", _data(chain=lambda data: data["chain"].replace(":", "_"))),
        (
            "chain-mainnet",
            "chain is the link's network",
            _data(chain=lambda d: d["chain"].partition(":")[0] + ":mainnet"),
        ),
        ("chain-caip2", "chain is the chain's label (1.2)", _data(chain=_caip2)),
        ("asset-id-number", "asset.id is a text", _asset(id=lambda asset: int(asset["id"]))),
        ("asset-label-name", "asset.label is USDC", _asset(label=lambda _: "USD Coin")),
        ("asset-decimals-text", "asset.decimals is an integer", _asset(decimals=lambda asset: str(asset["decimals"]))),
        ("asset-decimals-two", "USDC has 6 decimals", _asset(decimals=lambda _: 2)),
        # The amount.
        ("amount-as-number", "amount_microunits is a text", _amount(int)),
        ("amount-in-dollars", "amount_microunits is in millionths", _amount(lambda units: f"{units / _A_MILLION:.6f}")),
        ("amount-with-commas", "amount_microunits is decimal digits", _amount(lambda units: f"{units:,}")),
        (
            "amount-in-cents",
            "amount_microunits is exact",
            _amount(lambda units: str(units // 10_000 * 10_000 or units)),
        ),
        (
            "amount-paid",
            "the amount is the link's, not what was paid (P-WH-01)",
            lambda: replace(Outbox, "confirmed", _amount_paid),
        ),
        ("pretty-to-cents", "amount_pretty is exact", _pretty(lambda units: f"{units / _A_MILLION:.2f} USDC")),
        ("pretty-thousands", "amount_pretty is exact, however large", _pretty(_in_thousands)),
        ("pretty-in-units", "amount_pretty is in USDC", _pretty(lambda units: f"{units} USDC")),
        ("pretty-as-number", "amount_pretty is a text", _pretty(lambda units: units / _A_MILLION)),
        ("pretty-without-amount", "amount_pretty says the amount", _pretty(lambda _: "paid in USDC")),
        # Who paid, and by what.
        (
            "tx-id-other",
            "tx_id is the paying transaction",
            _data(tx_id=lambda data: hashlib.sha256(data["tx_id"].encode()).hexdigest()),
        ),
        ("tx-id-lower-case", "tx_id is spelt as on its chain", _data(tx_id=lambda data: data["tx_id"].lower())),
        ("payer-is-payee", "payer_address is the sender", lambda: replace(Outbox, "confirmed", _payee)),
        ("payer-null", "payer_address is a text", _data(payer_address=lambda _: None)),
    )
)
