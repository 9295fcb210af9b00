"""The judge of signed messages (RFC 9421, RFC 9530; profile 6.2 and 6.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.oracles.message_signatures import judgement, members
from conformance.oracles.message_signatures.judgement import Judgement
from conformance.vectors.judges import Verdict

# A vector whose policy names no time must be judged alike at any time after it was made.
NOW: Final = 1_800_000_000


def judged(message: Mapping[str, Any], key: Mapping[str, str], policy: Mapping[str, Any]) -> Judgement:
    """Return the suite's judgement of a vector's members."""
    return judgement.judge(
        members.message_of(message), members.key_of(key), members.policy_of(policy), now=policy.get("now", NOW)
    )


def judge(given: Mapping[str, Any]) -> Verdict:
    """Return the verdict on `message`, `key` and `policy`; it tells the signature base where one can be made."""
    found = judged(given["message"], given["key"], given["policy"])
    base = None if found.base is None else found.base.text
    values = {} if base is None else {"signature_base": base}
    if found.is_valid:
        return Verdict.holds(**values)
    codes = tuple(dict.fromkeys(fault.code for fault in found.faults))
    return Verdict.refused(codes[0].step, *codes, **values)
