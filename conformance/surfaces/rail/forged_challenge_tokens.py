"""Forged challenge tokens, which no rail has issued."""

from __future__ import annotations

from conformance.engine.check import Case
from conformance.surfaces.rail.purchase import Challenge


def forge_tokens(case: Case, quote: Challenge) -> list[tuple[str, str]]:
    """Return forged tokens by their descriptions: invented ones, and a real one with one part changed."""
    # The interface leaves the form of a token open, so the first variations fit any text.
    token = quote.reference(case.lane)
    tokens = [
        ("random text", case.rng.randbytes(24).hex()),
        ("a UUID", "3f2c1b9e-4a7d-4d6b-9f6e-2b1a0c9d8e7f"),
        ("the real one reversed", token[::-1]),
        ("the real one without its last character", token[:-1]),
        ("the real one and a character", token + "0"),
    ]
    parts = token.split(":")
    # The specification's form `unix:nonce:mac`. Each part is changed alone, so that a server which
    # does not check one part accepts that token.
    if len(parts) == 3 and parts[0].isdecimal():
        unix, nonce, mac = parts
        swapped_mac = mac[32:] + mac[:32]
        tokens += [
            ("the same form with a random mac", f"{unix}:{nonce}:{case.rng.randbytes(32).hex()}"),
            ("one second later", f"{int(unix) + 1}:{nonce}:{mac}"),
            ("one hour later", f"{int(unix) + 3600}:{nonce}:{mac}"),
            ("another nonce", f"{unix}:{case.rng.randbytes(8).hex()}:{mac}"),
            ("the mac's halves swapped", f"{unix}:{nonce}:{swapped_mac}"),
            ("the mac's second half changed", f"{unix}:{nonce}:{mac[:32]}{case.rng.randbytes(16).hex()}"),
        ]
    return tokens
