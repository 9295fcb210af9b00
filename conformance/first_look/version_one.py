"""Terms of x402 version 1, and the rules of version 2 that they break only because of their version."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from conformance.first_look.x402_answer import ChallengeAnswer
from conformance.oracles.challenge_schema import atomic_amount

CAUSE: Final = "terms of version 1"
FIX: Final = (
    "Send terms of version 2 in the header PAYMENT-REQUIRED: x402Version 2, resource as an object, networks by CAIP-2, "
    "amount. The body may keep the terms of version 1, for clients that read those alone."
)
_BARE_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*")


def explained_by_version(answer: ChallengeAnswer) -> frozenset[str]:
    """Return the rules that an answer breaks because its terms are of version 1; none for other versions."""
    if not answer.is_version_one:
        return frozenset()
    return frozenset(name for name, is_cause in _RULES.items() if is_cause(answer))


def _all_offers(answer: ChallengeAnswer, holds: Callable[[Mapping[str, Any]], bool]) -> bool:
    return bool(answer.offers) and all(map(holds, answer.offers))


def _is_bare(offer: Mapping[str, Any]) -> bool:
    network = offer.get("network")
    return isinstance(network, str) and _BARE_NAME.fullmatch(network) is not None


def _has_old_amount(offer: Mapping[str, Any]) -> bool:
    return "amount" not in offer and atomic_amount(offer.get("maxAmountRequired")) is not None


# Version 1 has no header, the resource as a text in each offer, networks by bare names, and maxAmountRequired.
_RULES: Final[Mapping[str, Callable[[ChallengeAnswer], bool]]] = {
    "X402-02": lambda _: True,
    "X402-04": lambda _: True,
    "X402-05": lambda answer: answer.member("resource") is None,
    "X402-08": lambda answer: _all_offers(answer, _is_bare),
    "X402-09": lambda answer: _all_offers(answer, _has_old_amount),
}
