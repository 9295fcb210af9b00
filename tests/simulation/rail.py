"""Workers of a rail: the real application, opened and closed as its process opens and closes it."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reference.rail.runtime import running
from reference.rail.settings import RailSettings
from tests.simulation.chains import PayingChain
from tests.simulation.loop import VirtualLoop
from tests.simulation.machines import Machine

SERVICES = {"receipt-verify": 10_000, "rfc9421-verify": 10_000, "compliance-receipt": 50_000}
_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What the operator wants workers to be started with, from now on."""

    prices: dict[str, int] = field(default_factory=lambda: dict(SERVICES))
    payee: int = 0
    disabled: tuple[str, ...] = ()


class Rail:
    """All workers of one rail, over one database.

    Attributes:
        plan: What the next start is told.
        workers: The workers by name.
    """

    def __init__(
        self, loop: VirtualLoop, seed: str, folder: Path, chains: dict[str, PayingChain], names: tuple[str, ...]
    ) -> None:
        self.plan = Plan()
        self.folder = folder
        self.chains = chains
        self.loop = loop
        self.seed = seed
        self.trusted = folder / "trusted.json"
        self.trusted.write_text('{"keys": []}')
        self.workers = {name: Worker(self, name) for name in names}
        for key, hosts in (("ALGORAND_MAINNET", ("algod", "indexer")), ("SOLANA_MAINNET", ("solana",))):
            os.environ[f"WP_NODE_{key}"] = f"http://{hosts[0]}"
            if len(hosts) > 1:
                os.environ[f"WP_INDEXER_{key}"] = f"http://{hosts[1]}"

    def settings(self, plan: Plan) -> RailSettings:
        """Return the settings of a worker."""
        payees = {f"rail_payto_{key.partition('_')[0]}": one.payee(plan.payee) for key, one in self.chains.items()}
        given: dict[str, Any] = {
            "mode": "test",
            "rail_data_dir": self.folder,
            "rail_trusted_jwks": self.trusted,
            "rail_lanes": tuple(self.chains),
            "rail_prices": plan.prices,
            "rail_disabled_services": plan.disabled,
            "rail_confirm_wait": 1.0,
            "rail_public_url": "http://rail.test",
            **payees,
        }
        return RailSettings(**given)

    def alive(self) -> list[Worker]:
        """Return the workers that answer."""
        return [worker for worker in self.workers.values() if worker.app is not None]


class Worker:
    """One worker, which may be started many times.

    Attributes:
        app: What answers, while it runs.
        machine: Its present life.
        offset: By how many seconds its clock is wrong.
        drift: By how many seconds a second it goes wrong.
    """

    def __init__(self, rail: Rail, name: str) -> None:
        self.name = name
        self.app: Any = None
        self.machine: Machine | None = None
        self.plan = rail.plan
        self.offset = 0.0
        self.drift = 0.0
        self.trouble: str | None = None
        self._rail = rail
        self._lives = 0
        self._stop: asyncio.Event | None = None
        self._ended: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Start it with the operator's present plan; does nothing while it runs."""
        if self.machine is not None and not self.machine.dead:
            return
        rail = self._rail
        self._lives += 1
        seed = f"{rail.seed}:{self.name}:{self._lives}"
        machine = Machine(self.name, rail.loop, seed, offset=self.offset, drift=self.drift)
        self.machine, self.plan, self.trouble = machine, rail.plan, None
        stop, ready = asyncio.Event(), rail.loop.create_future()
        ended: asyncio.Future[None] = rail.loop.create_future()
        self._stop, self._ended = stop, ended
        machine.at_death.append(lambda: self._over(machine, ready, ended))
        rail.loop.busy += 1
        try:
            rail.loop.create_task(self._run(machine, stop, ready, ended), context=machine.context.copy())  # noqa: RUF006
            await ready
        finally:
            rail.loop.busy -= 1

    async def _run(
        self, machine: Machine, stop: asyncio.Event, ready: asyncio.Future[None], ended: asyncio.Future[None]
    ) -> None:
        try:
            async with running(self._rail.settings(self.plan)) as app:
                self.app = app
                ready.set_result(None)
                await stop.wait()
                self.app = None
        except Exception as fault:  # noqa: BLE001 - a process that ends with a traceback
            self.trouble = f"{type(fault).__name__}: {fault}"
        machine.kill()

    def _over(self, machine: Machine, ready: asyncio.Future[None], ended: asyncio.Future[None]) -> None:
        if self.machine is machine:
            self.app = None
        for one in (ready, ended):
            if not one.done():
                one.set_result(None)

    async def stop(self) -> None:
        """End it as SIGTERM does."""
        if self.machine is None or self.machine.dead or self._stop is None or self._ended is None:
            return
        self._rail.loop.busy += 1
        try:
            self.machine.context.copy().run(self._stop.set)
            await self._ended
        finally:
            self._rail.loop.busy -= 1

    def set_clock(self, offset: float, drift: float = 0.0) -> None:
        """Let its clock be wrong from now on."""
        self.offset, self.drift = offset, drift
        if self.machine is not None:
            self.machine.offset, self.machine.drift = offset, drift


def changed(plan: Plan, chance: random.Random) -> Plan:
    """Return a plan with other prices, another payee, or a service switched on or off."""
    prices = {name: price * chance.choice((1, 2, 3)) for name, price in SERVICES.items()}
    return replace(plan, prices=prices, payee=chance.choice((plan.payee, chance.randrange(3))))


def remove(folder: Path) -> None:
    """Delete what a world wrote."""
    shutil.rmtree(folder, ignore_errors=True)
