"""The judge of webhook signatures: a receiver that accepts only the profile's form (profile section 4)."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

from conformance.oracles import webhook_signature as oracle
from conformance.oracles.webhook_signature import HeaderFault, SignatureHeader
from conformance.vectors.judges import Verdict

# A sender that rotates its secret may send two signatures.
_NO_FAULT: Final = frozenset({HeaderFault.V1_TWICE})
_V1: Final = re.compile(f"[0-9a-f]{{{oracle.V1_CHARACTERS}}}")
_V2: Final = re.compile(f"[0-9a-f]{{{oracle.V2_CHARACTERS}}}")


def judge(question: Mapping[str, Any]) -> Verdict:
    """Return the verdict on a delivery; with a header of the form, its time and the MAC that it must have.

    `scheme` names the member that the receiver verifies; of the other member only the form counts.
    """
    header = oracle.read(question["header"])
    if header.t is None or not _keeps_form(header, question["scheme"]):
        return Verdict.refuse("header")
    mac, holds = _signature(header, header.t, question)
    values = {"t": header.t, "mac": mac}
    # The time is judged before the MAC. The MAC is among the values of a stale delivery, too, so that a verifier which
    # computes it can be compared.
    if oracle.is_stale(header.t, question["now"], question["tolerance_seconds"]):
        return Verdict.refuse("time", **values)
    return Verdict.holds(**values) if holds else Verdict.refuse("signature", **values)


def _keeps_form(header: SignatureHeader, scheme: str) -> bool:
    if not _NO_FAULT.issuperset(header.faults) or not all(map(_V1.fullmatch, header.v1)):
        return False
    return scheme == "v1" or (bool(header.v2) and all(map(_V2.fullmatch, header.v2)))


def _signature(header: SignatureHeader, t: int, question: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the MAC that a delivery must have, and whether the header has it."""
    secret, template, body = question["secret"], question["template"], base64.b64decode(question["body_b64"])
    if question["scheme"] == "v1":
        return oracle.sign(secret, template, t, body), oracle.verify(header, [secret], template, body) is not None
    word = question["service_word"]
    mac = oracle.sign_v2(secret, word, template, t, body)
    return mac, oracle.verify_v2(header, [secret], word, template, body) is not None
