"""Ways in which honest wallets on an EVM chain sign the one authorization that a challenge asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_A_YEAR: Final = 31_536_000
_TWO_MINUTES: Final = 120
_END_OF_TIME: Final = 2**256 - 1


def list_windows(now: int, *, is_simulated: bool) -> Mapping[str, Mapping[str, int]]:
    """Return windows in which an authorization is valid now, by habit.

    Args:
        now: Time of the newest block in unix seconds.
        is_simulated: Whether the money is worth nothing. An authorization without an end is a danger to real money.
    """
    windows: dict[str, Mapping[str, int]] = {
        "the usual window": {},
        "valid for two minutes": {"valid_before": now + _TWO_MINUTES},
        "valid from a minute ago": {"valid_after": now - 60},
        "valid from a year ago": {"valid_after": now - _A_YEAR},
    }
    if is_simulated:
        windows["valid for a year"] = {"valid_before": now + _A_YEAR}
        windows["valid beyond 64 bits"] = {"valid_before": 2**64}
        windows["valid for ever"] = {"valid_before": _END_OF_TIME}
    return windows
