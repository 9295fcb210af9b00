"""The workers of a rail, and what its operator tells them."""

from __future__ import annotations

import random
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reference.rail.runtime import open_rail
from reference.rail.settings import RailSettings
from tests.simulation.base import CONFIRMATIONS, SETTLER_KEY
from tests.simulation.chains import PayingChain
from tests.simulation.loop import VirtualLoop
from tests.simulation.workers import Fleet

SERVICES = {"receipt-verify": 10_000, "rfc9421-verify": 10_000, "compliance-receipt": 50_000}


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What the operator wants workers to be started with, from now on."""

    prices: dict[str, int] = field(default_factory=lambda: dict(SERVICES))
    payee: int = 0
    disabled: tuple[str, ...] = ()


class Rail(Fleet):
    """All workers of one rail, over one database.

    Attributes:
        plan: The settings of the next start.
    """

    nap = 45.0  # a worker that has not asked its database for a minute quotes nothing

    def __init__(
        self,
        loop: VirtualLoop,
        seed: str,
        folder: Path,
        chains: dict[str, PayingChain],
        names: tuple[str, ...],
        database: str,
    ) -> None:
        super().__init__(loop, seed, names)
        self._database = database
        self.plan = Plan()
        self._settings: dict[Plan, RailSettings] = {}
        self.folder = folder
        self.chains = chains
        self.trusted = folder / "trusted.json"
        self.trusted.write_text('{"keys": []}')
        self._settler = folder / "settler_key"
        self._settler.write_text(SETTLER_KEY.hex())

    def open_app(self) -> AbstractAsyncContextManager[Any]:
        """Return the application of a worker that starts now."""
        return open_rail(self.settings())

    def settings(self) -> RailSettings:
        """Return the settings of a worker or command that starts now."""
        if self.plan not in self._settings:
            self._settings[self.plan] = self._read(self.plan)
        return self._settings[self.plan]

    def _read(self, plan: Plan) -> RailSettings:
        payees = {key.partition("_")[0]: one.payee(plan.payee) for key, one in self.chains.items()}
        settings_values: dict[str, Any] = {
            "mode": "test",
            "rail_data_dir": self.folder,
            "rail_db": self._database,
            "rail_trusted_jwks": self.trusted,
            "rail_lanes": tuple(self.chains),
            "rail_settler_key_file": self._settler,
            "rail_prices": plan.prices,
            "rail_disabled_services": plan.disabled,
            "rail_confirm_wait": 1.0,
            "evm_confirmations": CONFIRMATIONS,
            "rail_public_url": "http://rail.test",
            "rail_payto": payees,
        }
        return RailSettings(**settings_values)


def change_plan(plan: Plan, chance: random.Random) -> Plan:
    """Return a plan with other prices, another payee, or a service switched on or off."""
    prices = {name: price * chance.choice((1, 2, 3)) for name, price in SERVICES.items()}
    return replace(plan, prices=prices, payee=chance.choice((plan.payee, chance.randrange(3))))
