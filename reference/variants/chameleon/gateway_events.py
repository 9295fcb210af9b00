"""Variants of the gateway's events: JSON and members, signature, and number of deliveries."""

from __future__ import annotations

import base64
import dataclasses
import hmac
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self

import orjson
from eth_utils.address import to_checksum_address

from reference.gateway.checkout import outbox
from reference.protocol import webhook_signature
from reference.protocol.networks import NETWORKS
from reference.store.deliveries import ClaimedAttempt
from reference.variants.chameleon.answer_rewriter import encoder
from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace
from reference.webhooks import dispatcher_runner, sender
from reference.webhooks.dispatcher import Dispatcher

Members = dict[str, Any]
_A_MILLION = 1_000_000
_STATED_MEMBERS = ("tenant_label", "chain", "asset", "amount_microunits", "amount_pretty", "tx_id", "payer_address")
_NAMES = {"algorand": "algo", "base": "base-l2", "solana": "sol"}
# Templates of the signed string, in the notation of a target profile.
SIGNED_TEMPLATES: Mapping[str, str] = {
    "time, full stop, body": "{t}.{body}",
    "time, body": "{t}{body}",
    "body, time": "{body}|{t}",
    "a word, time, body": "v1:{t}:{body}",
    "body": "{body}",
}


def event_name(network: str) -> str:
    """Return the other spelling of a network in an event, by its key."""
    chain, _, kind = network.partition("_")
    return f"{_NAMES.get(chain, chain)}:{kind}"


_OTHER_NAMES = {network.event: event_name(network.key) for network in NETWORKS.values()}


def install(shape: Shape) -> None:
    """Install the variant of events in the service."""
    write = encoder(shape.event_json)
    replace(outbox, "event_body", lambda make: lambda *g, **n: write(_change_event(shape, orjson.loads(make(*g, **n)))))
    if shape.event_header:
        replace(sender, "header_name", lambda named: lambda word: _header(shape.event_header, named(word)))
    replace(webhook_signature, "v1", lambda _: lambda secret, body, *, t: _v1(shape, secret, body, t))
    replace(sender, "header_value", lambda made: lambda *g, **n: made(*g, **n) + shape.event_signature_more)
    replace(dispatcher_runner, "open_session", lambda made: lambda *g, **n: _Session(made(*g, **n), shape))
    replace(Dispatcher, "_send", lambda send: _wrap_sent(shape, send))


def _header(look: str, usual_name: str) -> str:
    return {"lower": usual_name.lower(), "upper": usual_name.upper()}.get(look, look)


def _v1(shape: Shape, secret: str, body: bytes, t: int) -> str:
    before, _, after = shape.event_signed.partition("{body}")
    time_text = str(t)
    message = before.replace("{t}", time_text).encode() + body + after.replace("{t}", time_text).encode()
    digits = hmac.digest(_key(shape, secret), message, "sha256").hex()
    return digits.upper() if shape.event_hex == "upper" else digits


def _key(shape: Shape, secret: str) -> bytes:
    """Return the secret's text as bytes, or the bytes that the part behind its prefix decodes to."""
    if shape.event_key == "text":
        return secret.encode()
    text = secret.partition("_")[2]
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _change_event(shape: Shape, event: Members) -> Members:
    data = event["data"]
    if shape.event_members == "stated":
        data = {name: data[name] for name in _STATED_MEMBERS}
    elif shape.event_members == "more":
        event = {"object": "event", "livemode": False, **event, "pending_webhooks": 1}
        data = {**data, "asset": {**data["asset"], "standard": "ASA"}, "fees": [], "block": None}
    if shape.event_chain == "short":
        data["chain"] = _OTHER_NAMES[data["chain"]]
    if shape.event_asset == "with its chain":
        data["asset"] = {**data["asset"], "id": f"{data['chain']}/{data['asset']['id']}"}
    if shape.evm_event_case == "other" and str(data["payer_address"]).startswith("0x"):
        data["payer_address"] = _other_case(data["payer_address"])
        data["tx_id"] = "0x" + data["tx_id"][2:].upper()
    data["amount_pretty"] = _pretty(shape, int(data["amount_microunits"]), data["amount_pretty"])
    return {
        **event,
        "created": event["created"] + shape.event_created,
        "api_version": shape.event_version,
        "data": data,
    }


def _other_case(address: str) -> str:
    lower = address.lower()
    return lower if address != lower else str(to_checksum_address(address))


def _pretty(shape: Shape, microunits: int, plain: str) -> str:
    whole, fraction = divmod(microunits, _A_MILLION)
    if shape.event_pretty == "six places":
        return f"{whole}.{fraction:06d} USDC"
    if shape.event_pretty == "before":
        return f"USDC {plain.removesuffix(' USDC')}"
    return plain.removesuffix(" USDC") if shape.event_pretty == "digits alone" else plain


class _Session:
    """The dispatcher's HTTP session with the variant's headers and framing."""

    def __init__(self, session: Any, shape: Shape) -> None:
        self._session = session
        self._shape = shape

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    def post(self, url: Any, *, headers: Mapping[str, str], **options: Any) -> Any:
        """Return the request, to be entered."""
        shape = self._shape
        all_headers = {**headers, "Content-Type": shape.event_media, **shape.event_headers}
        if shape.event_chunked:
            options["chunked"] = True
        return self._session.post(url, headers=all_headers, **options)


def _wrap_sent(shape: Shape, send: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return a sender that also sends the event a second time, or an event of another type before it."""

    async def send_all(self: Dispatcher, delivery: ClaimedAttempt, sealed_secret: bytes) -> Any:
        for further_delivery in _further(shape, delivery):
            await send(self, further_delivery, sealed_secret)
        return await send(self, delivery, sealed_secret)

    return send_all


def _further(shape: Shape, delivery: ClaimedAttempt) -> list[ClaimedAttempt]:
    deliveries = [delivery] if shape.event_twice else []
    if shape.event_type_more:
        event = orjson.loads(delivery.body)
        # The id depends on destination and event, so that a retry of the further event has the same id, as P-WH-03
        # demands.
        own = uuid.uuid5(uuid.UUID(delivery.destination_id), event["id"])
        other_event = {**event, "id": f"evt_{own}", "type": shape.event_type_more}
        deliveries.append(dataclasses.replace(delivery, body=orjson.dumps(other_event)))
    return deliveries
