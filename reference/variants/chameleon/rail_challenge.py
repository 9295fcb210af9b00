"""Variants of the rail's 402 and of the `accepts` entries in other documents."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from reference.protocol import challenge
from reference.protocol.challenge import Mint, Token
from reference.protocol.keys import base64url, from_base64url
from reference.variants.chameleon.answer_rewriter import Answer
from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace

_JWS_HEADER = base64url(b'{"alg":"HS256","typ":"JWT"}')
_OPAQUE = "ch_"
_DIGITS = (16, 64)
_OWN_EXTRAS = ("request_hash", "service_id", "binding", "decimals", "authorization_nonce", "feePayer")
# Lanes that no run pays on. The addresses in their entries have the right form and no owner.
LANES: Mapping[str, Mapping[str, Any]] = {
    "eip155:4217": {
        "asset": "0x20c000000000000000000000b9537d11c60e8b50",
        "payTo": "0x1111111111111111111111111111111111111111",
        "extra": {"name": "USDC", "version": "1"},
    },
    "hedera:mainnet": {"asset": "0.0.456858", "payTo": "0.0.1234567", "extra": {"name": "USDC"}},
    "voi:mainnet": {
        "asset": "302190",
        "payTo": "GGEHIZ2M6QKPOMGTTNRXVCVFRMYBCWTRCQNTQUBLPLFHGUEVJHUY2B2VLY",
        "extra": {"name": "aUSDC"},
    },
}


def install(shape: Shape) -> None:
    """Install the variant of tokens in the service."""
    if shape.token_form == "colons":  # noqa: S105 - a form, not a password
        return
    replace(
        Mint, "token", lambda made: lambda *args, **members: reshaped_token(made(*args, **members), shape.token_form)
    )
    original = Token.parse

    def parse(_: type[Token], text: str) -> Token | None:
        own = parse_token(text, shape.token_form)
        token = None if own is None else original(own)
        return None if token is None else Token(text, token.unix, token.nonce, token.mac)

    challenge.Token.parse = classmethod(parse)  # type: ignore[assignment, method-assign]


def reshaped_token(token: str, form: str) -> str:
    """Return a token of the rail in another form; `parse_token` is its inverse."""
    unix, nonce, mac = token.split(":")
    if form == "opaque":
        return _OPAQUE + base64url(int(unix).to_bytes(8, "big") + bytes.fromhex(nonce + mac))
    payload = json.dumps({"iat": int(unix), "jti": nonce}, separators=(",", ":")).encode()
    return f"{_JWS_HEADER}.{base64url(payload)}.{base64url(bytes.fromhex(mac))}"


def parse_token(text: str, form: str) -> str | None:
    """Return the rail's form of a token, or None if the text has another form."""
    try:
        if form == "opaque":
            raw = from_base64url(text.removeprefix(_OPAQUE)) if text.startswith(_OPAQUE) else b""
            unix, nonce, mac = int.from_bytes(raw[:8], "big"), raw[8:16].hex(), raw[16:].hex()
        else:
            _, payload, signature = text.split(".")
            members = json.loads(from_base64url(payload))
            unix, nonce, mac = members["iat"], members["jti"], from_base64url(signature).hex()
        # A token must have one spelling. Otherwise a second spelling of a spent token would look like a new one.
        own = f"{unix}:{nonce}:{mac}"
        return own if (len(nonce), len(mac)) == _DIGITS and reshaped_token(own, form) == text else None
    except (ValueError, KeyError, TypeError):
        return None


def edit(answer: Answer, shape: Shape) -> None:
    """Change a challenge and the entries of the catalogs."""
    if not isinstance(answer.document, dict):
        return
    document: dict[str, Any] = answer.document
    if answer.status == 402:
        if document.get("error") == "chain_unavailable":
            answer.set_header("Retry-After", "5")
        answer.set_header("Cache-Control", shape.cache_control)
        _challenge(document, shape)
    _lists(document, shape)


def reshaped_challenge(document: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """Return a 402 object in the form of the variant, for any place."""
    new_document = dict(document)
    _challenge(new_document, shape)
    _lists(new_document, shape)
    return new_document


def _lists(document: dict[str, Any], shape: Shape) -> None:
    for holder in (document, *_items(document)):
        if isinstance(holder.get("accepts"), list):
            holder["accepts"] = _entries(holder["accepts"], holder.get("resource"), shape)


def _items(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    # A variant of the listing names its items `resources`.
    lists = [document[name] for name in ("items", "resources") if isinstance(document.get(name), list)]
    return [one for items in lists for one in items if isinstance(one, dict)]


def _challenge(document: dict[str, Any], shape: Shape) -> None:
    code = str(document.get("error"))
    spellings: Mapping[str, Callable[[], Any]] = {
        "upper case": code.upper,
        "sentence": lambda: f"Payment needed ({code.replace('_', ' ')}).",
        "null": lambda: None,
    }
    if shape.challenge_error in spellings:
        document["error"] = spellings[shape.challenge_error]()
    elif shape.challenge_error == "absent":
        document.pop("error", None)
    if shape.challenge_members == "few":
        document.pop("extensions", None)
        document["resource"] = {"url": document["resource"]["url"]}


def _entries(accepts: list[dict[str, Any]], resource: Any, shape: Shape) -> list[dict[str, Any]]:
    entries = [_entry(dict(entry), resource, shape) for entry in accepts]
    live = any("payment_reference" in entry["extra"] for entry in accepts)
    further = (
        [
            _entry(_further(network, accepts[0], live=live, form=shape.token_form), resource, shape)
            for network in shape.further_lanes
        ]
        if accepts
        else []
    )
    if shape.accepts_order == "reversed":
        return [*further, *reversed(entries)]
    if shape.accepts_order == "turned":
        return [*entries[1:], *further, *entries[:1]]
    return [*entries, *further]


def _further(network: str, like: Mapping[str, Any], *, live: bool, form: str) -> dict[str, Any]:
    own = LANES[network]
    extra = dict(own["extra"])
    if live:
        # The token has the form of the others and is as unpredictable. It is never redeemed, because no payment on
        # this lane is possible here.
        unix = like["extra"]["payment_reference"]
        random = f"{_unix_of(unix, form)}:{secrets.token_hex(8)}:{secrets.token_hex(32)}"
        extra = {"payment_reference": random if form == "colons" else reshaped_token(random, form), **extra}
    return {**like, "network": network, "asset": own["asset"], "payTo": own["payTo"], "extra": extra}


def _unix_of(token: str, form: str) -> str:
    own = token if form == "colons" else parse_token(token, form)
    return (own or "1767225600:").partition(":")[0]


def _entry(entry: dict[str, Any], resource: Any, shape: Shape) -> dict[str, Any]:
    entry["extra"] = _extra(dict(entry["extra"]), shape)
    if not shape.amount_member:
        entry.pop("amount", None)
    if shape.max_timeout is not None:
        entry["maxTimeoutSeconds"] = shape.max_timeout
    if shape.evm_case == "lower" and str(entry["network"]).startswith("eip155:"):
        entry |= {name: entry[name].lower() for name in ("asset", "payTo")}
    if shape.entry_members == "v1 too":
        url = resource["url"] if isinstance(resource, dict) else resource
        entry |= {"resource": url, "description": "one call", "mimeType": "application/json", "outputSchema": None}
    return entry


def _extra(extra: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if shape.extra_members == "few":
        extra = {name: value for name, value in extra.items() if name not in _OWN_EXTRAS}
    if shape.extra_members == "more":
        extra |= {"memo_required": True, "docs": {"weld": ["note", "nonce", "reference"]}, "fee": None}
    if "svm_reference_pubkey" in extra:
        extra[shape.solana_reference] = extra.pop("svm_reference_pubkey")
    return extra


def repeat_in_header(answer: Answer, shape: Shape) -> None:
    """Put the edited challenge into its header, or remove the header."""
    if answer.header("payment-required") is None or not isinstance(answer.document, dict):
        return
    # The header repeats the challenge as it is edited, and not as the service wrote it: a client may read either
    # (P-CH-02).
    compact = json.dumps(answer.document, separators=(",", ":"), ensure_ascii=False).encode()
    answer.set_header("PAYMENT-REQUIRED", base64.b64encode(compact).decode() if shape.challenge_header else None)
