"""Paths of the gateway's key documents, at a target that claims the specification (P-KY-05)."""

from __future__ import annotations

from typing import Final

JWKS: Final = "/.well-known/jwks.json"
DID: Final = "/.well-known/did.json"
