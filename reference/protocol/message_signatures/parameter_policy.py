"""The policy on signature parameters: algorithm, tag and times (P-AG-04, P-AG-05)."""

from __future__ import annotations

from typing import Literal

from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.policy import Demands
from reference.protocol.message_signatures.signature_input import SignatureInput

Check = Literal["pass", "fail", "skipped"]
CREATED_FAULTS = frozenset({"created_in_future", "too_old"})
EXPIRES_FAULTS = frozenset({"expired"})


def judge(demands: Demands, signature_input: SignatureInput, *, algorithm: str, now: int, skew: int) -> list[Fault]:
    """Return what the caller's policy holds against the signature's parameters.

    Args:
        demands: The policy.
        signature_input: The signature.
        algorithm: What the expected key is for; the message never chooses it.
        now: Unix seconds.
        skew: Seconds by which clocks may differ.
    """
    parameters = signature_input.parameters
    created, expires = parameters.get("created"), parameters.get("expires")
    faults = []
    if parameters.get("alg", algorithm) != algorithm or algorithm not in demands.allowed_algorithms:
        sentence = "the signature's algorithm is not among those allowed for the expected key"
        faults.append(Fault("alg_not_allowed", sentence))
    if demands.expected_tag is not None and parameters.get("tag") != demands.expected_tag:
        faults.append(Fault("tag_mismatch", "the signature's tag is not the expected one"))
    if created is not None and created > now + skew:
        faults.append(Fault("created_in_future", "the signature was created in the future; compare the clocks"))
    # A signature may have expired and be too old at once. Each fault is reported.
    if expires is not None and expires < now - skew:
        faults.append(Fault("expired", "the signature has expired"))
    # A signature without a time says nothing about its age, so a caller that limits the age gets a refusal (decision
    # 0005).
    if demands.max_age_seconds is not None:
        if created is None:
            faults.append(Fault("too_old", "the signature has no created time, so its age is unknown"))
        elif now - created > demands.max_age_seconds:
            faults.append(Fault("too_old", "the signature is older than max_age_seconds"))
    return faults
