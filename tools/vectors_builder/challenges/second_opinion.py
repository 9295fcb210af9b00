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

from tools.vectors_builder.challenges.revm_crypto import keccak256
from tools.vectors_builder.drafting import Draft

_FIELDS: Final = ("caip2", "asset", "amount", "pay_to")


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where they find other halves matching, or other values, than the draft says."""
    if draft.stage == "syntax":
        return
    vector_input = draft.input
    unix, nonce, mac = vector_input["token"].split(":")
    word = f"{vector_input['service_word'].lower()}-payable-core:"
    matching_lanes = [
        lane
        for lane in vector_input["lanes"]
        if mac[:32] == _mac(vector_input, word, "a", unix, nonce, *_list_members(lane))
    ]
    if bool(matching_lanes) is (draft.stage == "origin"):
        yield f"PyCryptodome finds {len(matching_lanes)} lanes for half A"
    request_hash = vector_input.get("request_hash") or _request_hash(vector_input)
    is_bound = mac[32:] == _mac(vector_input, word, "b", mac[:32], vector_input["service_id"], request_hash)
    if draft.stage in {"valid", "time", "request"} and is_bound is (draft.stage == "request"):
        yield f"PyCryptodome finds half B {'bound' if is_bound else 'not bound'} to the request"
    computed_values = _values(vector_input["token"], word, matching_lanes, request_hash)
    for name, value in draft.values.items():
        if computed_values.get(name) != value:
            yield f"{name} is {computed_values.get(name)}, not {value}"


def _values(token: str, word: str, matching_lanes: list[Mapping[str, str]], request_hash: str) -> dict[str, str]:
    text = token.encode()
    reference = Pubkey.from_bytes(SHA256.new(f"{word}solana-ref:{token}".encode()).digest())
    return {
        "lane": matching_lanes[0]["caip2"] if matching_lanes else "",
        "request_hash": request_hash,
        "payment_reference_hash": "sha256:" + SHA256.new(text).hexdigest(),
        "eip3009_nonce": "0x" + keccak256(text).hex(),
        "solana_reference": str(reference),
    }


def _list_members(lane: Mapping[str, str]) -> list[str]:
    return [lane[name] for name in _FIELDS]


def _request_hash(vector_input: Mapping[str, Any]) -> str:
    envelope = {**vector_input["request"], "service_id": vector_input["service_id"]}
    return "sha256:" + SHA256.new(rfc8785.dumps(envelope)).hexdigest()


def _mac(vector_input: Mapping[str, Any], word: str, half: str, *members: str) -> str:
    mac = HMAC.new(bytes.fromhex(vector_input["secret_hex"]), digestmod=SHA256)
    mac.update("\n".join((f"{word}challenge:{half}:1", *members)).encode())
    return mac.hexdigest()[:32]
