"""What libraries say of challenge tokens that share no code with the judge.

PyCryptodome makes the macs and hashes, `rfc8785` the canonical form, revm keccak256 and solders the Solana address;
the judge has them from the standard library, `jcs`, PyCryptodome's keccak and `base58`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import rfc8785
from Crypto.Hash import HMAC, SHA256
from solders.pubkey import Pubkey

from tools.vectors_builder.challenges.revm import keccak256
from tools.vectors_builder.drafting import Draft

_FIELDS: Final = ("caip2", "asset", "amount", "pay_to")


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where they find other halves matching, or other values, than the draft says."""
    if draft.stage == "syntax":
        return
    given = draft.input
    unix, nonce, mac = given["token"].split(":")
    word = f"{given['service_word'].lower()}-payable-core:"
    matching = [lane for lane in given["lanes"] if mac[:32] == _mac(given, word, "a", unix, nonce, *_listed(lane))]
    if bool(matching) is (draft.stage == "origin"):
        yield f"PyCryptodome finds {len(matching)} lanes for half A"
    hashed = given.get("request_hash") or _request_hash(given)
    bound = mac[32:] == _mac(given, word, "b", mac[:32], given["service_id"], hashed)
    if draft.stage in {"valid", "time", "request"} and bound is (draft.stage == "request"):
        yield f"PyCryptodome finds half B {'bound' if bound else 'not bound'} to the request"
    told = _values(given["token"], word, matching, hashed)
    for name, value in draft.values.items():
        if told.get(name) != value:
            yield f"{name} is {told.get(name)}, not {value}"


def _values(token: str, word: str, matching: list[Mapping[str, str]], hashed: str) -> dict[str, str]:
    text = token.encode()
    reference = Pubkey.from_bytes(SHA256.new(f"{word}solana-ref:{token}".encode()).digest())
    return {
        "lane": matching[0]["caip2"] if matching else "",
        "request_hash": hashed,
        "payment_reference_hash": "sha256:" + SHA256.new(text).hexdigest(),
        "eip3009_nonce": "0x" + keccak256(text).hex(),
        "solana_reference": str(reference),
    }


def _listed(lane: Mapping[str, str]) -> list[str]:
    return [lane[name] for name in _FIELDS]


def _request_hash(given: Mapping[str, Any]) -> str:
    envelope = {**given["request"], "service_id": given["service_id"]}
    return "sha256:" + SHA256.new(rfc8785.dumps(envelope)).hexdigest()


def _mac(given: Mapping[str, Any], word: str, half: str, *members: str) -> str:
    made = HMAC.new(bytes.fromhex(given["secret_hex"]), digestmod=SHA256)
    made.update("\n".join((f"{word}challenge:{half}:1", *members)).encode())
    return made.hexdigest()[:32]
