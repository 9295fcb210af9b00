"""One simulated chain for all tests of the rail; a payee and a payer on it; a rail a module, or one of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from algosdk import account
from eth_account import Account

from tests.reference.rail.base_stack import BasePayer, Settler, SimulatedBase, base_settings
from tests.reference.rail.rail_stack import Payer, Rail, SimulatedChain


@pytest.fixture(scope="session")
def chain() -> Iterator[SimulatedChain]:
    """A simulated Algorand."""
    running = SimulatedChain()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def pay_to(chain: SimulatedChain) -> str:
    """A payee's address that holds USDC."""
    address: str = account.generate_account()[1]
    chain.control("fund", address=address, amount="10000000")
    chain.control("mint", address=address, amount="1")
    return address


@pytest.fixture(scope="session")
def payer(chain: SimulatedChain) -> Payer:
    """Somebody with money."""
    return Payer(chain)


@pytest.fixture(scope="module")
def rail(chain: SimulatedChain, pay_to: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rail]:
    """A rail with its limits switched off, for every test of a module."""
    running = Rail(chain, tmp_path_factory.mktemp("rail"), pay_to).start()
    yield running
    running.close()


@pytest.fixture
def own_rail(chain: SimulatedChain, pay_to: str, tmp_path: Path) -> Iterator[Callable[..., Rail]]:
    """Make rails that belong to one test alone: `own_rail(WP_…="…", mutant=…)`."""
    made: list[Rail] = []

    def make(*, mutant: str | None = None, **settings: str) -> Rail:
        made.append(Rail(chain, tmp_path / f"rail{len(made)}", pay_to, dict(settings), mutant))
        return made[-1].start()

    yield make
    for one in made:
        one.close()


@pytest.fixture
def calm_chain(chain: SimulatedChain) -> Iterator[SimulatedChain]:
    """The chain, for tests that switch faults on: none is left behind."""
    yield chain
    chain.calm()


@pytest.fixture(scope="session")
def base() -> Iterator[SimulatedBase]:
    """A simulated Base."""
    running = SimulatedBase()
    yield running
    running.stop()


@pytest.fixture
def calm_base(base: SimulatedBase) -> Iterator[SimulatedBase]:
    """The simulated Base, for tests that trouble it: nothing of that is left behind."""
    yield base
    base.calm()


@pytest.fixture
def base_payer(base: SimulatedBase) -> BasePayer:
    """Somebody with money on Base."""
    return BasePayer(base)


@pytest.fixture
def settler(base: SimulatedBase, tmp_path: Path) -> Settler:
    """An account that nobody but one test's rail settles from."""
    return Settler(base, tmp_path)


@pytest.fixture
def on_base(base: SimulatedBase, settler: Settler) -> dict[str, str]:
    """Settings of a rail that offers Base alone, to a payee of its own."""
    return base_settings(base, settler, Account.create().address)


@pytest.fixture
def slow_base() -> Iterator[SimulatedBase]:
    """A Base of one test alone, whose blocks come when the test says so."""
    running = SimulatedBase(block_seconds=3600)
    yield running
    running.stop()
