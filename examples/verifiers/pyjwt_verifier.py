"""PyJWT as a verifier of receipts: `weldproof vectors run --explained pyjwt.toml -- python pyjwt_verifier.py`.

It does what the library offers and nothing on top: the key that `kid` names, else the first one, then `jwt.decode`.
pyjwt.toml says what that leaves out. Needs PyJWT[crypto], nothing of Weldproof.
"""
# ruff: noqa: INP001, T201 - a script, which prints

import json
import sys
from typing import Any

import jwt

FAMILIES = ["receipts"]


def key_of(jws: Any, jwks: Any) -> jwt.PyJWK:
    """Return the key that the receipt's header names, the Ed25519 key where it names several; else the first."""
    keys = jwt.PyJWKSet.from_dict(jwks).keys
    kid = jwt.get_unverified_header(jws).get("kid")
    named = [key for key in keys if key.key_id == kid]
    return next((key for key in named if key.key_type == "OKP"), (named or keys)[0])


def judge(given: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict on one receipt; whatever the library raises is a refusal."""
    jws = given.get("jws")
    try:
        jwt.decode(jws, key_of(jws, given["jwks"]), algorithms=["EdDSA"])
    except Exception as refusal:  # noqa: BLE001 - a caller would serve no client after any of them
        return {"verdict": "invalid", "why": f"{type(refusal).__name__}: {refusal}"}
    return {"verdict": "valid"}


def main() -> None:
    """Answer a line for each line."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "protocol" in asked:
            answer = {"verifier": f"PyJWT {jwt.__version__}", "families": FAMILIES}
        else:
            answer = {"n": asked["n"], **judge(asked["input"])}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
