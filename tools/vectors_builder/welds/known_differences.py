"""Vectors that a second library judges differently, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_EITHER_S: Final = (
    "recovery itself takes both forms of s; the asset's contract takes the lower one only, as OpenZeppelin's ECDSA does"
)
_EIP_2: Final = "eth-account recovers a sender from both forms of s; nodes take the lower one only (EIP-2)"

DIFFERENCES: Final[Mapping[str, str]] = {
    "signature/base-high-s/other-v": _EITHER_S,
    "transaction/base-high-s/type-2": _EIP_2,
}
