"""A signer who makes mistakes: messages whose signature is over other lines than a verifier computes."""

from __future__ import annotations

import base64
from typing import Any

import base58
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from reference.protocol.message_signatures import MessageRequest, explain

SEED = bytes(range(32))
KEY = Ed25519PrivateKey.from_private_bytes(SEED)
PUBLIC = KEY.public_key().public_bytes_raw()
DID = "did:key:z" + base58.b58encode(b"\xed\x01" + PUBLIC).decode()
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
PARAMS = ";created=1000"
METHOD = '"@method": GET'
BODY = b'{"a": 1, "b": "x"}'


def message(
    *lines: str,
    params: str = PARAMS,
    base: str | bytes | None = None,
    components: str | None = None,
    signature_form: str = "sig=:{}:",
    headers: dict[str, Any] | None = None,
    **members: Any,
) -> dict[str, Any]:
    """Return GET https://example.com/a whose signer signed these lines, or another base, and sent this."""
    names = " ".join(line.split(": ")[0] for line in lines) if components is None else components
    text = "\n".join([*lines, f'"@signature-params": ({names}){params}']) if base is None else base
    signature = KEY.sign(text.encode() if isinstance(text, str) else text)
    return {
        "method": "GET",
        "authority": "example.com",
        "path": "/a",
        "public_key_hex": PUBLIC.hex(),
        **members,
        "headers": {
            **(headers or {}),
            "Signature-Input": f"sig=({names}){params}",
            "Signature": signature_form.format(base64.b64encode(signature).decode()),
        },
    }


def notes_of(message_members: dict[str, Any], *, now: int = 1000) -> list[str]:
    """Return the notes on a message that is not valid."""
    result = explain(MessageRequest.model_validate(message_members), now=now)
    assert result["valid"] is not True
    assert result["verdict"] != "pass"
    return list(result["fix_notes"])


def proof_of(message_members: dict[str, Any], *, now: int = 1000) -> str:
    """Return the one note that says with what the signature holds."""
    (proof,) = [note for note in notes_of(message_members, now=now) if "The signature holds" in note]
    return proof


def sent_as(write: Any) -> dict[str, Any]:
    """Return a message whose signature is right and written in another way."""
    right = message(METHOD)
    signature = base64.b64decode(right["headers"]["Signature"][5:-1])
    return right | {"headers": right["headers"] | {"Signature": write(signature)}}
