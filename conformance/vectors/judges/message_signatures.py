"""The judge of signed messages (RFC 9421, RFC 9530; profile 6.2 and 6.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.oracles.message_signatures import judgement, verify_request_members
from conformance.oracles.message_signatures.judgement import Judgement
from conformance.vectors.judges import Verdict

# The verification time of vectors whose policy names none. It is fixed, so that a verdict does not change with the
# years.
NOW: Final = 1_800_000_000


def judge_vector(message: Mapping[str, Any], key: Mapping[str, str], policy: Mapping[str, Any]) -> Judgement:
    """Return the suite's judgement of a vector's members."""
    return judgement.judge(
        verify_request_members.message_of(message),
        verify_request_members.key_of(key),
        verify_request_members.policy_of(policy),
        now=policy.get("now", NOW),
    )


def judge(question: Mapping[str, Any]) -> Verdict:
    """Return the verdict on `message`, `key` and `policy`, with the signature base if it can be made."""
    verdict = judge_vector(question["message"], question["key"], question["policy"])
    base = None if verdict.base is None else verdict.base.text
    values = {} if base is None else {"signature_base": base}
    if verdict.is_valid:
        return Verdict.holds(**values)
    # The stage is that of the first fault. Several codes are only possible for vectors of another origin.
    codes = tuple(dict.fromkeys(fault.code for fault in verdict.faults))
    return Verdict.refuse(codes[0].step, *codes, **values)
