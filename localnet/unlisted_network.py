"""A network that a real node on this machine serves, and that no public table lists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LocalNetwork:
    """The one network that a real node serves, where no public table lists it (P-NW-02).

    Attributes:
        key: Its key; it ends in `_localnet`.
        event: Its form in events.
        caip2: Its CAIP-2 form.
        asset_id: Its USDC.
        family: Which rules its ids follow.
        decimals: Decimals of its USDC.
    """

    key: str
    event: str
    caip2: str
    asset_id: str
    family: str
    decimals: int = 6
