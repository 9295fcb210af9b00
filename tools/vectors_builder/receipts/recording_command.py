"""`python -m tools.vectors_builder.receipts.recording_command`: sign once what is signed with randomness.

Tokens of ES256, RS256 and PS256, with the public keys that they are supplied with. Keys and nonces are drawn from seeds
here, but no library promises to draw the same ones for ever: so the tokens are kept, and the builder verifies them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from Crypto.Hash import SHA256
from Crypto.PublicKey import ECC, RSA
from Crypto.Signature import DSS, pkcs1_15, pss

from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.forging import signing_input
from conformance.oracles.hash_recipes import jcs_bytes
from tools.vectors_builder.drafting import seed
from tools.vectors_builder.receipts.material import COMPLIANCE, FAMILY

RECORDED_FILE: Final = Path(__file__).parent / "recorded" / "tokens.json"
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
KID: Final = "of-another-kind"
# Name of the token -> the algorithm that its header names, and the one that signed.
TOKENS: Final = {
    "es256": ("ES256", "ES256"),
    "rs256": ("RS256", "RS256"),
    "ps256": ("PS256", "PS256"),
    "es256_as_eddsa": ("EdDSA", "ES256"),
    "rs256_as_eddsa": ("EdDSA", "RS256"),
    "es256_as_ed25519": ("Ed25519", "ES256"),
}


def header(alg: str) -> dict[str, str]:
    """Return the protected header of a recorded token."""
    return {"alg": alg, "kid": KID, "typ": "JWT"}


def _byte_source(name: str) -> Callable[[int], bytes]:
    """Return a source of bytes that is always the same for a name."""
    place, stream = 0, hashlib.shake_256(seed(FAMILY, name)).digest(1 << 20)

    def draw(count: int) -> bytes:
        nonlocal place
        place += count
        return stream[place - count : place]

    return draw


def elliptic() -> tuple[Callable[[bytes], bytes], dict[str, Any]]:
    """Return what signs by ES256, with the public JWK."""
    key = ECC.construct(curve="P-256", d=int.from_bytes(seed(FAMILY, "ES256"), "big") % _ORDER)
    point = {name: int(value).to_bytes(32, "big") for name, value in (("x", key.pointQ.x), ("y", key.pointQ.y))}
    jwk = {"kty": "EC", "crv": "P-256", "kid": KID, **{name: encode_base64url(value) for name, value in point.items()}}
    return lambda text: DSS.new(key, "deterministic-rfc6979").sign(SHA256.new(text)), jwk


def _rsa(*, padding: str) -> tuple[Callable[[bytes], bytes], dict[str, Any]]:
    key = RSA.generate(2048, _byte_source("RSA"))
    jwk = {"kty": "RSA", "kid": KID, "n": encode_base64url(int(key.n).to_bytes(256, "big")), "e": "AQAB"}
    scheme: Any = pkcs1_15.new(key) if padding == "RS256" else pss.new(key, rand_func=_byte_source("salt"))
    return lambda text: scheme.sign(SHA256.new(text)), jwk


def record_tokens() -> dict[str, Any]:
    """Return the tokens with their public keys, by name."""
    keys = {"ES256": elliptic(), "RS256": _rsa(padding="RS256"), "PS256": _rsa(padding="PS256")}
    tokens = {}
    for name, (alg, sign_token) in TOKENS.items():
        sign, jwk = keys[sign_token]
        text = signing_input(header(alg), jcs_bytes(dict(COMPLIANCE)))
        tokens[name] = {"token": f"{text}.{encode_base64url(sign(text.encode()))}", "jwk": jwk}
    return tokens


def main() -> None:
    """Write the file."""
    RECORDED_FILE.parent.mkdir(exist_ok=True)
    RECORDED_FILE.write_text(json.dumps(record_tokens(), indent=1) + "\n", "ascii")


if __name__ == "__main__":
    main()
