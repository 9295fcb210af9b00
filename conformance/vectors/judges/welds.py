"""The judge of payments: whether a signed transaction, or an authorization, pays one challenge (profile 5.5, 5.7)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from conformance.oracles.welds.refusal_stages import PaymentRefusal
from conformance.vectors.judges import Verdict
from conformance.vocabulary.profile_claims import LANES

_MODULES: Final = {lane: f"conformance.oracles.welds.{lane}.weld" for lane in LANES}


def judge(question: Mapping[str, Any]) -> Verdict:
    """Return the verdict on the evidence of one lane, with the payer and the transaction."""
    try:
        return Verdict.holds(**_judge_payment(question))
    except PaymentRefusal as refusal:
        return Verdict.refuse(refusal.stage, refusal.code)


def _judge_payment(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a payment; each lane's libraries are loaded at its first use."""
    # Imported here: the libraries of one chain may not be installed, and the other lanes must still be judged.
    lane = import_module(_MODULES[question["lane"]])
    values: dict[str, Any] = lane.judge_payment(question)
    return values
