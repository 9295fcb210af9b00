"""The estimate of a paying run after a first look: further requirements, and their price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.first_look.look import Look
from conformance.oracles.challenge_schema import atomic_amount
from conformance.surfaces.rail.purchase import lane_of
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.networks import Network, network_named

# Needs that a payment can meet: vectors (V), the address (B), and a chain node with a payer (C).
_BY_PAYING: Final = frozenset({"B", "V", "C"})
# Approximate number of paid calls of a whole run on each lane.
PAYMENTS: Final[Mapping[str, int]] = {name: lane.payments for name, lane in FACTS.items()}


@dataclass(frozen=True, slots=True)
class Paying:
    """The additional results of a run that pays.

    Attributes:
        rows: Number of further requirements.
        units: Approximate total in atomic units of USDC; None if no price is known.
        networks: Known networks of the offers, by lane.
    """

    rows: int
    units: int | None
    networks: Mapping[str, Network]

    @property
    def on_main_networks(self) -> tuple[str, ...]:
        """Names of the offered networks with real money."""
        return tuple(one.name for one in self.networks.values() if not one.is_test)

    @property
    def is_free(self) -> bool:
        """Whether all offered networks are test networks."""
        return bool(self.networks) and not self.on_main_networks


def estimate_payment(look: Look) -> Paying | None:
    """Return the estimate; None if a payment would add no requirement."""
    rows = sum("C" in row.requirement.needs and set(row.requirement.needs) <= _BY_PAYING for row in look.open_rows)
    if not rows or look.server.challenge is None:
        return None
    offers = {lane: one for one in look.server.challenge.offers if (lane := lane_of(one)) is not None}
    networks = {lane: known for lane, one in offers.items() if (known := network_named(one.get("network"))) is not None}
    prices = {lane: _price(one) for lane, one in offers.items()}
    known_prices = {lane: price for lane, price in prices.items() if price is not None}
    units = sum(PAYMENTS[lane] * price for lane, price in known_prices.items()) if known_prices else None
    return Paying(rows, units, networks)


def _price(offer: Mapping[str, Any]) -> int | None:
    amount = offer.get("amount", offer.get("maxAmountRequired"))
    return atomic_amount(amount)
