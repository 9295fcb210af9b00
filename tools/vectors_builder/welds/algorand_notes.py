"""Algorand transfers that pay payee, asset and price and whose note is not the token."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Final

from algosdk import transaction

from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import algorand_wallet as wallet
from tools.vectors_builder.welds.algorand_wallet import PAYER, TERMS, TOKEN
from tools.vectors_builder.welds.drafting import ALL_MEMBERS, challenge, draft_refusal

_RAW: Final = TOKEN.encode()
_OTHER_TOKEN: Final = challenge(TERMS, "another challenge")["token"].encode()
_BASE_TERMS: Final = {**TERMS, "caip2": "eip155:8453"}
_WRAPPED_REASON: Final = "a note that has the token somewhere in it is not the token"
_FOREIGN: Final = "a payment that carries no token, or another's, was made for something else"

# Fault, variant, note, what is wrong; with True the interface may be read so that the note is there all the same.
_NOTES: Final[tuple[tuple[str, str, bytes, str, bool], ...]] = (
    ("note-none", "empty", b"", "there is no note", False),
    ("note-none", "thanks", b"thanks", "the note is a word", False),
    ("note-none", "colons", b"::", "the note is the token's colons", False),
    ("note-other", "challenge", _OTHER_TOKEN, "the note is another challenge's token for the same request", False),
    ("note-other", "lane", challenge(_BASE_TERMS)["token"].encode(), "the note is another lane's token", False),
    ("note-other", "both", _RAW + b"\n" + _OTHER_TOKEN, "the note is this token and another", True),
    ("note-cut", "byte-less", _RAW[:-1], "the token's last byte is missing", False),
    ("note-cut", "half-b", _RAW[:-32], "half B of the token is missing", False),
    ("note-cut", "nonce", _RAW.split(b":")[1], "the note is the token's nonce", False),
    ("note-more", "space", _RAW + b" ", "there is a space after the token", True),
    ("note-more", "line-end", _RAW + b"\n", "there is a line end after the token", True),
    ("note-more", "nul", _RAW + b"\x00", "there is a NUL after the token", True),
    ("note-before", "space", b" " + _RAW, "there is a space before the token", True),
    ("note-before", "byte-order-mark", b"\xef\xbb\xbf" + _RAW, "there is a byte order mark before the token", True),
    ("note-before", "service-word", b"weldproof:" + _RAW, "the service word stands before the token", True),
    ("note-encoded", "base64", base64.b64encode(_RAW), "the note is the token in base64", True),
    ("note-encoded", "hex", _RAW.hex().encode(), "the note is the token in hex", True),
    ("note-encoded", "utf-16", TOKEN.encode("utf-16-le"), "the note is the token in UTF-16", True),
    ("note-wrapped", "json", json.dumps({"payment_reference": TOKEN}).encode(), "the note is JSON around it", True),
    ("note-wrapped", "quotes", f'"{TOKEN}"'.encode(), "the note is the token in quotation marks", True),
    ("note-wrapped", "arc-2", f"weldproof:u{TOKEN}".encode(), "the note is the token by ARC-2", True),
    ("note-case", "upper", TOKEN.upper().encode(), "the note is the token in upper case", False),
    ("note-hash", "sha-256", hashlib.sha256(_RAW).digest(), "the note is the token's SHA-256", False),
    ("note-hash", "hex-sha-256", hashlib.sha256(_RAW).hexdigest().encode(), "the note is that in hex", False),
)  # fmt: skip


def drafts() -> Iterator[Draft]:
    """Yield them."""
    for fault_name, variant, note, fault, open_to_reading in _NOTES:
        yield _mismatch(fault_name, variant, wallet.build_payment(note=note), fault, is_wrapped=open_to_reading)
    yield from _elsewhere()


def _mismatch(fault_name: str, variant: str, evidence: dict[str, object], fault: str, *, is_wrapped: bool) -> Draft:
    row = "RAIL-WELD-02" if fault_name == "note-other" else "RAIL-WELD-01"
    why = _WRAPPED_REASON if is_wrapped else _FOREIGN
    pinned_members = ALL_MEMBERS if is_wrapped else ("stage", "codes")
    return draft_refusal(
        "weld",
        fault_name,
        variant,
        evidence,
        fault,
        why,
        row,
        "RAIL-WELD-05",
        code="weld_mismatch",
        pinned_members=pinned_members,
    )


def _elsewhere() -> Iterator[Draft]:
    """The token is there, and not in the note of the transfer."""
    noted_payment = transaction.PaymentTxn(PAYER.address, wallet.params(), PAYER.address, 0, note=_RAW)
    group = wallet.sign_group(wallet.transfer(note=b""), noted_payment)
    evidence = wallet.build_evidence(group[0], group_b64=group)
    fault = "the token is the note of another transaction of the group"
    yield _mismatch("elsewhere", "group", evidence, fault, is_wrapped=True)
    leased_evidence = wallet.build_payment(note=b"", lease=hashlib.sha256(_RAW).digest())
    yield _mismatch("elsewhere", "lease", leased_evidence, "the token's hash is the lease", is_wrapped=False)
    other_challenge_evidence = wallet.build_evidence(
        wallet.sign(wallet.transfer()), challenge=challenge(TERMS, "another challenge")
    )
    fault = "the payment for one challenge is shown for another"
    yield _mismatch("elsewhere", "challenge", other_challenge_evidence, fault, is_wrapped=False)
